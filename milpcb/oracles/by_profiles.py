"""Policies within a bound, cheapest first, by queries that every oracle answers, whatever its class and kind.

A set of policies is given by what they play at some contexts; every other action there costs so much more that whoever
plays it is beyond the bound. A profile at a further context has the actions that the policies of the set play there
within the bound, and the least total of each: where there are several, each is a smaller set. A set whose policies
agree at all contexts is one labeling. The set of least total is divided first, of equal ones the one with the fewest
contexts left, so labelings come in order of cost, and no query is about an empty set.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from heapq import heappop, heappush
from itertools import count

import numpy as np

from milpcb.types import Bools, Floats, Policy

MOST_QUERIES = 5_000  # profiles that are asked for
Cell = tuple[int, int]  # a context and the action there


class ByProfiles:
    """The policies of total cost at most ``bound``, found as somebody iterates over them, and kept for the next one.

    It ends where there are no more, and is ``finished`` then, or where the budget of queries is used up.

    Parameters
    ----------
    profile, minimise : queries about costs (n, K), and for a profile a row of them
    costs : what is asked about
    bound : of the total costs
    price : what another action than a set's costs more: no policy at all is within the bound less the price
    contested : rows at which the policies within the bound do not all play the same

    """

    def __init__(
        self,
        profile: Callable[[Floats, int], Floats],
        minimise: Callable[[Floats], Policy],
        costs: Floats,
        bound: float,
        price: float,
        contested: tuple[int, ...],
    ) -> None:
        self._profile, self._minimise = profile, minimise
        self._costs, self._bound, self._price = costs, bound, price
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
                self._found.append(self._minimise(costs))
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
            profile = self._profile(costs, row)
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
