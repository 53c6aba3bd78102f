"""All policies whose total cost is within a slack of the least (the Rashomon set), and what they share."""

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from heapq import heappop, heappush
from itertools import count, islice
from math import floor
from typing import Any

import numpy as np

from milpcb.core.checks import whole, whole_array
from milpcb.data.frames import table_names
from milpcb.errors import InfeasibleError, InputError, shown
from milpcb.oracles.query import Query
from milpcb.protocols import Listing, Opened, PolicyClass, ValueOracle, Within
from milpcb.types import Bools, Floats, FoundPolicy, Ints, Policy

MOST_QUERIES = 5_000  # profiles that are asked for
TRIES = 8  # bounds of a list that are tried, each half as far from the least cost as the one before
Cell = tuple[int, int]  # a context and the action there


def without_columns(policies: PolicyClass, contexts: Floats, columns: Collection[int]) -> tuple[PolicyClass, Floats]:
    """Return the class on contexts (m, d) where no policy distinguishes rows by ``columns``, and these contexts."""
    if not policies.reads_columns:
        raise InputError(f"policies of a list have no columns to leave out: {shown(policies)}")
    settings: Any = policies
    if hasattr(policies, "with_cuts_of") and isinstance(settings.thresholds, tuple):  # the same rows, maybe a million
        left = tuple(() if number in columns else points for number, points in enumerate(settings.thresholds))
        return replace(settings, thresholds=left), contexts
    constant = contexts.copy()
    constant[:, list(columns)] = 0.0
    return policies, constant


@dataclass(frozen=True, eq=False)
class Opening:
    """The arguments of an oracle: ``policies``, or None, and the contexts, a ``table`` (m, d); ``again`` reopens."""

    policies: PolicyClass | None
    opened: Opened
    table: Any
    contexts: Floats
    again: Callable[[PolicyClass, Floats], ValueOracle]

    def names(self) -> list[str]:
        """Return the names of the columns: x0, x1, ... where there are none."""
        names = getattr(self.policies, "feature_names", None) or table_names(self.table)
        return list(names) or [f"x{i}" for i in range(self.contexts.shape[1])]

    def source(self) -> tuple[Any, Any]:
        """Return the class and the contexts, with their names, from which ``again`` makes the oracle."""
        policies = self.opened if self.policies is None else self.policies
        return policies, self.table if table_names(self.table) else self.contexts

    def without(self, columns: Collection[int]) -> ValueOracle:
        """Return the oracle of the policies that do not read ``columns``; raises InfeasibleError, InputError."""
        if self.policies is None:
            raise InputError("the settings of this oracle's class are unknown: open it on the class itself")
        explicit = "fixed" in self.opened.capabilities and self.policies.reads_columns
        policies = self.opened.fixed() if explicit else self.policies
        return self.again(*without_columns(policies, self.contexts, columns))


class ByProfiles:
    """The policies of total cost at most ``bound``, found during iteration, and kept for the next one.

    It is ``finished`` when there are no more; a budget of queries may end it before. Policies are excluded by a
    penalty, the ``price``; those listed differ at the ``contested`` rows only.
    """

    def __init__(self, oracle: Any, costs: Floats, bound: float, price: float, contested: tuple[int, ...]) -> None:
        self._oracle, self._costs, self._bound, self._price = oracle, costs, bound, price
        self._numbers = count(1)
        self._sets: list[tuple[float, int, int, tuple[Cell, ...], tuple[int, ...]]] = [(0.0, 0, 0, (), contested)]
        self._found: list[Policy] = []
        self._queries = 0
        self.finished = False

    def __iter__(self) -> Iterator[Policy]:
        place = 0
        while place < len(self._found) or self._advance():
            yield self._found[place]
            place += 1

    def _advance(self) -> bool:
        """Find one more; return whether there is one that the budget allows."""
        if self.finished or self._queries > MOST_QUERIES:
            return False
        while self._sets:
            *_, played, rows = self._sets[0]
            costs = self._priced(played)
            place, profile = self._divided(costs, rows)
            if profile is None:
                self._found.append(self._oracle.ask("best_policy", costs))
            heappop(self._sets)  # only now: a query that is interrupted is asked again
            if profile is None:
                return True
            left = rows[place + 1 :]
            for action in np.flatnonzero(profile <= self._bound).tolist():
                cells = (*played, (rows[place], action))
                heappush(self._sets, (float(profile[action]), len(left), next(self._numbers), cells, left))
        self.finished = True
        return False

    def _divided(self, costs: Floats, rows: tuple[int, ...]) -> tuple[int, Floats | None]:
        """Return the first place of ``rows`` at which several actions are played, and the profile; None for none."""
        for place, row in enumerate(rows):
            self._queries += 1
            profile = self._oracle.ask("profile", costs, row)
            if (profile <= self._bound).sum() > 1:
                return place, profile
        return len(rows), None

    def _priced(self, played: tuple[Cell, ...]) -> Floats:
        """Return the costs (n, K) with the price on the actions that the policies of a set do not play."""
        costs = self._costs.copy()
        for row, action in played:
            others: Bools = np.arange(costs.shape[1]) != action
            costs[row, others] += self._price
        return costs


MOST_COMPARED = 1_000  # policies whose labels are compared with each other


