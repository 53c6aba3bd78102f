"""Compiled kernels of the exact search over trees by pairs of features, of depth 1 to 3.

They answer as those of policies/trees/kernels.py, which has the names used here, from a smaller table: the cuts of one
feature are nested, so a context is known by one *code* a feature, the number of the feature's cuts below its value. One
pass over the contexts adds up their costs by the pair of codes of two features; sums along both axes then give the
totals for all pairs of cuts. For d features with B cuts each that is d^2 / 2 (g A + B^2 K) steps, where the pairs of
literals need (d B)^2 / 2 g A; policies/trees/search.py chooses by these counts.

Arrays: ``codes`` (d, g); ``first`` (d + 1,), the number of each feature's first literal, counted from 1; ``costs`` (A,
g), differences to action 0; ``table`` (A, B + 1, B' + 1), the totals of a pair of features, where the first has a code
of at most k and the second of at most k', so that the last of each axis is without a test on that feature.
"""

from __future__ import annotations

import numpy as np

from milpcb.kernels import compiled
from policies.trees.kernels import _NO_NAN, Array, Soft, _add, _add_test


@compiled(_NO_NAN)
def one_test(
    soft: Soft, costs: Array, pattern: Array, codes: Array, first: Array, near: Array, far: Array, best: Array
) -> None:
    """Search all trees of depth 1; fills near (p + 1, K), far (p + 1,) and best (K,)."""
    near[:] = far[:] = np.inf
    nothing = np.zeros_like(codes[0])
    for f in range(len(codes)):
        table = np.zeros((len(costs), first[f + 1] - first[f] + 1, 1))
        _add_up(codes[f], nothing, costs, 0, codes.shape[1], table)
        _accumulate(table)
        _one_test(soft, pattern, table, first[f], near, far)
    _choose(soft, near, far, best)


@compiled(_NO_NAN)
def two_tests(
    soft: Soft, costs: Array, pattern: Array, codes: Array, first: Array, near: Array, far: Array, best: Array
) -> None:
    """Search all trees of depth 2, as ``one_test`` those of depth 1."""
    near[:] = far[:] = np.inf
    for f in range(len(codes)):
        for g in range(f, len(codes)):
            table = np.zeros((len(costs), first[f + 1] - first[f] + 1, first[g + 1] - first[g] + 1))
            _add_up(codes[f], codes[g], costs, 0, codes.shape[1], table)
            _accumulate(table)
            _two_tests(soft, pattern, table, first[f], first[g], near, far)
    _choose(soft, near, far, best)


@compiled(_NO_NAN)
def three_tests(
    soft: Soft,
    orders: Array,
    costs: Array,
    pattern: Array,
    codes: Array,
    first: Array,
    near: Array,
    far: Array,
    best: Array,
) -> None:
    """Search all trees of depth 3, as ``one_test`` those of depth 1; ``orders`` (d, g) sort the contexts by code.

    As the cut at the root moves up a feature, the tables of the side where it holds grow by the contexts between two
    cuts, so that all roots of a feature together read each context once.
    """
    most = np.diff(first).max()
    side_near, side_far = np.empty((2, most, *near.shape)), np.empty((2, most, len(far)))
    sorted_codes, sorted_costs = np.empty_like(codes), np.empty_like(costs)
    stops = np.empty(most, dtype=np.int64)
    for r in range(len(codes)):
        for f in range(len(codes)):
            sorted_codes[f] = codes[f][orders[r]]
        for a in range(len(costs)):
            sorted_costs[a] = costs[a][orders[r]]
        roots = first[r + 1] - first[r]
        for j in range(codes.shape[1]):
            stops[sorted_codes[r, j] : roots] = j + 1
        side_near[:, :roots], side_far[:, :roots] = np.inf, np.inf
        for f in range(len(codes)):
            for g in range(f, len(codes)):
                own, other_own = first[f : f + 2], first[g : g + 2]
                pair = sorted_codes[f], sorted_codes[g]
                _two_below(soft, pattern, *pair, sorted_costs, stops[:roots], own, other_own, side_near, side_far)
        for k in range(roots):
            _join_sides(soft, pattern, first[r] + k, side_near[:, k], side_far[:, k], near, far, best)
    _choose(soft, near, far, best)


@compiled(_NO_NAN)
def _join_sides(
    soft: Soft, pattern: Array, root: int, side_near: Array, side_far: Array, near: Array, far: Array, best: Array
) -> None:
    """Fill near[root] and far[root] with the answers of the subtrees on both sides; ``best`` (K,) is working space."""
    for side in range(2):
        _choose(soft, side_near[side], side_far[side], best)
        if side == pattern[root]:
            near[root] = best
        else:
            far[root] = np.inf
            for a in range(len(best)):
                far[root] = _add(soft, far[root], best[a])


