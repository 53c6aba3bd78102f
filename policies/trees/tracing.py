"""Compiled: a best tree from the answers that the recursion has left, without a search or a pass over contexts.

The tests of a tree of depth D are tests (2^(D + 1) - 1,): those below node n are at 2 n + 1, where its test fails, and
at 2 n + 2, where it holds; a leaf has the test -1. The lowest test, then the fewest leaves where it holds, win a tie;
where leaves count a leaf wins over tests.
"""

from __future__ import annotations

import numpy as np

from milpcb.core.kernels import compiled
from policies.semirings import Array
from policies.trees.leaves import BIG, TreeQuestion


@compiled()
def trace(
    totals: Array,
    asked: TreeQuestion,
    closed: Array,
    flipped: Array,
    start: Array,
    where: Array,
    T: Array,
    n: int,
    tests: Array,
) -> None:
    """Fill ``tests`` of a best tree with at most ``n`` leaves.

    In: what ``recurse`` has left, asked with ``every`` and without a context.
    """
    depth, p, least, shift = len(asked.empty), len(flipped), asked.least, asked.shift
    chosen, most, ways = (
        np.zeros(depth + 1, np.int64),
        np.zeros(len(tests), np.int64),
        np.empty((2, where[1, depth], p)),
    )
    most[0] = n
    for node in range(len(tests)):
        level, k, o = descend(node, tests, flipped, chosen)
        h = depth - level
        if k < 0 or h == 0 or (shift and most[node] == 1):
            continue
        best = leaf(k, chosen, o, totals, start, least) if shift else BIG
        fill_ways(h, k, chosen, o, totals, asked, start, where, T, ways)
        for g in range(p):
            up = 0 if flipped[g] else 1
            for i in range(0 if closed[g] else where[1, h - 1]):
                for j in range(min(where[1, h - 1], most[node] - i - shift)):
                    if ways[up, i, g] + ways[1 - up, j, g] < best:
                        best, tests[node] = ways[up, i, g] + ways[1 - up, j, g], g
                        most[2 * node + 2], most[2 * node + 1] = i + 1, j + 1


@compiled()
def descend(node: int, tests: Array, flipped: Array, chosen: Array) -> tuple[int, int, int]:
    """Fill ``chosen`` with the literals on the way to a node; return their number, below 0 where none gets there.

    Returned are the length of the way, that number, and the outcomes.
    """
    path, level, k, o = node, 0, 0, 0
    below = np.zeros(len(chosen) + 1, np.int64)
    while path and k >= 0:
        parent, holds = (path - 1) // 2, path % 2 == 0
        f = tests[parent]
        k, o = insert(k, chosen, o, f, 1 if holds != flipped[f] else 0, below) if f >= 0 else (-1, 0)
        chosen[:] = below[: len(chosen)]
        path, level = parent, level + 1
    return level, k, o


@compiled()
def insert(k: int, chosen: Array, o: int, g: int, bit: int, into: Array) -> tuple[int, int]:
    """Put the literal g, with its outcome, into the set of a state; return the size, -1 if it contradicts it, and o."""
    i = 0
    while i < k and chosen[i] < g:
        into[i] = chosen[i]
        i += 1
    again = i < k and chosen[i] == g
    if not again:
        into[i] = g
    shift = 0 if again else 1
    for j in range(i, k):
        into[j + shift] = chosen[j]
    if again:
        return (k if (o >> i & 1) == bit else -1), o
    return k + 1, (o >> i << (i + 1)) | (bit << i) | (o & ((1 << i) - 1))


@compiled()
def fill_ways(
    h: int,
    k: int,
    chosen: Array,
    o: int,
    totals: Array,
    asked: TreeQuestion,
    start: Array,
    where: Array,
    T: Array,
    ways: Array,
) -> None:
    """Fill ways (2, leaves, p): T_{h-1} of a state of ``k`` literals where each literal fails, and where it holds."""
    below, p = np.zeros(k + 1, np.int64), ways.shape[2]
    for g in range(p):
        for bit in range(2):
            size, outcome = insert(k, chosen, o, g, bit, below)
            at, apart = cell(h - 1, size, below, outcome, p, start, where) if size >= 0 and h > 1 else (0, 0)
            for i in range(where[1, h - 1]):
                if size < 0:
                    ways[bit, i, g] = 0.0 if asked.empty[h - 1, i] > 0.0 else BIG
                elif h == 1:
                    ways[bit, i, g] = leaf(size, below, outcome, totals, start, asked.least)
                else:
                    ways[bit, i, g] = T[at + apart * i]


@compiled()
def cell(h: int, k: int, chosen: Array, o: int, p: int, start: Array, where: Array) -> tuple[int, int]:
    """Return where T_h of a state of ``k`` literals is, with one leaf, and how far those with more leaves are apart."""
    if k == 0:
        return where[2 + h, 0], 1
    w, above = 0, -1
    for i in range(k - 1):
        w, above = start[w] + chosen[i], chosen[i]
    rank, n = start[w] + above + 1 - where[0, k], p - 1 - above
    return where[2 + h, k] + where[1, h] * (rank << k) + o * n + chosen[k - 1] - above - 1, n << k


@compiled()
def leaf(k: int, chosen: Array, o: int, totals: Array, start: Array, least: Array) -> float:
    """Return the least total of a leaf for a state, BIG where it is too small."""
    ranks, sums = np.zeros(1 << k, np.int64), np.zeros(len(totals))
    for i in range(k):
        for mask in range(1 << i):
            ranks[mask | 1 << i] = start[ranks[mask]] + chosen[i]
    for mask in range(1 << k):
        if mask & o == o:
            sign, rest = 1.0, mask ^ o
            while rest:
                sign, rest = -sign, rest & (rest - 1)
            for c in range(len(totals)):
                sums[c] += sign * totals[c, ranks[mask]]
    cost, n = 0.0, len(totals) - len(least)
    for c in range(len(least)):
        if sums[n + c] < least[c]:
            return BIG
    for a in range(n):
        cost = min(cost, sums[a])
    return cost
