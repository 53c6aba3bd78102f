"""The exact search over decision trees, from costs of contexts: the recursion over states.

Below a node of height h, reached by the contexts S, with x the row that is asked about,
    T_0[S, a] = sum of costs[j, a] over j in S
    T_h[S, a] = (+)_f  T_{h-1}[S on x's side of f, a] (x) (+)_b T_{h-1}[S on the other side of f, b]
over all p literals f. In (min, +) T_D[all, a] is the least total cost of the trees that play a at x. In
(log-sum-exp, +) it is the log of the summed exp(-rate * total cost) over derivations: any literal at each of the
2^D - 1 inner nodes, any action at each of the 2^D leaves; there are exp(log_size) of them. Under structure limits a
node may be a leaf, the number of leaves is one more index, and derivations are the trees within the limits, each once;
only siblings may be alike.

Contexts with the same outcomes of the same tests are one state, answered once (policies/trees/recursion.py). A tree is
found from the root down, by a query at each node. Integer costs give exact answers while their absolute values sum to
less than 2^52; real ones are rounded by about 1e-16 of the summed absolute costs.
"""

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from milpcb.protocols import Search, SideConstraint
from milpcb.types import Bools, Floats
from policies.trees.limits import TreesOn
from policies.trees.recursion import TreeStates
from policies.trees.rule import DecisionTree, Leaf, cheapest_leaf, grow
from policies.trees.states import Soft, add_up
from policies.trees.totals import Codes, ContextCosts, Products


class TreeSearch(Search):
    """The recursion above on fixed contexts; totals are filled ``by_codes`` or by products of literals."""

    def __init__(self, trees: TreesOn, *, by_codes: bool = False) -> None:
        self._trees, self._by_codes = trees, by_codes and len(trees.literals) > 0
        self._literals, self._n_actions, self._depth = trees.literals, trees.n_actions, trees.depth
        self._limits, self._closed, (self._least, self._counts) = trees.limits, trees.closed, trees.asked
        self._states: dict[int, TreeStates] = {}

    def value(self, costs: Floats) -> float:
        return float(self._answers(None, costs, None).min())

    def profile(self, costs: Floats, row: int) -> Floats:
        return np.asarray(self._answers(None, costs, self._pattern(row)).min(axis=(0, 1)))

    def log_weights(self, costs: Floats, row: int, rate: float) -> Floats:
        return -add_up(1.0, self._answers(1.0, rate * costs, self._pattern(row))[0])

    def minimise(self, costs: Floats) -> tuple[float, DecisionTree]:
        given, closed = ContextCosts(costs, self._counts), self._closed[0]
        if len(self._closed) > 1:
            closed = self._closed[self._answers(None, costs, None).min(axis=(1, 2)).argmin()]
        most: dict[tuple[int, ...], int] = {(): self._trees.most_leaves}  # how many leaves there may be below each path

        def choose(path: tuple[int, ...], here: Bools) -> Leaf | int:
            height = self._depth - len(path) // 2
            if not height or most[path] == 1:
                return cheapest_leaf(costs, here)
            below = given.at(here) if path else given
            ways = self._ways(below, height, closed)
            if self._limits:
                leaves = np.arange(ways.shape[1])
                ways[:, leaves[:, None] + leaves + 2 > most[path]] = np.inf
                if self._one_leaf(None, below, 1)[0] <= ways.min():
                    return cheapest_leaf(costs, here)
            f, *fewest = (int(i) for i in np.unravel_index(ways.argmin(), ways.shape))
            for side, n in zip((1, 0), fewest, strict=True):
                most[(*path, f, side)] = n + 1 if self._limits else most[path]
            return f

        tree = DecisionTree(grow(choose, self._literals, np.ones(len(costs), bool)), self._trees.names)
        return float(costs[np.arange(len(costs)), tree.predict(self._literals.contexts)].sum()), tree

    def under(self, rows: Sequence[SideConstraint]) -> Any:
        """Return the search over the trees within limits that keep ``rows``; the class has no ``max_features``."""
        from policies.trees.constrained import ConstrainedTrees, SetLeaves  # only for those who have rows

        leaves = SetLeaves(self._states_of(self._depth), self._literals, self._counts)
        most = self._trees.most_leaves if self._trees.most_leaves < 2**self._depth else None
        return ConstrainedTrees(leaves, self._literals.tests, self._trees.names, rows, most)

    def _pattern(self, row: int) -> Bools:
        return np.asarray(self._literals.pattern(row) if self._by_codes else self._truth[row])

    def _answers(self, soft: Soft, costs: Floats, pattern: Bools | None) -> Floats:
        """Return T (n, leaves, K) by closed set, at the context where ``pattern`` holds; K is 1 without one."""
        given, n = ContextCosts(costs, self._counts), 1 if pattern is None else self._n_actions
        found = np.empty((len(self._closed), 1, n))
        if self._depth:
            found = self._states_of(self._depth).answers(soft, given, pattern, self._closed)
        if self._limits or not self._depth:
            found[:, 0] = self._one_leaf(soft, given, n)
        return found

    def _ways(self, given: ContextCosts, height: int, closed: Bools) -> Floats:
        """Return (p, leaves, leaves): the least total of each root, by the leaves where it holds and where it fails."""
        (fails, holds), everywhere = self._states_of(height).sides(given, closed)
        found = np.asarray(holds.T[:, :, None] + fails.T[:, None, :] + everywhere)
        found[closed] = np.inf
        return found

    def _one_leaf(self, soft: Soft, given: ContextCosts, n: int) -> Floats:
        """Return what one leaf costs (K,), or (1,) with any action; infinite where it is too small."""
        if (given.counts.sum(axis=1) < self._least).any():
            return np.full(n, np.inf)
        totals = given.costs.sum(axis=0)
        return totals if n > 1 else add_up(soft, totals[:, None])

    def _states_of(self, height: int) -> TreeStates:
        if height not in self._states:
            codes = (self._literals, self._n_actions, len(self._least), height)
            source = Codes(*codes) if self._by_codes else self._products
            most = min(2**height, self._trees.most_leaves) if self._limits else None
            self._states[height] = TreeStates(source, self._n_actions, height, self._least, most)
        return self._states[height]

    @cached_property
    def _products(self) -> Products:
        return Products(self._truth, self._n_actions, len(self._least), self._depth)

    @cached_property
    def _truth(self) -> Bools:
        return np.ascontiguousarray(self._literals.truth)  # kernels are compiled for each order of memory
