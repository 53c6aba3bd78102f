"""The exact search over trees by states: sets of literals with their outcomes, each answered once, at any depth.

policies/trees/states.py has the recursion. Its memory is about that of the totals, (p choose D - 1) (K - 1) p numbers;
beyond MOST_NUMBERS trees are searched root by root, with the states of the greatest depth that fits.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np

from milpcb.types import Bools, Floats
from policies.literals import Literals
from policies.names import Names
from policies.trees.last_tests import Soft
from policies.trees.rule import DecisionTree, Leaf, Node, split
from policies.trees.search import COMPILED_DEPTH, SINGLE, TreeSearch
from policies.trees.state_arrays import StateArrays, kept, n_numbers
from policies.trees.states import search

MOST_NUMBERS = 2**26
FEWEST_LEVELS = 3  # below, pairs of literals take no longer, and are compiled sooner


class Traced(NamedTuple):
    """A best tree: its tests (2^D - 1,), and the contexts in each leaf (2^D,) with their total costs (2^D, K)."""

    tests: list[int]
    counts: list[int]
    leaves: list[list[float]]


class StateSearch(TreeSearch):
    """The recursion of TreeSearch on fixed contexts, by states; what the kernels need is allocated once."""

    def __init__(self, literals: Literals, n_actions: int, depth: int, names: Names) -> None:
        super().__init__(literals, n_actions, depth, names)
        heights = range(depth, 0, -1)
        fits = (height for height in heights if n_numbers(len(literals), n_actions, height) <= MOST_NUMBERS)
        self._fits = next(fits, 0)
        self._compiled = max(COMPILED_DEPTH, self._fits)
        self._kept, self._whole = cache(self._allocated), False

    def value(self, costs: Floats) -> float:
        """Return the least total cost."""
        if not FEWEST_LEVELS <= self._depth <= self._fits:
            return super().value(costs)
        everywhere, kept = self._asked(None, costs, None, self._depth)
        return float(kept.least[kept.begins[1, self._depth, 0]]) + everywhere

    def minimise(self, costs: Floats) -> tuple[float, DecisionTree]:
        """Return the least total cost and a tree that attains it; at each node the lowest-numbered choice wins ties."""
        if not FEWEST_LEVELS <= self._depth <= self._fits:
            return super().minimise(costs)
        traced = self._traced(costs, self._depth)
        tree = DecisionTree(self._grown(traced, 0), self._names)
        return sum(map(min, traced.leaves)), tree

    def _chosen(self, costs: Floats, path: tuple[int, ...], here: Bools) -> Leaf | int:
        height = self._depth - len(path) // 2
        if not FEWEST_LEVELS <= height <= self._fits:
            return super()._chosen(costs, path, here)
        return self._traced(np.where(here[:, None], costs, 0.0), height).tests[0]

    def _answers(self, soft: Soft, costs: Floats, pattern: Bools, height: int) -> Floats:
        if not FEWEST_LEVELS <= height <= self._fits:
            return super()._answers(soft, costs, pattern, height)
        everywhere, kept = self._asked(soft, costs, pattern, height)
        return np.asarray(np.add(kept.own[kept.begins[2, height, 0]], everywhere, dtype=float))

    def _traced(self, costs: Floats, height: int) -> Traced:
        """Return the best tree of a height that the kernels have found, as Python's own numbers: there are few."""
        _, kept = self._asked(None, costs, None, height, traced=True)
        return Traced(kept.tests.tolist(), kept.counts.tolist(), kept.leaves.tolist())

    def _grown(self, traced: Traced, node: int) -> Node:
        """Return the tree below a node, without the tests that divide no contexts or whose sides are the same."""
        inner = len(traced.tests)
        if node >= inner:
            leaf = traced.leaves[node - inner]
            return Leaf(leaf.index(min(leaf)))
        fails, holds = 2 * node + 1, 2 * node + 2
        for empty, other in ((holds, fails), (fails, holds)):
            if not _reached(traced, empty):
                return self._grown(traced, other)
        test = self._literals.tests[traced.tests[node]]
        return split(test, self._grown(traced, holds), self._grown(traced, fails))

    def _asked(
        self, soft: Soft, costs: Floats, pattern: Bools | None, height: int, *, traced: bool = False
    ) -> tuple[float, StateArrays]:
        """Run the kernel in single precision where that is exact, else in double.

        Return what action 0 costs on all contexts, and the arrays that are filled with what trees cost beyond it. The
        ``pattern`` (p + 1,) is that of the context whose profile is asked for, if it is.
        """
        self._table[:] = costs
        near, point = pattern is not None, self._anywhere if pattern is None else pattern
        every = traced or soft is not None or height > len(self._literals)
        asked = near, every, traced, self._table, point
        if soft is None and (self._whole or (costs == np.rint(costs)).all()):  # memory for what is needed
            self._whole = True
            kept = self._kept(height, np.float32)
            everywhere, bound = search(None, height, SINGLE, *asked, *kept)
            if bound <= SINGLE:
                return everywhere, kept
        kept = self._kept(height, np.float64)
        everywhere, _ = search(soft, height, np.inf, *asked, *kept)
        return everywhere, kept

    def _allocated(self, height: int, dtype: type[np.floating[Any]]) -> StateArrays:
        return kept(np.ascontiguousarray(self._literals.truth), self._n_actions, height, dtype)


def _reached(traced: Traced, node: int) -> bool:
    """Return whether any context comes to a node."""
    first = last = node
    while first < len(traced.tests):
        first, last = 2 * first + 1, 2 * last + 2
    return any(traced.counts[first - len(traced.tests) : last + 1 - len(traced.tests)])
