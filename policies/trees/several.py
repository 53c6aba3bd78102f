"""Several tables of leaf totals of trees, weighed together: their sums below each path are kept from round to round."""

from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any

import numpy as np

from milpcb.protocols import SeveralTables
from milpcb.types import Floats, Ints
from policies.trees.states import add_up


class SeveralTrees(SeveralTables):
    """Totals (n, J) of the leaves of trees, the ``terms``, with the sums of the trees below each path.

    ``place`` returns the place of a row, and ``count`` counts a query, given its start. All that is kept is a function
    of the totals and the rate, to the last bit.
    """

    def __init__(self, terms: Any, place: Callable[[int], Ints], count: Callable[[float], float]) -> None:
        self._n_literals, self._depth, self._n_actions = terms.n_literals, terms.depth, terms.n_actions
        self._place, self._count = place, count
        self.totals = np.zeros((terms.n_terms, 0))
        self._rate, self._below = 0.0, list[Floats]()  # empty where the totals are other ones

    def begin(self, table: int) -> None:
        if table == self.totals.shape[1]:
            self.totals = np.pad(self.totals, ((0, 0), (0, 1)))
        self.totals[:, table] = 0.0
        self._below = []

    def add(self, row: int, action: int, amount: float) -> None:
        place, p = self._place(row), self._n_literals
        self.totals[place[:, action]] += amount
        if not self._below:
            return
        paths, fails = place[:, 0] // self._n_actions, 2 * np.arange(p)
        self._below[-1][paths] = _sums(self._rate * self.totals[place])
        for shorter, longer in zip(self._below[-2::-1], self._below[:0:-1], strict=True):
            paths = paths[::p] // (2 * p)
            sides = 2 * p * paths[:, None] + fails
            shorter[paths] = _sums(longer[sides] + longer[sides + 1])

    def action_weights(self, row: int, rate: float) -> Floats:
        """Return the Exp4 distribution (J, K) of each table at a row; a leaf goes with all siblings above it."""
        start, place = perf_counter(), self._place(row)
        if rate != self._rate or not self._below:
            self._rate, self._below = rate, self._sums_below(rate * self.totals)
        paths, own = place[:, 0] // self._n_actions, rate * self.totals.take(place.T, axis=0)
        for sums in self._below[:0:-1]:
            own = own + sums.take(paths ^ 1, axis=0)  # the same path, but for the side at its end
            paths = paths // (2 * self._n_literals)
        costs = add_up(1.0, own.swapaxes(0, 1))
        weights = np.exp(costs.min(axis=0) - costs)
        self._count(start)
        return np.asarray((weights / weights.sum(axis=0)).T)

    def _sums_below(self, costs: Floats) -> list[Floats]:
        """Return the sums (paths, J) of the trees below all paths of each length, the shortest first."""
        n_tables = costs.shape[1]
        sums = [_sums(costs.reshape(-1, self._n_actions, n_tables))]
        for _ in range(self._depth):
            sums.append(_sums((sums[-1][::2] + sums[-1][1::2]).reshape(-1, self._n_literals, n_tables)))
        return sums[::-1]

    def state(self) -> list[Any]:
        return list(self.totals.T.tolist())

    def restore(self, state: Sequence[Any]) -> None:
        self.totals = np.reshape(state, (len(state), len(self.totals))).T.astype(float, order="C")
        self._below = []


def _sums(ways: Floats) -> Floats:
    """Return the sums (n, J) over ``ways`` (n, w, J)."""
    return add_up(1.0, ways.swapaxes(0, 1))
