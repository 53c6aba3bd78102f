"""Compiled kernels of the exact search over trees of depth 3 by pairs of features; feature_pairs.py has the arrays."""

from __future__ import annotations

import numpy as np

from milpcb.core.kernels import compiled, copy
from policies.trees.feature_pairs import add_pair
from policies.trees.kernels import Sets, Tests, _choose, _one_leaf, _subtract
from policies.trees.semirings import NO_NAN, Array, Soft, add
from policies.trees.small_leaves import accumulate, add_up, fill_pair, too_few


@compiled(NO_NAN)
def three_tests(
    soft: Soft,
    least: Array | None,
    counts: Array,
    sets: Sets,
    orders: Array,
    costs: Array,
    pattern: Array,
    codes: Array,
    first: Array,
    near: Array,
    far: Array,
    best: Array,
) -> None:
    """Search all trees of depth 3, as ``one_or_two_tests`` do; ``orders`` (d, g) sort the contexts by code.

    Every leaf must have the ``least`` (C,) of the ``counts`` (C, g), unless that is None: they are more *planes* of the
    tables, behind those of the costs. As the cut at the root moves up a feature, the tables of the side where it holds
    grow by the contexts between two cuts, so that all roots of a feature together read each context once.
    """
    planes = np.concatenate((costs, counts))
    totals = np.array([plane.sum() for plane in planes])
    _one_leaf(totals[: len(costs)], None if least is None else too_few(least, totals[len(costs) :]), best)
    for n in range(1 if sets is None else len(sets)):
        tests = None if sets is None else sets[n]
        near[:], far[:] = np.inf, np.inf
        for r in range(len(codes) - 1):
            if tests is None or tests[first[r]]:
                _add_roots(soft, least, tests, r, orders[r], planes, totals, pattern, codes, first, near, far)
        _choose(soft, least, 3, tests, near, far, best)


@compiled(NO_NAN)
def _add_roots(
    soft: Soft,
    least: Array | None,
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
            if tests is None or (tests[first[f]] and tests[first[g]]):
                own, other_own = first[f : f + 2], first[g : g + 2]
                pair = sorted_codes[f], sorted_codes[g]
                _add_below(soft, pattern, least, *pair, sorted_planes, stops, own, other_own, side_near, side_far)
    for k in range(n_roots):
        for side in range(2):
            here = side_totals[side, k]
            small = None if least is None else too_few(least, here[n_actions - 1 :])
            _one_leaf(here[: n_actions - 1], small, best)
            _choose(soft, least, 2, tests, side_near[side, k], side_far[side, k], best)
            _keep_side(soft, side == pattern[first[root] + k], first[root] + k, best, near, far)


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
def _keep_side(soft: Soft, on_side_of_x: bool, root: int, best: Array, near: Array, far: Array) -> None:
    """Fill near[., root] or far[., root] with the answers ``best`` (leaves, K) of the subtrees on one side."""
    for i in range(len(best)):
        if on_side_of_x:
            copy(best[i], near[i, root])
        else:
            far[i, root] = np.inf
            for a in range(best.shape[1]):
                far[i, root] = add(soft, far[i, root], best[i, a])


@compiled(NO_NAN)
def _add_below(
    soft: Soft,
    pattern: Array,
    least: Array | None,
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
    n_differences = near.shape[-1] - 1
    shape = (len(planes), own[1] - own[0] + 1, other_own[1] - other_own[0] + 1)
    whole, added, held = np.zeros(shape), np.zeros(shape), np.empty(shape)
    small = None if least is None else np.empty((own[1] - own[0], 2, 2), dtype=np.int32)
    add_up(codes, others, planes, 0, len(codes), whole)
    accumulate(whole)
    start = 0
    for k in range(len(stops)):
        add_up(codes, others, planes, start, stops[k], added)
        start = stops[k]
        copy(added.ravel(), held.ravel())
        accumulate(held)
        for side in (1, 0):
            if side == 0:
                _subtract(whole.ravel(), held.ravel(), held.ravel())
            if least is not None and small is not None:
                fill_pair(least, held[n_differences:], small)
            add_pair(soft, pattern, small, held[:n_differences], own[0], other_own[0], near[side, k], far[side, k])
