"""Compiled kernels of the exact search over trees, of depth 1 to 3; policies/trees/search.py states the recursion.

In go the costs (g, K) of the distinct contexts, the tests (*literals*) that hold at each, and ``pattern``, the literals
that hold at one context x. Out come, for each literal f as the test at the root, the answers for all trees with that
root, and the answers for all trees together, in both cases by the action that the tree plays at x. Where ``soft`` is
None, an answer is the least total cost; where it is a float (its value is not used), -log of the summed exp(-total
cost). Alternatives are joined by (+), which is min or -log(e^-a + e^-b), and the two sides of a test by (x), which is
the sum in both cases.

Literal 0 is a constant that always holds, the p literals of the class are 1..p. The A = K - 1 *differences*
costs[., a] - costs[., 0] stand for the costs, so every answer is less by what action 0 costs on all contexts; the
caller adds that at the end.

Under structure limits (policies/trees/limited.py) ``small`` and ``sets`` are arrays. Paths may then end before full
depth, and answers are kept apart by the number of leaves, 1 + the index on the axis of *leaves*. Without limits the
two are None, which is compiled in, all trees are full, and that axis has length 1.

small : bool with the axes f_1, s_1, f_2, s_2, f_3, s_3 of lengths p + 1, 2: the leaf where the literals f_i
    come out s_i holds too few contexts. A tree of less depth has the last axes, behind others of length 1
sets : bool (n, p + 1), the tests of one tree are all in one of these n sets

Arrays, all float32 or all float64, allocated once and passed around. A first axis of 2 is 0 for the whole tree and 1
for the subtrees of depth 2 below its root:

literals : (blocks, P, B) 0/1, literal f on the contexts of a block that fits the cache; P >= p + 4, what is over is 0
costs : (2, blocks, A, B), the differences on all contexts, and on those where a test at the root holds (0 elsewhere)
pairs : (3, A, p + 2, P), pairs[., a, f, g] is the total of those differences where literals f and g hold, for g >= f;
    the third is for the contexts where the test at the root fails
near : (2, leaves, p + 1, K), for each test f the answers of the subtree on x's side of f, by the action at x
far : (2, leaves, p + 1), for each test f the answer of the subtree on the other side
best : (2, leaves, K), the answers of all trees by the action at x: the sum (+) over f of near[f] (x) far[f]
weighted, marginals : (2, A, B) and (p + 1, A), room for what is computed on the way
"""

from __future__ import annotations

import numpy as np

from milpcb.core.kernels import compiled, copy
from policies.trees.passes import add_up, restrict
from policies.trees.semirings import NO_NAN, Array, Soft, add

Small = Array | None
Sets = Array | None
Tests = Array | None


@compiled(NO_NAN)
def search(
    soft: Soft,
    depth: int,
    largest: float,
    table: Array,
    pattern: Array,
    small: Small,
    sets: Sets,
    literals: Array,
    costs: Array,
    weighted: Array,
    pairs: Array,
    marginals: Array,
    near: Array,
    far: Array,
    best: Array,
) -> tuple[float, float]:
    """Search all trees of depth 1 or 2. In: costs ``table`` (g, K), ``pattern`` (p + 1,) and ``literals``.

    Fills best[0], and near[0] and far[0] where there is one set of tests; the other arrays are working space. Where
    ``depth`` is 3, fills what ``three_tests`` begins with, which nobody compiles who does not ask for it. Returns what
    action 0 costs on all contexts, and a bound on the absolute value of all partial sums of differences, infinite
    when some difference is not whole. Where that bound is over ``largest``, nothing is filled.
    """
    everywhere, bound = differences(table, costs[0])
    if bound > largest:
        return everywhere, bound
    p, n = len(pattern), literals.shape[0] * literals.shape[2]
    add_up(literals, costs[0], n, weighted, pairs[0], 0, p if depth > 1 else 1, p)
    _one_leaf(pairs[0, :, 0, 0], None if small is None else small[0, -1, 0, -1, 0, 1], best[0])
    if depth > 2:
        return everywhere, bound
    for k in range(1 if sets is None else len(sets)):
        tests = None if sets is None else sets[k]
        if depth == 1:
            leaves = None if small is None else small[0, 0, 0, 0]
            one_test(soft, pattern, leaves, tests, pairs[0], near[0, 0], far[0, 0])
        else:
            below = None if small is None else small[0, 0]
            _two_tests(soft, pattern, below, tests, pairs[0], marginals, near[0], far[0])
        _choose(soft, small, depth, tests, near[0], far[0], best[0])
    return everywhere, bound


