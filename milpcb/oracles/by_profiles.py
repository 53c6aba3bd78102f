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

Cell = tuple[int, int]  # a context and the action there


class ByProfiles:
    """Iterates over the policies of total cost at most ``bound``.

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
        self._costs, self._bound, self._price, self._contested = costs, bound, price, contested
        self.queries = 0

    def __iter__(self) -> Iterator[Policy]:
        numbers = count()
        sets: list[tuple[float, int, int, tuple[Cell, ...], tuple[int, ...]]] = [
            (0.0, 0, next(numbers), (), self._contested)
        ]
        while sets:
            *_, played, rows = heappop(sets)
            costs = self._priced(played)
            place, profile = self._divided(costs, rows)
            if profile is None:
                yield self._minimise(costs)
            else:
                left = rows[place + 1 :]
                for action in np.flatnonzero(profile <= self._bound).tolist():
                    cells = (*played, (rows[place], action))
                    heappush(sets, (float(profile[action]), len(left), next(numbers), cells, left))

    def _divided(self, costs: Floats, rows: tuple[int, ...]) -> tuple[int, Floats | None]:
        """Return the first place of ``rows`` at which several actions are played, and the profile; None for none."""
        for place, row in enumerate(rows):
            self.queries += 1
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
