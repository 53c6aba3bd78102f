"""Total costs of the leaves of trees from costs of contexts, by the compiled pair histogram of the search."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from milpcb.core.kernels import compiled
from milpcb.types import Bools, Floats
from policies.semirings import Array
from policies.trees.kernels import differences
from policies.trees.passes import add_up, restrict
from policies.trees.search import SINGLE, arrays

COMPILED_DEPTH = 3


class LeafAdder:
    """Adds up costs (n, K) of contexts with the literals ``truth`` (n, p), for trees of depth 1 to 3.

    As in the search only differences to action 0 are added up, in single precision where that is exact. What action 0
    costs everywhere is put on the leaf where all tests hold, whichever its action: each tree has one such leaf.
    """

    def __init__(self, truth: Bools, n_actions: int, depth: int) -> None:
        self._truth = truth
        self._n_actions, self._depth, self._n_literals = n_actions, depth, truth.shape[1]
        self._totals = np.zeros((2 * self._n_literals) ** depth * n_actions)

    def __call__(self, costs: Floats) -> Floats:
        """Return totals (n_terms,), in an array that the next call writes over."""
        shaped = self._totals.reshape(*(self._n_literals, 2) * self._depth, -1)
        fill = {1: _one_test, 2: _two_tests, 3: _three_tests}[self._depth]
        if fill(SINGLE, costs, *self._single, shaped) > SINGLE:
            fill(np.inf, costs, *self._double, shaped)
        return self._totals

    @cached_property
    def _single(self) -> tuple[Array, Array, Array, Array]:
        return arrays(self._truth, self._n_actions, 0, 1, np.float32)[:4]

    @cached_property
    def _double(self) -> tuple[Array, Array, Array, Array]:
        return arrays(self._truth, self._n_actions, 0, 1, np.float64)[:4]


@compiled()
def _one_test(
    largest: float, table: Array, literals: Array, costs: Array, weighted: Array, pairs: Array, totals: Array
) -> float:
    """Fill totals (p, 2, K); arrays and answer are those of ``_two_tests``."""
    everywhere, bound = differences(table, costs[0])
    if bound > largest:
        return bound
    add_up(
        literals, costs[0], literals.shape[0] * literals.shape[2], weighted, pairs[0], len(totals), len(totals) + 1, 0
    )
    totals[:, 0, 0], totals[:, 1, 0] = 0.0, everywhere
    for f in range(len(totals)):
        for a in range(len(pairs[0])):
            holds = pairs[0, a, len(totals), f]
            totals[f, 0, a + 1] = pairs[0, a, len(totals), len(totals)] - holds
            totals[f, 1, a + 1] = everywhere + holds
    return bound


@compiled()
def _two_tests(
    largest: float, table: Array, literals: Array, costs: Array, weighted: Array, pairs: Array, totals: Array
) -> float:
    """Fill totals (p, 2, p, 2, K) from the costs ``table`` (n, K), with the arrays of policies/trees/kernels.py.

    Returns a bound on the absolute value of all partial sums; where it is over ``largest``, nothing is filled.
    """
    everywhere, bound = differences(table, costs[0])
    if bound > largest:
        return bound
    p = len(totals)
    add_up(literals, costs[0], literals.shape[0] * literals.shape[2], weighted, pairs[0], 0, p + 1, p)
    for f in range(p):
        for g in range(f, p):
            for i, j in ((f, g), (g, f)):
                totals[i, 0, j, 0, 0] = totals[i, 0, j, 1, 0] = totals[i, 1, j, 0, 0] = 0.0
                totals[i, 1, j, 1, 0] = everywhere
            for a in range(len(pairs[0])):
                both, every = pairs[0, a, f, g], pairs[0, a, p, p]
                only_f, only_g = pairs[0, a, f, p] - both, pairs[0, a, g, p] - both
                neither = every - both - only_f - only_g
                totals[f, 0, g, 0, a + 1] = totals[g, 0, f, 0, a + 1] = neither
                totals[f, 1, g, 0, a + 1] = totals[g, 0, f, 1, a + 1] = only_f
                totals[f, 0, g, 1, a + 1] = totals[g, 1, f, 0, a + 1] = only_g
                totals[f, 1, g, 1, a + 1] = totals[g, 1, f, 1, a + 1] = everywhere + both
    return bound


@compiled()
def _three_tests(
    largest: float, table: Array, literals: Array, costs: Array, weighted: Array, pairs: Array, totals: Array
) -> float:
    """Fill totals (p, 2, p, 2, p, 2, K); arrays and answer are those of ``_two_tests``.

    For the contexts where one test holds, pairs of the tests that do not come before it are added up; each total of
    three tests serves in all their orders.
    """
    everywhere, bound = differences(table, costs[0])
    if bound > largest:
        return bound
    p, n_actions, n = len(totals), len(pairs[0]), literals.shape[0] * literals.shape[2]
    add_up(literals, costs[0], n, weighted, pairs[0], 0, p + 1, p)
    threes = np.empty((p, p, p, n_actions), pairs.dtype)  # where f <= g <= h
    for f in range(p):
        restrict(literals, f, n, costs)
        add_up(literals, costs[1], n, weighted, pairs[1], f, p, p)
        for g in range(f, p):
            for h in range(g, p):
                for a in range(n_actions):
                    threes[f, g, h, a] = pairs[1, a, g, h]
    for f in range(p):
        for g in range(p):
            for h in range(p):
                low, high = min(f, g, h), max(f, g, h)
                _eight_sides(
                    everywhere,
                    pairs[0, :, :, p],
                    pairs[0, :, min(f, g), max(f, g)],
                    pairs[0, :, min(f, h), max(f, h)],
                    pairs[0, :, min(g, h), max(g, h)],
                    threes[low, f + g + h - low - high, high],
                    f,
                    g,
                    h,
                    totals[f, :, g, :, h],
                )
    return bound


@compiled()
def _eight_sides(
    everywhere: float,
    one: Array,
    first: Array,
    outer: Array,
    last: Array,
    every: Array,
    f: int,
    g: int,
    h: int,
    totals: Array,
) -> None:
    """Fill totals (2, 2, 2, K) of tests f, g and h.

    In: the totals where one test holds (K - 1, p + 2), all contexts at p; f and g; f and h; g and h; all three.
    """
    totals[:, :, :, 0] = 0.0
    totals[1, 1, 1, 0] = everywhere
    for a in range(len(every)):
        f_alone = one[a, f] - first[a] - (outer[a] - every[a])
        g_alone = one[a, g] - first[a] - (last[a] - every[a])
        h_alone = one[a, h] - outer[a] - (last[a] - every[a])
        totals[1, 1, 1, a + 1] = everywhere + every[a]
        totals[1, 1, 0, a + 1] = first[a] - every[a]
        totals[1, 0, 1, a + 1] = outer[a] - every[a]
        totals[0, 1, 1, a + 1] = last[a] - every[a]
        totals[1, 0, 0, a + 1] = f_alone
        totals[0, 1, 0, a + 1] = g_alone
        totals[0, 0, 1, a + 1] = h_alone
        totals[0, 0, 0, a + 1] = one[a, one.shape[1] - 2] - one[a, f] - (last[a] - every[a]) - g_alone - h_alone
