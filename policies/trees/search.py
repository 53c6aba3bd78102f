"""The exact search over decision trees, from costs of contexts: the recursion over states, and root by root beyond it.

Below a node of height h, reached by the contexts S, with x the row that is asked about,
    T_0[S, a] = sum of costs[j, a] over j in S
    T_h[S, a] = (+)_f  T_{h-1}[S on x's side of f, a] (x) (+)_b T_{h-1}[S on the other side of f, b]
over all p literals f. In (min, +) T_D[all, a] is the least total cost of the trees that play a at x. In
(log-sum-exp, +) it is the log of the summed exp(-rate * total cost) over derivations: any literal at each of the
2^D - 1 inner nodes, any action at each of the 2^D leaves; there are exp(log_size) of them. Under structure limits a
node may be a leaf, the number of leaves is one more index, and derivations are the trees within the limits, each once;
only siblings may be alike.

Contexts with the same outcomes of the same tests are one state, whatever the order of the tests, so that each is
answered once (policies/trees/recursion.py). Where its numbers do not fit into memory, the tests at the root are gone
through one by one, with the states of the greatest height that fits on both sides. A tree is found from the root down,
by a query at each node about the contexts there.

Whole costs give exact answers while their absolute values add up to less than 2^52. Real costs are rounded as sums in
double precision are, by about 1e-16 of the summed absolute costs.
"""

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from milpcb.protocols import Search, SideConstraint
from milpcb.types import Bools, Floats
from policies.semirings import Soft, add_up
from policies.trees.limits import TreesOn
from policies.trees.recursion import TreeStates
from policies.trees.rule import DecisionTree, Leaf, cheapest_leaf, grow
from policies.trees.sets import fits
from policies.trees.totals import Codes, ContextCosts, Products


