"""Groups of decisions that are named beforehand: costs, rates of actions and certificates of each, at all times."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from milpcb.bandit.scale import Scale, counted
from milpcb.bets import RunningMean
from milpcb.constraints import NamedRows
from milpcb.core.kept import SavedPart
from milpcb.data.conditions import holds, names_in
from milpcb.errors import InputError, shown
from milpcb.ledger import Ledger, Minimiser


class MeanWithin(NamedTuple):
    """A mean of the decisions of a group, and what the mean of its expectations lies within; see RunningMean."""

    value: float
    lower: float
    upper: float


@dataclass(frozen=True)
class GroupSummary:
    """Costs, rates and certificate of one group of decisions, with a confidence that is for all groups together.

    ``group`` is its condition, ``paid`` the total cost, each from 0 to 1, of the ``decisions`` whose cost is known,
    ``outcome`` their mean cost or reward, ``rates`` how often each action was played, by whomever, and ``certificate``
    a bound on their regret to the best policy for this group alone.
    """

    group: str
    decisions: int
    paid: float
    outcome: MeanWithin
    rates: Mapping[Any, MeanWithin]
    certificate: float

    def __str__(self) -> str:
        played = ", ".join(f"{action} {_within(rate, 100, ' %')}" for action, rate in self.rates.items())
        return f"{self.group}: {counted(self.decisions, 'decision')}, {_within(self.outcome)} each\n    {played}"


class _Group(SavedPart):
    kept = ("ledger", "cost", "rates")

    def __init__(self, n_actions: int) -> None:
        self.ledger, self.cost = Ledger(), RunningMean()
        self.rates = [RunningMean() for _ in range(n_actions)]


class Groups(SavedPart):
    """The groups of a bandit, by their conditions on contexts; a context may be in several, or in none."""

    kept = ("_groups",)

    def __init__(self, conditions: Sequence[str], n_actions: int) -> None:
        self._conditions = list(conditions)
        self._groups = [_Group(n_actions) for _ in conditions]

    def __bool__(self) -> bool:
        return bool(self._conditions)

    def members(self, rows: NamedRows) -> list[int]:
        """Return the numbers of the groups that the first of ``rows`` is in; raises InputError where none can read."""
        return [i for i, condition in enumerate(self._conditions) if holds(condition, rows.values)[0]]

    def enter(
        self, members: Sequence[int], row: int, drawn: int, played: int, cost: float, estimate: float | None
    ) -> None:
        """Take in a decision at ``row``: the actions drawn and played; no estimate where a person overrode it."""
        for group in (self._groups[i] for i in members):
            group.cost.add(cost)
            for a, rate in enumerate(group.rates):
                rate.add(float(a == played))
            if estimate is None:
                group.ledger.pay(cost)
            else:
                group.ledger.add(row, drawn, cost, estimate)

    def summaries(self, oracle: Minimiser, names: Sequence[Any], confidence: float, scale: Scale) -> list[GroupSummary]:
        """Return what is known of each group; all of it holds at once, at all times, with the confidence."""
        chance = (1 - confidence) / len(self._conditions) / (len(names) + 2)
        found = []
        for condition, group in zip(self._conditions, self._groups, strict=True):
            rates = {name: MeanWithin(*rate.within(chance)) for name, rate in zip(names, group.rates, strict=True)}
            value, *ends = (scale.total(1, cost) for cost in group.cost.within(chance))
            certificate = group.ledger.confident(oracle, 1 - chance) if group.cost.count else 0.0
            outcome = MeanWithin(value, *sorted(ends))
            found.append(GroupSummary(condition, group.cost.count, group.cost.total, outcome, rates, certificate))
        return found


def listed_groups(groups: Any) -> list[str]:
    """Return conditions as handed in: one, or several; raises InputError on what is none."""
    given = [groups] if isinstance(groups, str) else list(groups)
    for condition in given:
        if not isinstance(condition, str) or not next(names_in(condition), ""):
            raise InputError(f'a group is a condition such as "region = north" or "age > 60", got {shown(condition)}')
    if len(set(given)) < len(given):
        raise InputError(f"a group is named twice in {shown(given)}")
    return given


def _within(mean: MeanWithin, times: float = 1.0, unit: str = "") -> str:
    value, lower, upper = (f"{times * number:.3g}" for number in mean)
    return f"{value}{unit} ({lower} to {upper})"