class NearBest:
    """The policies of a class whose total cost is at most ``value``, the least one, plus ``slack``.

    Policies that label all contexts alike are one. For costs that are not whole, totals that differ by less than 1e-9
    of their range are equal (see Answer).
    """

    def __init__(self, oracle: Any, table: Floats, costs: Floats, slack: float) -> None:
        """Take the costs as handed in, a ``table`` (m, K), and as the oracle asks about them, (g, K)."""
        self.value, self.slack = oracle.ask("value", costs), slack
        self._oracle, self._table, self._costs = oracle, table, costs
        query = Query(costs)
        off = 0.0 if query.whole else query.tolerance
        within = min(slack, query.highest - query.lowest)
        self._least, self._bound = self.value + off, self.value + within + off
        self._price = floor(within) + 1.0 if query.whole else within + 2 * off + (query.step / 8 or 1.0)

    def __repr__(self) -> str:
        return f"<NearBest: policies within {self.slack:g} of the least total cost {self.value:g}>"

    @cached_property
    def actions(self) -> Bools:
        """(m, K): whether one of these policies plays an action on a context."""
        return self.played(np.arange(len(self._oracle.group)))

    def played(self, rows: Ints) -> Bools:
        """Return (n, K): whether one of them plays an action on each of the contexts with these ``rows`` (n,)."""
        asked_rows = whole_array("rows", rows)
        if asked_rows.ndim != 1 or not np.isin(asked_rows, np.arange(len(self._oracle.group))).all():
            raise InputError(f"rows must be a list of numbers of contexts, 0..{len(self._oracle.group) - 1}")
        group: Ints = self._oracle.group[asked_rows]
        listing = self._listing
        asked, place = np.unique(group, return_inverse=True)
        if listing is not None and listing.complete and len(listing.totals) < len(asked):
            found: Bools = np.zeros(self._costs.shape, dtype=bool)
            for policy in self.policies():
                found[group, policy.predict(self._oracle.contexts[asked_rows])] = True
            return found[group]
        profiles: Floats = self._oracle.ask("profiles", self._costs, asked.tolist())
        self._oracle.calls += len(asked) - 1
        return np.asarray((profiles <= self._bound)[place])

    @property
    def agreed(self) -> Bools:
        """(m,): whether all of them play the same action on a context."""
        return np.asarray(self.actions.sum(axis=1) == 1)

    @property
    def count(self) -> int:
        """The number of different labelings among them if ``exact``; else there are more."""
        return len(self._listing.totals) if self._listing is not None else len(self._all_asked)

    @property
    def exact(self) -> bool:
        """Whether ``count`` is all of them; False where a counted budget of work ended before that."""
        if self._listing is not None:
            return self._listing.complete
        return self._all_asked is not None and self._asked_for.finished

    def policies(self) -> Iterator[FoundPolicy]:
        """Return the ``count`` cheapest, in order of total cost, each computed on demand; the first is a best one."""
        listing = self._listing
        return iter(self._asked_for) if listing is None else map(listing.policy, range(len(listing.totals)))

    @cached_property
    def features(self) -> dict[str, float]:
        """The extra cost, by column, of the best policy that does not read the column; infinite where there is none."""
        opening = self._oracle.opening
        if opening is None:
            raise InputError("only an oracle that milpcb.open_oracle has opened can be opened without a column")
        return {name: self._price_without(opening, place) for place, name in enumerate(opening.names())}

    @property
    def needed(self) -> list[str]:
        """The columns that all of these policies read: forbidding one costs more than the slack."""
        within = self._bound - self.value
        return [name for name, price in self.features.items() if price > within]

    def _price_without(self, opening: Opening, place: int) -> float:
        try:
            return float(max(0.0, opening.without((place,)).value(self._table) - self.value))
        except InfeasibleError:
            return np.inf

    @property
    def listed(self) -> bool:
        """Whether the class lists them itself; else ``count`` takes at least a profile for each distinct context."""
        return self._listing is not None

    def different(self, number: int) -> list[FoundPolicy]:
        """Return a best policy, and further ones up to ``number``: those that differ most among the 1 000 cheapest."""
        whole("number", number, 1)
        some = list(islice(self.policies(), MOST_COMPARED))
        labels = np.array([policy.predict(self._oracle.contexts) for policy in some])
        return [some[place] for place in far_apart(labels, number)]

    @cached_property
    def _listing(self) -> Listing | None:
        """The list of the class; where it is too long that of a lower bound, with slack 0 some of equal ones."""
        for power in range(TRIES + 1):
            bound = self._least + (self._bound - self._least) / 2**power if power < TRIES else self._least
            found: Listing | None = self._oracle.listing(Within(self._costs, bound))
            if found is None or found.complete:
                break
        if found is None or not len(found.totals):
            return None
        return replace(found, complete=found.complete and not power)

    @cached_property
    def _asked_for(self) -> ByProfiles:
        first = np.unique(self._oracle.group, return_index=True)[1]
        contested = self._oracle.group[first[~self.agreed[first]]]
        return ByProfiles(self._oracle, self._costs, self._bound, self._price, tuple(sorted(contested.tolist())))

    @cached_property
    def _all_asked(self) -> list[Policy]:
        return list(self._asked_for)


def far_apart(labels: Ints, number: int) -> list[int]:
    """Return the first of some labelings (n, m), then repeatedly the one farthest from all chosen before."""
    chosen, apart = [0], np.full(len(labels), labels.shape[1] + 1)
    while len(chosen) < min(number, len(labels)):
        apart = np.minimum(apart, (labels != labels[chosen[-1]]).sum(axis=1))
        chosen.append(int(apart.argmax()))
    return chosen