class TreeSearch(Search):
    """The recursion above on fixed contexts.

    All that it works in is allocated once. Totals are filled ``by_codes`` or by products of literals.
    """

    def __init__(self, trees: TreesOn, *, by_codes: bool = False) -> None:
        self._trees, self._by_codes = trees, by_codes and len(trees.literals) > 0
        self._literals, self._n_actions, self._depth = trees.literals, trees.n_actions, trees.depth
        self._limits, self._closed, (self._least, self._counts) = trees.limits, trees.closed, trees.asked
        self._states: dict[int, TreeStates] = {}

    def value(self, costs: Floats) -> float:
        """Return the least total cost."""
        return float(add_up(None, self._answers(None, costs, None))[0])

    def profile(self, costs: Floats, row: int) -> Floats:
        """Return (K,): the least total cost by the action at ``row``."""
        return add_up(None, self._answers(None, costs, self._pattern(row)))

    def log_weights(self, costs: Floats, row: int, rate: float) -> Floats:
        """Return (K,): log of the summed exp(-rate * total cost) of the derivations by the action at ``row``."""
        return -add_up(1.0, self._answers(1.0, rate * costs, self._pattern(row)))

    def minimise(self, costs: Floats) -> tuple[float, DecisionTree]:
        """Return the least total cost and a tree that attains it; at each node the lowest-numbered choice wins ties."""
        given, closed = ContextCosts(costs, self._counts), self._closed[0]
        if len(self._closed) > 1:
            closed = self._closed[self._of_sets(None, given, None, self._depth, self._closed).min(axis=(1, 2)).argmin()]
        most: dict[tuple[int, ...], int] = {(): self._trees.most_leaves}  # how many leaves there may be below each path

        def choose(path: tuple[int, ...], here: Bools) -> Leaf | int:
            height = self._depth - len(path) // 2
            if not height or most[path] == 1:
                return cheapest_leaf(costs, here)
            below = given.at(here) if path else given
            ways = self._ways(None, below, None, height, closed)[..., 0]
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
        """Return (p,): which literals hold at a context."""
        return np.asarray(self._literals.pattern(row) if self._by_codes else self._truth[row])

    def _answers(self, soft: Soft, costs: Floats, pattern: Bools | None) -> Floats:
        """Return T (leaves, K) of all trees, for the context where the literals ``pattern`` (p,) hold."""
        found = self._of_sets(soft, ContextCosts(costs, self._counts), pattern, self._depth, self._closed)
        return found[0] if len(found) == 1 else np.asarray(found.min(axis=0))

    def _of_sets(self, soft: Soft, given: ContextCosts, pattern: Bools | None, height: int, closed: Bools) -> Floats:
        """Return T (n, leaves, K) of the trees of a height, for each set of literals that are ``closed`` (n, p).

        The numbers are least total costs where ``soft`` is None, else -log of the summed exp(-total cost); without a
        pattern they are those of all actions, and K is 1.
        """
        n = 1 if pattern is None else self._n_actions
        if not height:
            found = np.empty((len(closed), 1, n))
        elif height <= self._fits:
            found = self._states_of(height).answers(soft, given, pattern, closed)
        else:
            found = np.array([self._by_roots(soft, given, pattern, height, each) for each in closed])
        if self._limits or not height:
            found[:, 0] = self._one_leaf(soft, given, n)
        return found

    def _by_roots(self, soft: Soft, given: ContextCosts, pattern: Bools | None, height: int, closed: Bools) -> Floats:
        """Return T (leaves, K) of the trees with tests that are not ``closed`` (p,), by going through their roots."""
        ways = self._ways(soft, given, pattern, height, closed)
        found = np.full((self._most(height) or 1, ways.shape[-1]), np.inf)
        for i, j in np.ndindex(ways.shape[1:3]):
            n = i + j + bool(self._limits)
            if n < len(found):
                found[n] = add_up(soft, np.concatenate([found[n : n + 1], ways[:, i, j]]))
        return found

    def _ways(self, soft: Soft, given: ContextCosts, pattern: Bools | None, height: int, closed: Bools) -> Floats:
        """Return (p, leaves, leaves, K): for each root the answers of both sides together, by their numbers of leaves.

        The first side is that of the context with this pattern; without one, where the root holds, and for K is 1.
        """
        if pattern is None and height <= self._fits:
            (fails, holds), everywhere = self._states_of(height).sides(given, closed)
            found = np.asarray(holds.T[:, :, None, None] + fails.T[:, None, :, None] + everywhere)
            found[closed] = np.inf
            return found
        below = self._most(height - 1) or 1
        ways = np.full((len(closed), below, below, 1 if pattern is None else self._n_actions), np.inf)
        for f in np.flatnonzero(~closed).tolist():
            here = self._literals.holds(f) == (pattern is None or pattern[f])
            near = self._of_sets(soft, given.at(here), pattern, height - 1, closed[None])[0]
            far = self._of_sets(soft, given.at(~here), None, height - 1, closed[None])[0]
            ways[f] = near[:, None] + far
        return ways

    def _one_leaf(self, soft: Soft, given: ContextCosts, n: int) -> Floats:
        """Return what one leaf costs (K,), or (1,) with any action; infinite where it is too small."""
        if (given.counts.sum(axis=1) < self._least).any():
            return np.full(n, np.inf)
        totals = given.costs.sum(axis=0)
        return totals if n > 1 else add_up(soft, totals[:, None])

    def _most(self, height: int) -> int | None:
        """Return how many numbers of leaves are distinguished, None where they do not count."""
        return min(2**height, self._trees.most_leaves) if self._limits else None

    def _states_of(self, height: int) -> TreeStates:
        if height not in self._states:
            n_counts = len(self._least)
            codes = Codes(self._literals, self._n_actions, n_counts, height) if self._by_codes else None
            source, most = codes or self._products, self._most(height)
            self._states[height] = TreeStates(source, self._n_actions, height, self._least, most)
        return self._states[height]

    @cached_property
    def _products(self) -> Products:
        return Products(self._truth, self._n_actions, len(self._least), min(self._fits, self._depth))

    @cached_property
    def _fits(self) -> int:
        """The greatest height whose states fit."""
        p, K, planes = len(self._literals), self._n_actions, self._n_actions - 1 + len(self._least)
        heights = range(self._depth, 0, -1)
        return next((h for h in heights if fits(p, h, K, planes + self._by_codes, self._most(h))), 0)

    @cached_property
    def _truth(self) -> Bools:
        return np.ascontiguousarray(self._literals.truth)  # kernels are compiled for each order of memory
