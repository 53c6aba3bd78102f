"""Costs of decisions on their scale, and sums over decisions by names of columns: of side constraints, of groups."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from milpcb.bets import RunningMean
from milpcb.constraints import LabelConstraint, NamedConstraint, NamedRows
from milpcb.constraints.by_names import Never
from milpcb.core.checks import check_range, real, whole
from milpcb.core.decimals import THIN, spaced
from milpcb.core.kept import SavedPart
from milpcb.data.conditions import holds, names_in
from milpcb.errors import InputError, shown
from milpcb.ledger import Ledger, Minimiser
from milpcb.types import Bools, Floats


class Scale(NamedTuple):
    """The cost or reward that counts as cost 0, the ``best``, and the one that counts as 1, the ``worst``."""

    best: float
    worst: float

    @classmethod
    def of(cls, cost_range: Any, reward_range: Any) -> Scale:
        """Return the scale of a range (least, greatest), of costs or of rewards; raises InputError."""
        if cost_range is not None and reward_range is not None:
            raise InputError("give either cost_range=... or reward_range=...: a bandit learns costs, or rewards")
        if reward_range is not None:
            return cls(*reversed(check_range("reward_range", reward_range)))
        return COSTS if cost_range is None else cls(*check_range("cost_range", cost_range))

    @property
    def rewards(self) -> bool:
        """Whether it is one of rewards."""
        return self.best > self.worst

    @property
    def unit(self) -> float:
        """A cost of 1 in the unit of costs or rewards."""
        return abs(self.worst - self.best)

    def total(self, n: float, paid: float) -> float:
        """Return the total cost or reward of ``n`` decisions whose costs in [0, 1] add up to ``paid``."""
        return n * self.best + (self.worst - self.best) * paid

    def learnt(self, reward: Any) -> Scale:
        """Return the scale after a cost or reward is learnt: rewards without a range of their own lie in [0, 1]."""
        return REWARDS if reward is not None and self == COSTS else self

    def paid(self, cost: Any, reward: Any) -> float:
        """Return the cost in [0, 1] of a cost or a reward, one of which is None; raises InputError."""
        if (cost is None) == (reward is None):
            raise InputError("give either cost=... or reward=..., as in learn(decision, cost=0.5)")
        if type(cost) is float and 0.0 <= cost <= 1.0 and self in (COSTS, REWARDS):
            return cost
        if reward is None:
            name, given, scale = "cost", cost, COSTS if self.rewards else self
        else:
            name, given, scale = "reward", reward, self.learnt(reward)
            if not scale.rewards:
                raise InputError("this bandit was made with a cost_range: learn costs, as in learn(decision, cost=...)")
        least, most = sorted(scale)
        wanted = f"in the range {least:g} to {most:g} (for another give it from the start, as in {name}_range=(0, 10))"
        number = real(name, _number(name, given), wanted, lambda number: least <= number <= most)
        return (number - scale.best) / (scale.worst - scale.best)


COSTS, REWARDS = Scale(0.0, 1.0), Scale(1.0, 0.0)  # where nothing else is given


def _number(name: str, value: Any) -> Any:
    if getattr(value, "shape", None) == () and hasattr(value, "item"):
        value = value.item()
    if not isinstance(value, Real):
        hint = f": convert it, as in {name}=float(...)" if isinstance(value, (str, bytes)) else ""
        raise InputError(f"{name} must be a number, got {shown(value)}, which is of type {type(value).__name__}{hint}")
    return int(value) if isinstance(value, bool) else value


def as_count(number: float) -> str:
    """Return a number without its fraction, with a plain space between thousands."""
    return spaced(number, ".0f").replace(THIN, " ")


def counted(n: float, noun: str) -> str:
    """Return a count and its noun: "1 decision", "2 003 decisions"."""
    return f"{as_count(n)} {noun}{'' if n == 1 else 's'}"


# ------------------------------------------------------------------- side constraints


GROWTH = 1.1  # constraints are bound anew when there are so many times the decisions of the last time

Tables = list[dict[str, Floats]]  # of each constraint, by name: (K,) at one context


class ContextsSoFar:
    """The sums of the tables of ``constraints`` over the decisions so far, by the row of their contexts."""

    def __init__(self, constraints: Sequence[NamedConstraint], n_actions: int) -> None:
        self._constraints, self._n_actions = constraints, n_actions
        self._sums: list[dict[str, Floats]] = [{} for _ in constraints]  # (n, K) of the first n rows, by name
        self._nothing = np.zeros((0, n_actions))
        self._decisions = 0
        self._bound_at = 0  # decisions when the constraints were bound last
        self._read = False  # whether conditions were read once: what is declared stands in the rows of every context

    def tables(self, rows: NamedRows) -> Tables:
        """Return the tables of each constraint at the first of ``rows``, {} where it is by rows; raises InputError."""
        found: list[Mapping[str, Floats]] = []
        with nullcontext() if self._read else warnings.catch_warnings(action="error", category=UserWarning):
            try:
                found += ({} if rule.by_row else rule.tables(rows) for rule in self._constraints)
            except UserWarning as doubt:
                raise InputError(f"{doubt}; declare every string that may come, in Bandit(..., values=...)") from doubt
        self._read = True
        return [{key: table[0] for key, table in own.items()} for own in found]

    def forbidden(self, tables: Tables) -> Bools:
        """Return which actions (K,) guard-rails forbid at a context."""
        found = np.zeros(self._n_actions, dtype=bool)
        for constraint, own in zip(self._constraints, tables, strict=True):
            for table in own.values() if isinstance(constraint, Never) else ():
                found |= table > 0.0
        return found

    def due(self, row: int, tables: Tables) -> bool:
        """Return whether one decision more makes constraints be bound anew: by their number, or by a new guard-rail."""
        if self._decisions + 1 >= GROWTH * self._bound_at:
            return True
        known = self.forbidden([{key: sums[row] for key, sums in own.items() if row < len(sums)} for own in self._sums])
        return bool((self.forbidden(tables) & ~known).any())

    def rules(self, n_rows: int, row: int | None = None, tables: Tables | None = None) -> list[LabelConstraint]:
        """Return the constraints on the decisions so far, and on one more at ``row`` if it is given."""
        found = []
        for i, (constraint, own) in enumerate(zip(self._constraints, self._sums, strict=True)):
            more = {} if tables is None else tables[i]
            sums = {key: _padded(own.get(key, self._nothing), n_rows) for key in {**own, **more}}
            for key, table in more.items():
                sums[key][row] += table
            found += constraint.rules(sums, float(self._decisions + (row is not None)))
        return found

    def enter(self, row: int, tables: Tables, *, bound: bool, times: int = 1) -> None:
        """Add a decision, or take it back (``times`` -1); ``bound`` is whether the constraints were bound with it."""
        self._decisions += times
        if bound:
            self._bound_at = self._decisions
        for own, more in zip(self._sums, tables, strict=True):
            for key, table in more.items():
                sums = own.get(key, self._nothing)
                own[key] = sums if row < len(sums) else _padded(sums, row + 1)
                own[key][row] += times * table

    def bind_next(self) -> None:
        """Let the next decision bind the constraints anew."""
        self._bound_at = 0

    def go_on(self, before: ContextsSoFar, names: Sequence[Any]) -> None:
        """Go on from the sums of fewer actions: the last of ``names`` counts as others that are not named do."""
        self._decisions, self._read, old = before._decisions, before._read, range(before._n_actions)
        for constraint, known, own in zip(self._constraints, before._sums, self._sums, strict=True):
            like = min({*old} - constraint.named(names), default=None)
            for key, table in known.items():
                more = np.zeros((len(table), 1)) if like is None else table[:, [like]]
                own[key] = np.hstack([table, more])

    def state(self) -> dict[str, Any]:
        """Return everything as plain data."""
        sums = [{key: table.tolist() for key, table in own.items()} for own in self._sums]
        return {"decisions": self._decisions, "bound_at": self._bound_at, "sums": sums}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from a saved state."""
        self._decisions = whole("decisions", state["decisions"], 0)
        self._bound_at = whole("bound_at", state["bound_at"], 0)
        for own, saved in zip(self._sums, state["sums"], strict=True):
            for key, table in saved.items():
                own[key] = np.array(table, dtype=float).reshape(-1, self._n_actions)


