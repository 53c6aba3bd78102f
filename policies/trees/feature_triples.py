"""Compiled search over trees of depth 3 by pairs of features; feature_pairs.py has the arrays."""

from __future__ import annotations

import numpy as np

from milpcb.core.kernels import compiled, copy
from policies.semirings import NO_NAN, Array, Soft
from policies.trees.feature_pairs import accumulate, add_codes, add_features, both_tested, plane_totals
from policies.trees.kernels import Sets
from policies.trees.pairs import Least, Tests, choose, keep_side, one_leaf


@compiled(NO_NAN)
def three_tests(
    soft: Soft,
    least: Least,
    sets: Sets,
    planes: Array,
    orders: Array,
    pattern: Array,
    codes: Array,
    first: Array,
    near: Array,
    far: Array,
    best: Array,
) -> None:
    """Search all trees of depth 3, as ``one_or_two_tests`` do; ``orders`` (d, g) sort the contexts by code.

    As the cut at the root moves up a feature, the tables of the side where it holds grow by the contexts between two
    cuts, so that all roots of a feature together read each context once.
    """
    totals = plane_totals(planes)
    one_leaf(totals, least, best)
    for n in range(1 if sets is None else len(sets)):
        tests = None if sets is None else sets[n]
        near[:], far[:] = np.inf, np.inf
        for r in range(len(codes) - 1):
            if tests is None or tests[first[r]]:
                _add_roots(soft, least, tests, r, orders[r], planes, totals, pattern, codes, first, near, far)
        choose(soft, least, 3, tests, near, far, best)


@compiled(NO_NAN)
def _add_roots(
    soft: Soft,
    least: Least,
    tests: Tests,
    root: int,
    order: Array,
    planes: Array,
    totals: Array,
    pattern: Array,
    codes: Array,
    first: Array,
    near: Array,
    far: Array,
) -> None:
    """Fill near and far at the cuts of one feature, which sorts the contexts in this ``order``."""
    n_roots, last, n_actions = first[root + 1] - first[root], len(codes) - 1, near.shape[2]
    side_near, side_far = np.full((2, n_roots, *near.shape), np.inf), np.full((2, n_roots, *far.shape), np.inf)
    side_totals, best = np.empty((2, n_roots, len(planes))), np.empty((len(near), n_actions))
    sorted_codes, sorted_planes = _in_order(codes, order), _in_order(planes, order)
    stops = np.empty(n_roots, dtype=np.int64)
    for j in range(len(order)):
        stops[sorted_codes[root, j] :] = j + 1
    _fill_side_totals(stops, totals, sorted_planes, side_totals)
    for f in range(last):
        for g in range(f, last):
            if both_tested(tests, f, g, first):
                _add_below(
                    soft,
                    pattern,
                    least,
                    tests,
                    sorted_codes[f],
                    sorted_codes[g],
                    sorted_planes,
                    stops,
                    first[f : f + 2],
                    first[g : g + 2],
                    side_near,
                    side_far,
                )
    for k in range(n_roots):
        for side in range(2):
            one_leaf(side_totals[side, k], least, best)
            choose(soft, least, 2, tests, side_near[side, k], side_far[side, k], best)
            keep_side(soft, side == pattern[first[root] + k], first[root] + k, best, near, far)


@compiled(NO_NAN)
def _in_order(numbers: Array, order: Array) -> Array:
    """Return the columns of ``numbers`` (n, g) in this order."""
    found = np.empty_like(numbers)
    for i in range(len(numbers)):
        for j in range(len(order)):
            found[i, j] = numbers[i, order[j]]
    return found


@compiled(NO_NAN)
def _fill_side_totals(stops: Array, totals: Array, planes: Array, side_totals: Array) -> None:
    """Fill side_totals (2, roots, planes): where a root fails, and where it holds, the first ``stops[k]`` contexts."""
    for a in range(len(planes)):
        start, held = 0, 0.0
        for k in range(len(stops)):
            for j in range(start, stops[k]):
                held += planes[a, j]
            start = stops[k]
            side_totals[0, k, a], side_totals[1, k, a] = totals[a] - held, held


@compiled(NO_NAN)
def _add_below(
    soft: Soft,
    pattern: Array,
    least: Least,
    tests: Tests,
    codes: Array,
    others: Array,
    planes: Array,
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
    shape = (len(planes), own[1] - own[0] + 1, other_own[1] - other_own[0] + 1)
    whole, added, held = np.zeros(shape), np.zeros(shape), np.empty(shape)
    add_codes(codes, others, planes, 0, len(codes), whole)
    accumulate(whole)
    start = 0
    for k in range(len(stops)):
        add_codes(codes, others, planes, start, stops[k], added)
        start = stops[k]
        copy(added.ravel(), held.ravel())
        accumulate(held)
        for side in (1, 0):
            if side == 0:
                every, part = whole.ravel(), held.ravel()
                for i in range(len(part)):
                    part[i] = every[i] - part[i]
            add_features(soft, 2, pattern, least, tests, held, own[0], other_own[0], near[side, k], far[side, k])
