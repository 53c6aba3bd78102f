"""Compiled: trees of one or two tests from totals of pairs of tests; policies/trees/search.py has the recursion.

In go totals of contexts, and which literals hold at one context x, ``pattern`` (p,). Out come, for each literal f as
the test at the root, the answers for all trees with that root, and the answers for all trees together, in both cases by
the action that the tree plays at x. Where ``soft`` is None, an answer is the least total cost; where it is a float (its
value is not used), -log of the summed exp(-total cost). Alternatives are joined by (+), which is min or -log(e^-a +
e^-b), and the two sides of a test by (x), which is the sum in both cases.

Literals come in groups; policies/trees/kernels.py has one group of all, policies/trees/feature_pairs.py one for each
feature. A table of totals is for two groups of B and B' literals, which begin at the literals ``first`` and
``other_first``. Its *planes* are the A = K - 1 differences costs[., a] - costs[., 0], which stand for the costs, so
that every answer is less by what action 0 costs on all contexts; and, within structure limits
(policies/trees/limited.py), C counts of rows behind them, of which each leaf needs the ``least`` (C,).

table : (A + C, B or more, B' or more), the totals of the contexts where literal k of the first group and literal k' of
    the other hold; for a group with itself, those with k' >= k
own, others : (2, B + 1, A + C) and (2, B' + 1, A + C), in own[0] the totals where each literal holds, and behind them
    those of all contexts; in own[1] those of the contexts on x's side of each, and room for what is computed
near : (leaves, p, K), for each test f the answers of the subtree on x's side of f, by the action at x
far : (leaves, p), for each test f the answer of the subtree on the other side
best : (leaves, K), the answers of all trees by the action at x: the sum (+) over f of near[f] (x) far[f]

Without limits ``least`` is None, which is compiled in: all trees are full, and the axis of leaves has length 1. Within
limits paths may end early, and answers are kept apart by the number of leaves, 1 + the index on that axis. ``tests``
(p,) are those that a tree may have; None: any.
"""

from __future__ import annotations

import numpy as np

from milpcb.core.kernels import compiled, copy
from policies.semirings import NO_NAN, Array, Soft, add, add_sums, cost_of

Least = Array | None
Tests = Array | None


@compiled(NO_NAN)
def one_leaf(every: Array, least: Least, best: Array) -> None:
    """Fill best (leaves, K) with what the tree of one leaf costs, infinity where it is too small, or no tree."""
    best[:] = np.inf
    if least is None:
        return
    n_differences = best.shape[1] - 1
    for c in range(len(least)):
        if every[n_differences + c] < least[c]:
            return
    best[0, 0] = 0.0
    for a in range(n_differences):
        best[0, a + 1] = every[a]


@compiled(NO_NAN)
def fill_sides(pattern: Array, first: int, own: Array) -> None:
    """Fill own[1] from own[0], the totals of a group that begins at the literal ``first``."""
    last = own.shape[1] - 1
    for k in range(last):
        for a in range(own.shape[2]):
            own[1, k, a] = own[0, k, a] if pattern[first + k] else own[0, last, a] - own[0, k, a]


@compiled(NO_NAN)
def one_test(
    soft: Soft, pattern: Array, least: Least, tests: Tests, own: Array, first: int, near: Array, far: Array
) -> None:
    """Fill near (p, K) and far (p,) for trees of one test with two leaves, on a group that begins at ``first``."""
    n_differences, held, last = near.shape[1] - 1, own[0], own.shape[1] - 1
    for k in range(last):
        f = first + k
        if tests is not None and not tests[f]:
            continue
        near[f, 0] = far[f] = 0.0
        for a in range(n_differences):
            holds, fails = held[k, a], held[last, a] - held[k, a]
            near[f, a + 1] = holds if pattern[f] else fails
            far[f] = add(soft, far[f], fails if pattern[f] else holds)
        if least is not None:
            for c in range(len(least)):
                holds, fails = held[k, n_differences + c], held[last, n_differences + c] - held[k, n_differences + c]
                if (holds if pattern[f] else fails) < least[c]:
                    near[f, :] = np.inf
                if (fails if pattern[f] else holds) < least[c]:
                    far[f] = np.inf


