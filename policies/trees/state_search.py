"""The exact search over trees by states: sets of literals with their outcomes, each answered once, at any depth.

policies/trees/states.py has the recursion. Its memory is about that of the totals, (p choose D - 1) (K - 1) p numbers;
beyond MOST_NUMBERS trees are searched root by root, with the states of the greatest depth that fits.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, cached_property, partial

import numpy as np

from milpcb.types import Bools, Floats
from policies.semirings import Array, Soft
from policies.trees.limited import COMPILED_DEPTH
from policies.trees.rule import DecisionTree
from policies.trees.search import SINGLE, TreeSearch
from policies.trees.state_arrays import StateArrays, kept, n_numbers
from policies.trees.states import search
from policies.trees.tracing import pair_tests, traced

MOST_NUMBERS = 2**26
FEWEST_LEVELS = 3  # below, pairs of literals take no longer, and are compiled sooner


class StateSearch(TreeSearch):
    """The recursion of TreeSearch on fixed contexts, by states; nothing is limited."""

    _whole = False  # whether any costs were

    def value(self, costs: Floats) -> float:
        """Return the least total cost."""
        if not FEWEST_LEVELS <= self._depth <= self._fits:
            return super().value(costs)
        everywhere, kept = self._asked(None, costs, None, self._depth)
        return float(kept.least[kept.begins[1, self._depth, 0]]) + everywhere

    def minimise(self, costs: Floats) -> tuple[float, DecisionTree]:
        """Return the least total cost and a tree that attains it; at each node the lowest-numbered choice wins ties."""
        if not 1 <= self._depth <= max(self._fits, FEWEST_LEVELS - 1):
            return super().minimise(costs)
        total, tree = traced(self._table, self._patterns, self._tests(costs, self._depth))
        return total, DecisionTree(tree.grown(self._literals), self._names)

    def _best_test(self, costs: Floats, height: int) -> int:
        if not FEWEST_LEVELS <= height <= self._fits:
            return super()._best_test(costs, height)
        return int(self._tests(costs, height)[0])

    def _answers(self, soft: Soft, costs: Floats, pattern: Bools, height: int) -> Floats:
        if not FEWEST_LEVELS <= height <= self._fits:
            return super()._answers(soft, costs, pattern, height)
        everywhere, kept = self._asked(soft, costs, pattern, height)
        return np.asarray(np.add(kept.own[kept.begins[2, height, 0]], everywhere, dtype=float))

    def _tests(self, costs: Floats, height: int) -> Array:
        """Return the tests (2^height - 1,) of a best tree, see policies/trees/tracing.py."""
        if height >= FEWEST_LEVELS:
            return self._asked(None, costs, None, height, traced=True)[1].tests
        everywhere, (*_, room) = self._run(None, costs, self._anywhere, height, self._allowed)
        tests = np.empty(2**height - 1, np.int64)
        pairs = room.literals, room.costs, room.weighted, room.pairs, room.own[0], room.near, room.far
        pair_tests(everywhere, self._table, self._patterns, self._anywhere, *pairs, tests)
        return tests

    def _asked(
        self, soft: Soft, costs: Floats, pattern: Bools | None, height: int, *, traced: bool = False
    ) -> tuple[float, StateArrays]:
        """Run the kernel in single precision where that is exact, else in double.

        Return what action 0 costs on all contexts, and the arrays that are filled with what trees cost beyond it. The
        ``pattern`` (p,) is that of the context whose profile is asked for, if it is.
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

    @cached_property
    def _fits(self) -> int:
        """The greatest height whose states fit, 0 if there is none."""
        p, heights = len(self._literals), range(self._depth, 0, -1)
        return next((height for height in heights if n_numbers(p, self._n_actions, height) <= MOST_NUMBERS), 0)

    @cached_property
    def _compiled(self) -> int:
        return max(COMPILED_DEPTH, self._fits)

    @cached_property
    def _kept(self) -> Callable[..., StateArrays]:
        """The arrays for trees of a height, in single or double precision."""
        return cache(partial(kept, self._patterns, self._n_actions))
