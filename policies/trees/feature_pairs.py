"""Compiled kernels of the exact search over trees by pairs of features, of depth 1 and 2.

They answer as those of policies/trees/kernels.py, which has the names used here, from a smaller table: the cuts of one
feature are nested, so a context is known by one *code* a feature, the number of the feature's cuts below its value. One
pass over the contexts adds up their costs by the pair of codes of two features; sums along both axes then give the
totals for all pairs of cuts. For d features with B cuts each that is d^2 / 2 (g A + B^2 K) steps, where the pairs of
literals need (d B)^2 / 2 g A; policies/trees/routes.py chooses by these counts.

Arrays: ``codes`` (d + 1, g), where the last feature has no cuts, so that its pairs are single tests; ``first``
(d + 2,), the number of each feature's first literal, counted from 1; ``costs`` (A, g), differences to action 0;
``table`` (A, B + 1, B' + 1), the totals of a pair of features, where the first has a code of at most k and the second
of at most k', so that the last of each axis is without a test on that feature; ``near`` (leaves, p + 1, K), ``far``
(leaves, p + 1) and ``best`` (leaves, K), those of the whole tree. ``sets`` is as there, ``small`` is explained in
policies/trees/small_leaves.py.
"""

from __future__ import annotations

import numpy as np

from milpcb.core.kernels import compiled
from policies.trees.kernels import Sets, _add_test, _choose, _one_leaf
from policies.trees.semirings import NO_NAN, Array, Soft, add
from policies.trees.small_leaves import Small, accumulate, add_up, too_small


@compiled(NO_NAN)
def one_or_two_tests(
    soft: Soft,
    depth: int,
    small: Small,
    sets: Sets,
    costs: Array,
    pattern: Array,
    codes: Array,
    first: Array,
    near: Array,
    far: Array,
    best: Array,
) -> None:
    """Search all trees of depth 1 or 2; fills best, and near and far where there is one set of tests."""
    last = len(codes) - 1
    best[:] = np.inf
    if small is not None:
        _one_leaf(np.array([cost.sum() for cost in costs]), small[0, -1, 1, 1] > 0, best)
    for n in range(1 if sets is None else len(sets)):
        tests = None if sets is None else sets[n]
        near[:], far[:] = np.inf, np.inf
        for f in range(last):
            if tests is not None and not tests[first[f]]:
                continue
            for g in range(f, last) if depth == 2 else range(last, last + 1):
                if tests is not None and depth == 2 and not tests[first[g]]:
                    continue
                table = np.zeros((len(costs), first[f + 1] - first[f] + 1, first[g + 1] - first[g] + 1))
                add_up(codes[f], codes[g], costs, 0, codes.shape[1], table)
                accumulate(table)
                leaves = None if small is None else small[first[f] : first[f + 1], g if depth == 2 else 0]
                add_pair(soft, pattern, leaves, table, first[f], first[g], near, far)
        _choose(soft, small, depth, tests, near, far, best)


@compiled(NO_NAN)
def add_pair(
    soft: Soft, pattern: Array, small: Small, table: Array, first: int, other_first: int, near: Array, far: Array
) -> None:
    """Add to near and far the trees with a test of each of two features, or with one test if the other has no cuts.

    Where leaves count, the pair of a feature with itself adds its trees of one test too. The literals of the features
    begin at ``first`` and ``other_first``; ``small`` (B, 2, 2) is that of this pair.
    """
    two = 0 if small is None else 1  # the number of leaves less 1, where they count
    if table.shape[2] > 1:
        _two_tests(soft, pattern, small, table, first, other_first, near[two], far[two])
    if table.shape[2] == 1 or (small is not None and first == other_first):
        _one_test(soft, pattern, small, table, first, near[0], far[0])


@compiled(NO_NAN)
def _one_test(soft: Soft, pattern: Array, small: Small, table: Array, first: int, near: Array, far: Array) -> None:
    """Fill near and far for trees of one test with two leaves, on a feature whose literals begin at ``first``."""
    last, other_last = table.shape[1] - 1, table.shape[2] - 1
    for k in range(last):
        f = first + k
        near[f, 0] = far[f] = 0.0
        for a in range(len(table)):
            holds = table[a, k, other_last]
            fails = table[a, last, other_last] - holds
            near[f, a + 1] = holds if pattern[f] else fails
            far[f] = add(soft, far[f], fails if pattern[f] else holds)
        if small is not None:
            side = 1 if pattern[f] else 0
            if too_small(small[k], side, 1, other_last):
                near[f, :] = np.inf
            if too_small(small[k], 1 - side, 1, other_last):
                far[f] = np.inf


@compiled(NO_NAN)
def _two_tests(
    soft: Soft, pattern: Array, small: Small, table: Array, first: int, other_first: int, near: Array, far: Array
) -> None:
    """Add to near and far the trees with a test of one feature at the root and of the other below it, both ways round.

    The names are those of kernels.py.
    """
    last, other_last = table.shape[1] - 1, table.shape[2] - 1
    same = np.empty(len(table))
    for k in range(last):
        f = first + k
        for other in range(k if first == other_first else 0, other_last):
            g = other_first + other
            other_f = other_g = other_both = same_too_small = 0.0
            for a in range(len(table)):
                every, with_f, with_g = table[a, last, other_last], table[a, k, other_last], table[a, last, other]
                holds = table[a, k, other] if pattern[g] else with_f - table[a, k, other]
                if not pattern[g]:
                    with_g = every - with_g
                if not pattern[f]:
                    with_f, holds = every - with_f, with_g - holds
                same[a] = holds
                other_f = add(soft, other_f, with_g - holds)
                other_g = add(soft, other_g, with_f - holds)
                other_both = add(soft, other_both, every - with_f - with_g + holds)
            if small is not None:
                s, t = 1 if pattern[f] else 0, 1 if pattern[g] else 0
                other_f = np.inf if too_small(small[k], 1 - s, t, other) else other_f
                other_g = np.inf if too_small(small[k], s, 1 - t, other) else other_g
                other_both = np.inf if too_small(small[k], 1 - s, 1 - t, other) else other_both
                same_too_small = np.inf if too_small(small[k], s, t, other) else 0.0
            _add_test(soft, near[f], same, other_g + same_too_small)
            far[f] = add(soft, far[f], other_f + other_both)
            if f < g:
                _add_test(soft, near[g], same, other_f + same_too_small)
                far[g] = add(soft, far[g], other_g + other_both)
