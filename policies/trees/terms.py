"""The leaf totals of decision trees, (path, action), and the recursion over them.

A path is D pairs (literal, outcome), in the order of the tests; a term has the number that it has in an array of shape
(p, 2) * D + (K,), which is also the order of the columns u of the constrained program. A derivation is that of the
search (policies/trees/search.py): any literal at each inner node, any action at each leaf. Where a literal comes twice
on a path with different outcomes no context follows it: its terms cost nothing, and hold noise where there is some.
Noise may differ between two orders of the same tests, so that the recursion is over paths, and not over states: that of
policies/trees/usage.py, with side constraints or without.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from milpcb.protocols import Listing, SeveralTables, SideConstraint, Terms, Within
from milpcb.types import Floats, Ints
from policies.literals import Test, outcomes
from policies.names import Names
from policies.semirings import add_up
from policies.trees.rule import DecisionTree, path_totals
from policies.trees.sets import fits

if TYPE_CHECKING:
    from policies.trees.constrained import ConstrainedTrees


class TreeTerms(Terms):
    """The leaves of all trees of one depth over fixed literals, with the recursion over the trees that keep ``rows``.

    Raises SearchTooLargeError where there is too much to keep under these.
    """

    def __init__(
        self, tests: list[Test], n_actions: int, depth: int, names: Names, rows: Sequence[SideConstraint] = ()
    ) -> None:
        self.n_actions, self._rows = n_actions, tuple(rows)
        self._tests, self._names = tests, names
        self.n_literals = p = len(tests)
        self.depth = depth = depth if p else 0
        self.n_touched = p**depth
        self.n_terms = (2 * p) ** depth * n_actions
        self.n_features = 1 + max((feature for feature, *_ in tests), default=0)
        if rows:
            _ = self.trees

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._tests, self.n_actions, self.depth, self._names, self._rows)

    @cached_property
    def trees(self) -> ConstrainedTrees:
        """The recursion."""
        from policies.trees.constrained import ConstrainedTrees, PathLeaves  # only for those who ask

        rows = self._rows or (SideConstraint(np.zeros(self.n_terms)),)  # one that all trees keep
        leaves = PathLeaves(self.n_literals, self.depth, self.n_actions)
        return ConstrainedTrees(leaves, self._tests, self._names, rows)

    def places(self, contexts: Floats) -> list[Ints]:
        return list(self.n_actions * self._paths(contexts)[:, :, None] + np.arange(self.n_actions))

    def adder(self, contexts: Floats) -> Callable[[Floats], Floats]:
        truth = outcomes(contexts, self._tests).astype(float)
        return lambda costs: np.ascontiguousarray(path_totals(truth, costs, self.depth)).ravel()

    def under(self, rows: Sequence[SideConstraint]) -> TreeTerms:
        return TreeTerms(self._tests, self.n_actions, self.depth, self._names, (*self._rows, *rows))

    def several(self, place: Callable[[int], Ints], count: Callable[[float], float]) -> SeveralTables | None:
        """Return tables of the leaves that are weighed together; None under side constraints."""
        return None if self._rows else SeveralTrees(self, place, count)

    def near(self, contexts: Floats, asked: Within) -> Listing | None:
        """Return the trees asked for, where the answers of all states fit memory and the trees are few enough."""
        if not fits(self.n_literals, self.depth, self.n_actions, self.n_actions - 1, None):
            return None
        from policies.trees.near import NearTrees  # only for those who ask

        return NearTrees(outcomes(contexts, self._tests), self.depth, asked).listing(self._tests, self._names)

    def value(self, totals: Floats) -> float:
        return self.trees.value(totals)

    def minimise(self, totals: Floats) -> tuple[float, DecisionTree]:
        """Return the least total and a tree that attains it; at each node the lowest-numbered choice wins a tie."""
        return self.trees.minimise(totals)

    def profile(self, totals: Floats, place: Ints) -> Floats:
        return self.trees.profile(totals, place)

    def log_weights(self, totals: Floats, place: Ints, rate: float) -> Floats:
        return self.trees.log_weights(totals, place, rate)

    def _paths(self, contexts: Floats) -> Ints:
        """Return the numbers (n, p^D) of the paths that contexts may take."""
        sides = 2 * np.arange(self.n_literals) + outcomes(contexts, self._tests)
        paths = np.zeros((len(contexts), 1), np.int64)
        for length in range(1, self.depth + 1):
            longer = 2 * self.n_literals * paths[:, :, None] + sides[:, None, :]
            paths = longer.reshape(len(contexts), self.n_literals**length)
        return paths


class SeveralTrees(SeveralTables):
    """Totals (n, J) of the leaves of trees, with the sums of the trees below each path.

    ``place`` returns the place of a row, and ``count`` counts a query, given its start. What is kept is a function of
    the totals and the rate, to the last bit.
    """

    def __init__(self, terms: TreeTerms, place: Callable[[int], Ints], count: Callable[[float], float]) -> None:
        """Begin without a table."""
        self._n_literals, self._depth, self._n_actions = terms.n_literals, terms.depth, terms.n_actions
        self._place, self._count = place, count
        self.totals = np.zeros((terms.n_terms, 0))
        self._rate, self._below = 0.0, list[Floats]()  # empty where the totals are other ones

    def begin(self, table: int) -> None:
        """Empty a table; the one after the last is a new one."""
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
