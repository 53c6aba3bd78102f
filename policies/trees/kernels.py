"""Compiled search over trees of depth 1 to 3 by pairs of literals; policies/trees/pairs.py has the words used here.

All p literals are one group, and literal p is a constant that always holds. Arrays, all float32 or all float64, are
allocated once and passed around. A first axis of 2 is 0 for the whole tree and 1 for the subtrees of depth 2 below its
root:

literals : (blocks, P, B) 0/1, literal f on the contexts of a block that fits the cache; P >= p + 4, what is over is 0
costs : (2, blocks, A + C, B), the planes on all contexts, and on those where a test at the root holds (0 elsewhere)
pairs : (3, A + C, p + 2, P), pairs[., a, f, g] is the total of a plane where literals f and g hold, for g >= f; the
    third is for the contexts where the test at the root fails
own : (2, 2, p + 1, A + C), for both sides of a root, near, far, best : (2, ...), see policies/trees/pairs.py
weighted : (2, A + C, B), room for what is computed on the way

Which leaves have too few rows is read from counts (C, g) of the contexts, whose totals are further planes. ``sets`` (n,
p): the tests of one tree are all in one of these n sets; None: any tests.
"""

from __future__ import annotations

import numpy as np

from milpcb.core.kernels import compiled
from policies.semirings import NO_NAN, Array, Soft
from policies.trees.pairs import Least, add_root, choose, fill_sides, keep_side, one_leaf, one_test, two_tests
from policies.trees.passes import add_up, restrict

Sets = Array | None


@compiled(NO_NAN)
def search(
    soft: Soft,
    depth: int,
    largest: float,
    table: Array,
    pattern: Array,
    least: Least,
    counts: Array | None,
    sets: Sets,
    literals: Array,
    costs: Array,
    weighted: Array,
    pairs: Array,
    own: Array,
    near: Array,
    far: Array,
    best: Array,
) -> tuple[float, float]:
    """Search all trees of depth 1 or 2. In: costs ``table`` (g, K), ``pattern`` (p,) and ``literals``.

    Fills best[0], and near[0] and far[0] where there is one set of tests; the other arrays are working space. Where
    ``depth`` is 3, fills what ``three_tests`` begins with, which nobody compiles who does not ask for it. Returns what
    action 0 costs on all contexts, and a bound on the absolute value of all partial sums, infinite when some difference
    is not whole. Where that bound is over ``largest``, nothing is filled.
    """
    everywhere, bound = differences(table, costs[0])
    p, n, two = len(pattern), literals.shape[0] * literals.shape[2], 0 if least is None else 1
    n_planes = table.shape[1] - 1
    if counts is not None and len(counts):
        n_planes = len(pairs[0])
        bound = max(bound, _add_planes(counts, costs[0]))
    if bound > largest:
        return everywhere, bound
    if depth == 1:
        add_up(literals, costs[0], n, weighted, pairs[0, :n_planes], p, p + 1, 0)
    else:
        add_up(literals, costs[0], n, weighted, pairs[0, :n_planes], 0, p + 1, p)
    _fill_group(depth, pattern, pairs[0], own[0])
    one_leaf(own[0, 0, p], least, best[0])
    if depth > 2:
        return everywhere, bound
    for k in range(1 if sets is None else len(sets)):
        tests = None if sets is None else sets[k]
        if depth == 1:
            one_test(soft, pattern, least, tests, own[0], 0, near[0, 0], far[0, 0])
        else:
            near[0, two], far[0, two] = np.inf, np.inf
            two_tests(soft, pattern, least, tests, pairs[0], own[0], own[0], 0, 0, near[0], far[0])
        choose(soft, least, depth, tests, near[0], far[0], best[0])
    return everywhere, bound


@compiled(NO_NAN)
def differences(table: Array, costs: Array) -> tuple[float, float]:
    """Fill costs (blocks, A, B) with differences of table (g, K); return the two numbers that ``search`` returns."""
    block = costs.shape[2]
    everywhere = bound = 0.0
    for j in range(len(table)):
        everywhere += table[j, 0]
        widest = 0.0
        for a in range(table.shape[1] - 1):
            difference = table[j, a + 1] - table[j, 0]
            costs[j // block, a, j % block] = difference
            widest = max(widest, abs(difference) if difference == np.floor(difference) else np.inf)
        bound += widest
    return everywhere, bound


@compiled()
def _add_planes(counts: Array, costs: Array) -> float:
    """Fill the last planes of costs (blocks, A + C, B) with ``counts`` (C, g); return the most that one adds up to."""
    block, first, most = costs.shape[2], costs.shape[1] - len(counts), 0.0
    for c in range(len(counts)):
        total = 0.0
        for j in range(counts.shape[1]):
            costs[j // block, first + c, j % block] = counts[c, j]
            total += counts[c, j]
        most = max(most, total)
    return most


@compiled()
def _fill_group(depth: int, pattern: Array, pairs: Array, own: Array) -> None:
    """Fill ``own`` of the group of all literals from ``pairs`` (A + C, p + 2, P)."""
    p = len(pattern)
    for a in range(own.shape[2]):
        for f in range(p + 1):
            own[0, f, a] = pairs[a, p, f] if depth == 1 else pairs[a, f, p]
    fill_sides(pattern, 0, own)


@compiled(NO_NAN)
def three_tests(
    soft: Soft,
    pattern: Array,
    least: Least,
    sets: Sets,
    literals: Array,
    costs: Array,
    weighted: Array,
    pairs: Array,
    own: Array,
    near: Array,
    far: Array,
    best: Array,
) -> None:
    """Fill near[0] (leaves, p, K) and far[0] (leaves, p) for two levels of tests below the root.

    Adds what they come to, to best[0] (leaves, K), after ``search``. For each root f, trees of depth 2 are searched on
    the contexts where f holds, and on those where it fails; the totals of the latter are those of all contexts less
    those of the former.
    """
    p, n, two = len(pattern), literals.shape[0] * literals.shape[2], 0 if least is None else 1
    for f in range(p):
        restrict(literals, f, n, costs)
        add_up(literals, costs[1], n, weighted, pairs[1], 0, p + 1, p)
        whole, held, failed = pairs[0].ravel(), pairs[1].ravel(), pairs[2].ravel()
        for i in range(len(whole)):
            failed[i] = whole[i] - held[i]
        for side in range(2):
            _fill_group(2, pattern, pairs[2 - side], own[side])
        for k in range(1 if sets is None else len(sets)):
            tests = None if sets is None else sets[k]
            if tests is not None and not tests[f]:
                continue
            for side in range(2):
                group = own[side]
                one_leaf(group[0, p], least, best[1])
                near[1, two], far[1, two] = np.inf, np.inf
                two_tests(soft, pattern, least, tests, pairs[2 - side], group, group, 0, 0, near[1], far[1])
                choose(soft, least, 2, tests, near[1], far[1], best[1])
                keep_side(soft, side == pattern[f], f, best[1], near[0], far[0])
            add_root(soft, least, 3, f, near[0], far[0], best[0])
