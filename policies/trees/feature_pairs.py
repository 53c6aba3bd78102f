"""Compiled search over trees of depth 1 and 2 by pairs of features; policies/trees/pairs.py has the words used here.

It answers as that of policies/trees/kernels.py, from smaller tables: the cuts of one feature are nested, so a context
is known by one *code* a feature, the number of the feature's cuts below its value. One pass over the contexts adds up
their costs by the pair of codes of two features; sums along both axes then give the totals for all pairs of cuts. For d
features with B cuts each that is d^2 / 2 (g A + B^2 K) steps, where the pairs of literals need (d B)^2 / 2 g A;
policies/trees/routes.py chooses by these counts.

The literals of a feature are a group. Arrays: ``codes`` (d + 1, g), where the last feature has no cuts, so that its
pairs are single tests; ``first`` (d + 2,), the number of each feature's first literal; ``planes`` (A + C, g);
``table`` (A + C, B + 1, B' + 1), the totals of a pair of features, where the first has a code of at most k and the
second of at most k', so that the last of each axis is without a test on that feature. ``sets`` is as there.
"""

from __future__ import annotations

import numpy as np

from milpcb.core.kernels import compiled
from policies.semirings import NO_NAN, Array, Soft
from policies.trees.kernels import Sets
from policies.trees.pairs import Least, Tests, choose, fill_sides, one_leaf, one_test, two_tests


@compiled(NO_NAN)
def one_or_two_tests(
    soft: Soft,
    depth: int,
    least: Least,
    sets: Sets,
    planes: Array,
    pattern: Array,
    codes: Array,
    first: Array,
    near: Array,
    far: Array,
    best: Array,
) -> None:
    """Search all trees of depth 1 or 2; fills best, and near and far where there is one set of tests."""
    last = len(codes) - 1
    one_leaf(plane_totals(planes), least, best)
    for n in range(1 if sets is None else len(sets)):
        tests = None if sets is None else sets[n]
        near[:], far[:] = np.inf, np.inf
        for f in range(last):
            for g in range(f, last) if depth == 2 else range(last, last + 1):
                if both_tested(tests, f, g, first):
                    table = np.zeros((len(planes), first[f + 1] - first[f] + 1, first[g + 1] - first[g] + 1))
                    add_codes(codes[f], codes[g], planes, 0, codes.shape[1], table)
                    accumulate(table)
                    add_features(soft, depth, pattern, least, tests, table, first[f], first[g], near, far)
        choose(soft, least, depth, tests, near, far, best)


@compiled()
def plane_totals(planes: Array) -> Array:
    """Return (A + C,): the totals of all contexts."""
    totals = np.empty(len(planes))
    for a in range(len(planes)):
        totals[a] = planes[a].sum()
    return totals


@compiled()
def both_tested(tests: Tests, f: int, g: int, first: Array) -> bool:
    """Return whether the ``tests`` of trees are on both of two features; the one without cuts is on all trees."""
    if tests is None:
        return True
    return bool(tests[first[f]] and (first[g] == len(tests) or tests[first[g]]))


@compiled()
def add_codes(codes: Array, others: Array, planes: Array, start: int, stop: int, table: Array) -> None:
    """Add the numbers of the contexts from ``start`` to ``stop`` to the entries of their two codes."""
    for a in range(len(planes)):
        plane, sums = planes[a], table[a]
        for j in range(start, stop):
            sums[codes[j], others[j]] += plane[j]


@compiled()
def accumulate(table: Array) -> None:
    """Replace the entries of a table by their sums up to each pair of codes."""
    for a in range(table.shape[0]):
        for k in range(table.shape[1]):
            row = 0.0
            for other in range(table.shape[2]):
                row += table[a, k, other]
                table[a, k, other] = row + (table[a, k - 1, other] if k else 0.0)


@compiled(NO_NAN)
def add_features(
    soft: Soft,
    depth: int,
    pattern: Array,
    least: Least,
    tests: Tests,
    table: Array,
    first: int,
    other_first: int,
    near: Array,
    far: Array,
) -> None:
    """Add to near and far the trees with tests of two features, from their table."""
    n_planes, last, other_last = table.shape[0], table.shape[1] - 1, table.shape[2] - 1
    own, others = np.empty((2, last + 1, n_planes)), np.empty((2, other_last + 1, n_planes))
    for a in range(n_planes):
        for k in range(last + 1):
            own[0, k, a] = table[a, k, other_last]
        for k in range(other_last + 1):
            others[0, k, a] = table[a, last, k]
    fill_sides(pattern, first, own)
    fill_sides(pattern, other_first, others)
    if depth == 1:
        one_test(soft, pattern, least, tests, own, first, near[0], far[0])
    else:
        two_tests(soft, pattern, least, tests, table, own, others, first, other_first, near, far)