@compiled(_NO_NAN)
def _choose(soft: Soft, near: Array, far: Array, best: Array) -> None:
    """Fill best (K,) with the sum (+) over all tests f of near[f] (x) far[f]: the answers of all trees."""
    best[:] = np.inf
    for f in range(1, len(near)):
        for a in range(len(best)):
            best[a] = _add(soft, best[a], near[f, a] + far[f])


@compiled(_NO_NAN)
def _add_up(codes: Array, others: Array, costs: Array, start: int, stop: int, table: Array) -> None:
    """Add the costs of the contexts from ``start`` to ``stop`` to the entries of their two codes."""
    for a in range(len(costs)):
        cost, sums = costs[a], table[a]
        for j in range(start, stop):
            sums[codes[j], others[j]] += cost[j]


@compiled(_NO_NAN)
def _accumulate(table: Array) -> None:
    """Replace the entries of a table by their sums up to each pair of codes."""
    for a in range(table.shape[0]):
        for k in range(table.shape[1]):
            row = 0.0
            for other in range(table.shape[2]):
                row += table[a, k, other]
                table[a, k, other] = row + (table[a, k - 1, other] if k else 0.0)


@compiled(_NO_NAN)
def _one_test(soft: Soft, pattern: Array, table: Array, first: int, near: Array, far: Array) -> None:
    """Fill near and far for trees of one test with two leaves, on a feature whose literals begin at ``first``."""
    last = table.shape[1] - 1
    for k in range(last):
        f = first + k
        near[f, 0] = far[f] = 0.0
        for a in range(len(table)):
            holds, fails = table[a, k, 0], table[a, last, 0] - table[a, k, 0]
            near[f, a + 1] = holds if pattern[f] else fails
            far[f] = _add(soft, far[f], fails if pattern[f] else holds)


@compiled(_NO_NAN)
def _two_tests(soft: Soft, pattern: Array, table: Array, first: int, other_first: int, near: Array, far: Array) -> None:
    """Add to near and far the trees with a test of one feature at the root and of the other below it, both ways round.

    The literals of the features begin at ``first`` and ``other_first``; the names are those of kernels.py.
    """
    last, other_last = table.shape[1] - 1, table.shape[2] - 1
    same = np.empty(len(table))
    for k in range(last):
        f = first + k
        for other in range(k if first == other_first else 0, other_last):
            g = other_first + other
            other_f = other_g = other_both = 0.0
            for a in range(len(table)):
                every, with_f, with_g = table[a, last, other_last], table[a, k, other_last], table[a, last, other]
                holds = table[a, k, other] if pattern[g] else with_f - table[a, k, other]
                if not pattern[g]:
                    with_g = every - with_g
                if not pattern[f]:
                    with_f, holds = every - with_f, with_g - holds
                same[a] = holds
                other_f = _add(soft, other_f, with_g - holds)
                other_g = _add(soft, other_g, with_f - holds)
                other_both = _add(soft, other_both, every - with_f - with_g + holds)
            _add_test(soft, near[f], same, other_g)
            far[f] = _add(soft, far[f], other_f + other_both)
            if f < g:
                _add_test(soft, near[g], same, other_f)
                far[g] = _add(soft, far[g], other_g + other_both)


@compiled(_NO_NAN)
def _two_below(
    soft: Soft,
    pattern: Array,
    codes: Array,
    others: Array,
    costs: Array,
    stops: Array,
    own: Array,
    other_own: Array,
    near: Array,
    far: Array,
) -> None:
    """Add to near and far (2, roots, ...) the trees below each side of each root that test a pair of features.

    Where root k holds are the first ``stops[k]`` contexts; ``own`` and ``other_own`` are the first literals of the two
    features and of those after them.
    """
    shape = (len(costs), own[1] - own[0] + 1, other_own[1] - other_own[0] + 1)
    whole, added, held = np.zeros(shape), np.zeros(shape), np.empty(shape)
    _add_up(codes, others, costs, 0, len(codes), whole)
    _accumulate(whole)
    start = 0
    for k in range(len(stops)):
        _add_up(codes, others, costs, start, stops[k], added)
        start = stops[k]
        held[:] = added
        _accumulate(held)
        _two_tests(soft, pattern, held, own[0], other_own[0], near[1, k], far[1, k])
        held[:] = whole - held
        _two_tests(soft, pattern, held, own[0], other_own[0], near[0, k], far[0, k])
