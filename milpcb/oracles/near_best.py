"""All policies whose total cost is within a slack of the least: how many, which, and what they agree on."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from math import floor

import numpy as np

from milpcb.core.checks import whole, whole_array
from milpcb.errors import InfeasibleError, InputError
from milpcb.oracles.by_profiles import ByProfiles
from milpcb.oracles.query import Query
from milpcb.oracles.without import Opening
from milpcb.protocols import Listing, Within
from milpcb.types import Bools, Floats, FoundPolicy, Ints, Policy

MOST_COMPARED = 1_000  # policies whose labels are compared with each other


@dataclass(frozen=True, eq=False)
class Asking:
    """What an oracle is asked, about costs of its own shape (g, K).

    ``listing`` is the class's own list, or None; ``group`` (m,) the row of these costs that each of the ``contexts``
    has, and ``opening`` how the oracle was opened.
    """

    value: Callable[[Floats], float]
    profile: Callable[[Floats, int], Floats]
    profiles: Callable[[Floats, Sequence[int]], Floats]
    policy: Callable[[Floats], Policy]
    listing: Callable[[Within], Listing | None]
    contexts: Floats
    group: Ints
    opening: Opening | None


class NearBest:
    """The policies of a class whose total cost is at most the least one plus ``slack``.

    Every answer is found when it is first asked for, and kept. Policies that label all contexts alike are one, however
    many ways there are to write it. For costs that are not whole, totals that differ by less than 1e-9 of their range
    are equal, as everywhere (see Answer).

    Attributes
    ----------
    value : the least total cost
    slack : in the unit of the costs

    """

    def __init__(self, queries: Asking, table: Floats, costs: Floats, slack: float) -> None:
        """Take the costs as handed in, a ``table`` (m, K), and as the oracle asks about them, (g, K)."""
        self.value, self.slack = queries.value(costs), slack
        self._ask, self._table, self._costs = queries, table, costs
        query = Query(costs)
        off = 0.0 if query.whole else query.tolerance
        within = min(slack, query.highest - query.lowest)
        self._least, self._bound = self.value + off, self.value + within + off
        self._price = floor(within) + 1.0 if query.whole else within + 2 * off + (query.step / 8 or 1.0)

    def __repr__(self) -> str:
        return f"<NearBest: policies within {self.slack:g} of the least total cost {self.value:g}>"

    @cached_property
    def actions(self) -> Bools:
        """(m, K): which actions these policies play on each context."""
        return self.played(np.arange(len(self._ask.group)))

    def played(self, rows: Ints) -> Bools:
        """Return (n, K): which actions they play on some of the contexts, given by their ``rows`` (n,).

        One profile for each distinct context, unless the class lists fewer policies than that.
        """
        asked_rows = whole_array("rows", rows)
        if asked_rows.ndim != 1 or not np.isin(asked_rows, np.arange(len(self._ask.group))).all():
            raise InputError(f"rows must be a list of numbers of contexts, 0..{len(self._ask.group) - 1}")
        group, listing = self._ask.group[asked_rows], self._listing
        found = np.zeros(self._costs.shape, dtype=bool)
        asked = np.unique(group)
        if listing is not None and listing.complete and len(listing.totals) < len(asked):
            for policy in self.policies():
                found[group, policy.predict(self._ask.contexts[asked_rows])] = True
        else:
            found[asked] = self._ask.profiles(self._costs, asked.tolist()) <= self._bound
        return found[group]

    @property
    def agreed(self) -> Bools:
        """(m,): on which contexts all of them play the same action."""
        return np.asarray(self.actions.sum(axis=1) == 1)

    @property
    def count(self) -> int:
        """How many of them label the contexts differently, exactly if ``exact``; else there are more than so many."""
        return len(self._listing.totals) if self._listing is not None else len(self._all_asked)

    @property
    def exact(self) -> bool:
        """Whether ``count`` is all of them; False where a counted budget of work ended before that."""
        if self._listing is not None:
            return self._listing.complete
        return self._all_asked is not None and self._asked_for.finished

    def policies(self) -> Iterator[FoundPolicy]:
        """Yield the ``count`` cheapest, in order of total cost, each when it is asked for; the first is a best one."""
        if self._listing is not None:
            yield from (self._listing.policy(i) for i in range(len(self._listing.totals)))
        else:
            yield from self._asked_for

    @cached_property
    def features(self) -> dict[str, float]:
        """By the name of each column of the contexts how much dearer the best policy is that does not read it.

        Infinite where no such policy keeps the side constraints. Raises InputError where policies read no columns.
        """
        opening = self._ask.opening
        if opening is None:
            raise InputError("only an oracle that milpcb.open_oracle has opened can be opened without a column")
        return {name: self._price_without(opening, place) for place, name in enumerate(opening.names())}

    @property
    def needed(self) -> list[str]:
        """The columns that all of these policies read: to forbid one costs more than the slack."""
        within = self._bound - self.value
        return [name for name, price in self.features.items() if price > within]

    def _price_without(self, opening: Opening, place: int) -> float:
        try:
            return max(0.0, opening.without((place,)).value(self._table) - self.value)
        except InfeasibleError:
            return np.inf

    @property
    def listed(self) -> bool:
        """Whether the class lists them itself; else ``count`` takes at least a profile for each distinct context."""
        return self._listing is not None

    def different(self, number: int) -> list[FoundPolicy]:
        """Return a best policy, and then up to ``number`` in all: those that differ most among the 1 000 cheapest."""
        whole("number", number, 1)
        some = list(islice(self.policies(), MOST_COMPARED))
        labels = np.array([policy.predict(self._ask.contexts) for policy in some])
        return [some[place] for place in far_apart(labels, number)]

    @cached_property
    def _listing(self) -> Listing | None:
        return self._ask.listing(Within(self._costs, self._least, self._bound))

    @cached_property
    def _asked_for(self) -> ByProfiles:
        first = np.unique(self._ask.group, return_index=True)[1]
        contested = self._ask.group[first[~self.agreed[first]]]
        rows = tuple(sorted(contested.tolist()))
        return ByProfiles(self._ask.profile, self._ask.policy, self._costs, self._bound, self._price, rows)

    @cached_property
    def _all_asked(self) -> list[Policy]:
        return list(self._asked_for)


def far_apart(labels: Ints, number: int) -> list[int]:
    """Return the first of some labelings (n, m), and then each the one that is farthest from the nearest before it."""
    chosen, apart = [0], np.full(len(labels), labels.shape[1] + 1)
    while len(chosen) < min(number, len(labels)):
        apart = np.minimum(apart, (labels != labels[chosen[-1]]).sum(axis=1))
        chosen.append(int(apart.argmax()))
    return chosen