def as_plain(rules: Sequence[LabelConstraint]) -> list[list[Any]]:
    """Return constraints as plain data, for ``of_plain``."""
    return [[np.asarray(rule.weights).tolist(), float(rule.upper), rule.name] for rule in rules]


def of_plain(entries: Sequence[Sequence[Any]], n_rows: int) -> list[LabelConstraint]:
    """Return the constraints of ``as_plain`` on ``n_rows`` contexts; contexts that came later weigh nothing."""
    return [
        LabelConstraint(_padded(np.array(weights, dtype=float), n_rows), float(upper), str(name))
        for weights, upper, name in entries
    ]


def _padded(table: Floats, n_rows: int) -> Floats:
    return np.vstack([table, np.zeros((n_rows - len(table), table.shape[1]))])


# ------------------------------------------------------------------- groups


class MeanWithin(NamedTuple):
    """A mean over the decisions of a group, and an interval for the mean of its expectations; see RunningMean."""

    value: float
    lower: float
    upper: float


@dataclass(frozen=True)
class GroupSummary:
    """Costs, rates and certificate of one group of decisions, with a confidence that is for all groups together."""

    group: str  # its condition
    decisions: int  # whose cost is known
    paid: float  # their total cost, each from 0 to 1
    outcome: MeanWithin  # their mean cost or reward
    rates: Mapping[Any, MeanWithin]  # how often each action was played, by whomever
    certificate: float  # a bound on their regret to the best policy for this group alone

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
        """Return the numbers of the groups that the first of ``rows`` is in; raises InputError if it lacks a column."""
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

    def go_on(self, before: Groups) -> None:
        """Go on from groups of fewer actions; of the others it was known beforehand that they are not played."""
        for old, new in zip(before._groups, self._groups, strict=True):
            known = len(old.rates)
            new.cost, new.rates[:known] = old.cost, old.rates
            new.ledger.go_on(old.ledger, range(known, len(new.rates)))
            for rate in new.rates[known:]:
                rate.count = old.cost.count

    def summaries(self, oracle: Minimiser, names: Sequence[Any], confidence: float, scale: Scale) -> list[GroupSummary]:
        """Return the summary of each group; all of them hold at once, at all times, with the confidence."""
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
    """Return one or several conditions as a list; raises InputError on anything else."""
    given = [groups] if isinstance(groups, str) else list(groups)
    for condition in given:
        if not isinstance(condition, str) or not next(names_in(condition), ""):
            raise InputError(f'a group is a condition such as "region = north" or "age > 60", got {shown(condition)}')
    return given


def _within(mean: MeanWithin, times: float = 1.0, unit: str = "") -> str:
    value, lower, upper = (f"{times * number:.3g}" for number in mean)
    return f"{value}{unit} ({lower} to {upper})"