@compiled(NO_NAN)
def two_tests(
    soft: Soft,
    pattern: Array,
    least: Least,
    tests: Tests,
    table: Array,
    own: Array,
    others: Array,
    first: int,
    other_first: int,
    near: Array,
    far: Array,
) -> None:
    """Add to near (leaves, p, K) and far (leaves, p) the trees with a test at the root and one on either side of it.

    Each pair of tests f <= g, of the two groups, serves twice: as root f with g below it, and the other way round. It
    cuts the contexts in four: those that agree with ``pattern`` on both tests (``same``), and those that differ from it
    at f only (``other_f``), at g only (``other_g``) or at both (``other_both``). Where leaves count, the pair of a
    group with itself adds its trees of one test too.
    """
    n_differences, zero, infinite = near.shape[2] - 1, near.dtype.type(0.0), near.dtype.type(np.inf)
    two = 0 if least is None else 1  # the number of leaves less 1, where they count
    if least is not None and first == other_first:
        one_test(soft, pattern, least, tests, own, first, near[0], far[0])
    last, other_last = own.shape[1] - 1, others.shape[1] - 1
    near_f, near_g, far_f, far_g = near[two, first:], near[two, other_first:], far[two, first:], far[two, other_first:]
    at_f, at_g = pattern[first:], pattern[other_first:]
    with_f, side_f, side_g, every, same = own[0], own[1], others[1], own[0, last], own[1, last]
    for k in range(last):
        f = first + k
        if tests is not None and not tests[f]:
            continue
        for other in range(k if first == other_first else 0, other_last):
            g = other_first + other
            if tests is not None and not tests[g]:
                continue
            other_f = other_g = other_both = same_too_small = zero
            weight_f = weight_g = weight_both = 1.0
            for a in range(n_differences):
                holds = table[a, k, other] if at_g[other] else with_f[k, a] - table[a, k, other]
                same[a] = holds if at_f[k] else side_g[other, a] - holds
                other_f, weight_f = add_sums(soft, other_f, weight_f, side_g[other, a] - same[a], 1.0)
                other_g, weight_g = add_sums(soft, other_g, weight_g, side_f[k, a] - same[a], 1.0)
                left = every[a] - side_f[k, a] - side_g[other, a] + same[a]
                other_both, weight_both = add_sums(soft, other_both, weight_both, left, 1.0)
            other_f, other_g = cost_of(soft, other_f, weight_f), cost_of(soft, other_g, weight_g)
            other_both = cost_of(soft, other_both, weight_both)
            if least is not None:
                for c in range(len(least)):
                    i = n_differences + c
                    holds = table[i, k, other] if pattern[g] else with_f[k, i] - table[i, k, other]
                    here = holds if pattern[f] else side_g[other, i] - holds
                    below_f, below_g = side_f[k, i] - here, side_g[other, i] - here
                    other_f = infinite if below_g < least[c] else other_f
                    other_g = infinite if below_f < least[c] else other_g
                    other_both = infinite if every[i] - here - below_f - below_g < least[c] else other_both
                    same_too_small = infinite if here < least[c] else same_too_small
            _add_test(soft, near_f[k], same, other_g + same_too_small)
            far_f[k] = add(soft, far_f[k], other_f + other_both)
            if f < g:
                _add_test(soft, near_g[other], same, other_f + same_too_small)
                far_g[other] = add(soft, far_g[other], other_g + other_both)


@compiled(NO_NAN)
def _add_test(soft: Soft, near: Array, same: Array, sibling: float) -> None:
    """Add one alternative to ``near`` (K,): one more test below x's side of the root, with two leaves.

    In: ``same``, what the leaf of x costs with each action but 0 less what it costs with action 0; ``sibling``, the
    answer of the other leaf. Out: near[a] (+) (leaf[a] (x) sibling) for a = 0..K-1, with leaf[0] = 0 and leaf[a] =
    same[a - 1].
    """
    near[0] = add(soft, near[0], sibling)
    for a in range(len(near) - 1):
        near[a + 1] = add(soft, near[a + 1], same[a] + sibling)


@compiled(NO_NAN)
def choose(soft: Soft, least: Least, depth: int, tests: Tests, near: Array, far: Array, best: Array) -> None:
    """Add to best (leaves, K) all trees of this depth with one of the tests at their root."""
    for f in range(near.shape[1]):
        if tests is None or tests[f]:
            add_root(soft, least, depth, f, near, far, best)


@compiled(NO_NAN)
def add_root(soft: Soft, least: Least, depth: int, f: int, near: Array, far: Array, best: Array) -> None:
    """Add to best (leaves, K) near[., f] (x) far[., f], the answers of all trees with the test f at their root."""
    below = 1 if least is None else 2 ** (depth - 1)
    for i in range(below):
        for j in range(below):
            leaves = 0 if least is None else i + j + 1
            for a in range(best.shape[1]):
                best[leaves, a] = add(soft, best[leaves, a], near[i, f, a] + far[j, f])


@compiled(NO_NAN)
def keep_side(soft: Soft, on_side_of_x: bool, f: int, best: Array, near: Array, far: Array) -> None:
    """Fill near[., f] or far[., f] with the answers ``best`` (leaves, K) of the subtrees on one side of a root."""
    for i in range(near.shape[0]):
        if on_side_of_x:
            copy(best[i], near[i, f])
        else:
            far[i, f] = np.inf
            for a in range(best.shape[1]):
                far[i, f] = add(soft, far[i, f], best[i, a])