@compiled(NO_NAN)
def differences(table: Array, costs: Array) -> tuple[float, float]:
    """Fill costs (blocks, A, B) with differences of table (g, K); return the two numbers that ``search`` returns."""
    block = costs.shape[2]
    everywhere = bound = 0.0
    for j in range(len(table)):
        everywhere += table[j, 0]
        widest = 0.0
        for a in range(costs.shape[1]):
            difference = table[j, a + 1] - table[j, 0]
            costs[j // block, a, j % block] = difference
            widest = max(widest, abs(difference) if difference == np.floor(difference) else np.inf)
        bound += widest
    return everywhere, bound


@compiled(NO_NAN)
def _one_leaf(totals: Array, small: bool | None, best: Array) -> None:
    """Fill best (leaves, K) with what the tree of one leaf costs, infinity where it is too ``small``, or no tree."""
    best[:] = np.inf
    if small is not None and not small:
        best[0, 0] = 0.0
        for a in range(len(totals)):
            best[0, a + 1] = totals[a]


@compiled(NO_NAN)
def one_test(soft: Soft, pattern: Array, small: Small, tests: Tests, pairs: Array, near: Array, far: Array) -> None:
    """Fill near (p + 1, K) and far (p + 1,) for trees of one test with two leaves, from pairs[., 0, f]."""
    for f in range(1, len(pattern)):
        if tests is not None and not tests[f]:
            continue
        near[f, 0] = far[f] = 0.0
        for a in range(len(pairs)):
            holds, fails = pairs[a, 0, f], pairs[a, 0, 0] - pairs[a, 0, f]
            near[f, a + 1] = holds if pattern[f] else fails
            far[f] = add(soft, far[f], fails if pattern[f] else holds)
        if small is not None:
            side = 1 if pattern[f] else 0
            if small[f, side]:
                near[f, :] = np.inf
            if small[f, 1 - side]:
                far[f] = np.inf


@compiled(NO_NAN)
def _two_tests(
    soft: Soft, pattern: Array, small: Small, tests: Tests, pairs: Array, marginals: Array, near: Array, far: Array
) -> None:
    """Fill near (leaves, p + 1, K) and far (leaves, p + 1) for a test at the root and at most one on each side of it.

    Each pair of tests f <= g serves twice: as root f with g below it, and the other way round. It cuts the contexts in
    four: those that agree with ``pattern`` on both tests (``same``), and those that differ from it at f only
    (``other_f``), at g only (``other_g``) or at both (``other_both``). ``marginals[f]`` are the totals of the contexts
    on x's side of f. Where a side may be one leaf, that is what ``one_test`` finds.
    """
    n_actions, same = len(pairs), marginals[0]  # row 0 is free: the constant is no test
    two = 0 if small is None else 1  # the number of leaves less 1, where they count
    near_two, far_two = near[two], far[two]
    zero, infinite = near.dtype.type(0.0), near.dtype.type(np.inf)
    if small is not None:
        one_test(soft, pattern, small[0, 1], tests, pairs, near[0], far[0])
    near_two[:] = far_two[:] = np.inf
    _fill_marginals(pattern, pairs, marginals)
    for f in range(1, len(pattern)):
        if tests is not None and not tests[f]:
            continue
        for g in range(f, len(pattern)):
            if tests is not None and not tests[g]:
                continue
            other_f = other_g = other_both = same_too_small = zero
            for a in range(n_actions):
                holds = pairs[a, f, g] if pattern[g] else pairs[a, 0, f] - pairs[a, f, g]
                same[a] = holds if pattern[f] else marginals[g, a] - holds
                other_f = add(soft, other_f, marginals[g, a] - same[a])
                other_g = add(soft, other_g, marginals[f, a] - same[a])
                other_both = add(soft, other_both, pairs[a, 0, 0] - marginals[f, a] - marginals[g, a] + same[a])
            if small is not None:
                s, t = 1 if pattern[f] else 0, 1 if pattern[g] else 0
                other_f = infinite if small[f, 1 - s, g, t] else other_f
                other_g = infinite if small[f, s, g, 1 - t] else other_g
                other_both = infinite if small[f, 1 - s, g, 1 - t] else other_both
                same_too_small = infinite if small[f, s, g, t] else zero
            _add_test(soft, near_two[f], same, other_g + same_too_small)
            far_two[f] = add(soft, far_two[f], other_f + other_both)
            if f < g:
                _add_test(soft, near_two[g], same, other_f + same_too_small)
                far_two[g] = add(soft, far_two[g], other_g + other_both)


@compiled(NO_NAN)
def _fill_marginals(pattern: Array, pairs: Array, marginals: Array) -> None:
    """Fill ``marginals`` (p + 1, A) with the totals of the contexts on x's side of each test."""
    for f in range(1, len(pattern)):
        for a in range(len(pairs)):
            marginals[f, a] = pairs[a, 0, f] if pattern[f] else pairs[a, 0, 0] - pairs[a, 0, f]


@compiled(NO_NAN)
def _add_test(soft: Soft, near: Array, same: Array, sibling: float) -> None:
    """Add one alternative to ``near`` (K,): one more test below x's side of the root, with two leaves.

    In: ``same`` (K - 1,), what the leaf of x costs with each action less what it costs with action 0; ``sibling``, the
    answer of the other leaf. Out: near[a] (+) (leaf[a] (x) sibling) for a = 0..K-1, with leaf[0] = 0 and leaf[a] =
    same[a - 1].
    """
    near[0] = add(soft, near[0], sibling)
    for a in range(len(same)):
        near[a + 1] = add(soft, near[a + 1], same[a] + sibling)


@compiled(NO_NAN)
def three_tests(
    soft: Soft,
    pattern: Array,
    small: Small,
    sets: Sets,
    literals: Array,
    costs: Array,
    weighted: Array,
    pairs: Array,
    marginals: Array,
    near: Array,
    far: Array,
    best: Array,
) -> None:
    """Fill near[0] (leaves, p + 1, K) and far[0] (leaves, p + 1) for two levels of tests below the root.

    Adds what they come to, to best[0] (leaves, K), after ``search``. For each root f, ``_two_tests`` answers for the
    contexts where f holds, and for those where it fails; the totals of the latter are those of all contexts less those
    of the former.
    """
    p, n = len(pattern), literals.shape[0] * literals.shape[2]
    for f in range(1, p):
        restrict(literals, f, n, costs)
        add_up(literals, costs[1], n, weighted, pairs[1], 0, p, p)
        _subtract(pairs[0].ravel(), pairs[1].ravel(), pairs[2].ravel())
        for k in range(1 if sets is None else len(sets)):
            tests = None if sets is None else sets[k]
            if tests is not None and not tests[f]:
                continue
            for side in range(2):
                below, totals = None if small is None else small[f, side], pairs[2 - side]
                _one_leaf(totals[:, 0, 0], None if small is None else small[f, side, 0, 1, 0, 1], best[1])
                _two_tests(soft, pattern, below, tests, totals, marginals, near[1], far[1])
                _choose(soft, small, 2, tests, near[1], far[1], best[1])
                for i in range(near.shape[1]):
                    if side == pattern[f]:
                        copy(best[1, i], near[0, i, f])
                    else:
                        far[0, i, f] = np.inf
                        for a in range(best.shape[2]):
                            far[0, i, f] = add(soft, far[0, i, f], best[1, i, a])
            _add_root(soft, small, 3, f, near[0], far[0], best[0])


@compiled(NO_NAN)
def _choose(soft: Soft, small: Small, depth: int, tests: Tests, near: Array, far: Array, best: Array) -> None:
    """Add to best (leaves, K) all trees of this depth with one of the tests at their root."""
    for f in range(1, near.shape[1]):
        if tests is not None and not tests[f]:
            continue
        _add_root(soft, small, depth, f, near, far, best)


@compiled(NO_NAN)
def _add_root(soft: Soft, small: Small, depth: int, f: int, near: Array, far: Array, best: Array) -> None:
    """Add to best (leaves, K) near[., f] (x) far[., f], the answers of all trees with the test f at their root."""
    below = 1 if small is None else 2 ** (depth - 1)
    for i in range(below):
        for j in range(below):
            leaves = 0 if small is None else i + j + 1
            for a in range(best.shape[1]):
                best[leaves, a] = add(soft, best[leaves, a], near[i, f, a] + far[j, f])


@compiled(NO_NAN)
def _subtract(whole: Array, part: Array, rest: Array) -> None:
    """Fill ``rest`` (n,) with ``whole - part``: from totals where a test holds to totals where it fails."""
    for i in range(len(whole)):
        rest[i] = whole[i] - part[i]
