"""The answers of all states of trees of one depth, from one table of totals: see policies/trees/recursion.py."""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np

from milpcb.core.kernels import compiled
from milpcb.types import Bools, Floats, Ints
from policies.semirings import Array, Soft
from policies.trees.leaves import BIG, TreeQuestion
from policies.trees.recursion import ask
from policies.trees.sets import layout
from policies.trees.totals import Codes, ContextCosts, Products


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


_NO_MASSES = np.zeros(0)


class TreeState(NamedTuple):
    """The first ``size`` of the literals ``chosen`` (D + 1,), in order, and their outcomes, bit by bit; see sets.py."""

    size: int
    chosen: Ints
    outcome: int


class TreeStates:
    """Asks the recursion about trees of a depth, from the totals that ``source`` fills.

    ``least`` (C,) is what a leaf must have of each count; leaves are counted where ``most_leaves`` is given.
    """

    def __init__(
        self, source: Products | Codes, n_actions: int, depth: int, least: Floats, most_leaves: int | None
    ) -> None:
        self.source, self.n_actions, self.depth, self.least = source, n_actions, depth, least
        self._p, self.limited = len(source.flipped), most_leaves is not None
        self.start, self.where, self._room = layout(self._p, depth, n_actions, most_leaves)
        self._nowhere, self._numbers, self.empty = np.zeros(self._p, bool), np.empty(self._room), self._on_nothing()

    def answers(self, soft: Soft, given: ContextCosts, pattern: Bools | None, closed: Bools) -> tuple[Floats, int]:
        """Return the answers (leaves, K) at a context where the literals ``pattern`` hold, (leaves, 1) without one.

        ``closed`` (n, p) are the literals that no tree may test, for each of n sets of trees; also returned is the
        first n with the least answer. Costs and counts are ``given`` for each context.
        """
        everywhere = self.source.fill(*given)
        every = soft is not None or self._p < self.depth
        found, best = self._ask(soft, pattern, closed, every=every)
        return np.where(found < BIG, found + everywhere, np.inf) if self.limited else found + everywhere, best

    def tests(self, given: ContextCosts, most: int, closed: Bools) -> list[int]:
        """Return the tests of a best tree with at most so many leaves, see policies/trees/states.py."""
        self.fill(given, closed)
        tests = np.full((2 << self.depth) - 1, -1)
        kept = self.source
        trace(
            kept.totals, self._asked(None, every=True), closed, kept.flipped, *self._places, self._numbers, most, tests
        )
        found: list[int] = tests.tolist()
        return found

    def fill(self, given: ContextCosts, closed: Bools) -> float:
        """Leave the least totals of all states, less those of action 0; return what that costs everywhere."""
        everywhere = self.source.fill(*given)
        self._ask(None, None, closed[None], every=True)
        return everywhere

    def sides(self, height: int, state: TreeState) -> Floats:
        """Return (2, p): the least totals where each test at the root of trees of a height fails, and where it holds.

        Asked after ``fill``.
        """
        ways, flipped = np.empty((2, int(self.where[1, height - 1]), self._p)), self.source.flipped
        asked = self._asked(None, every=True)
        fill_ways(height, *state, self.source.totals, asked, *self._places, self._numbers, ways)
        fails, holds = ways.min(axis=1)
        return np.stack([np.where(flipped, holds, fails), np.where(flipped, fails, holds)])

    def side(self, state: TreeState, test: int, *, holds: bool) -> TreeState:
        """Return the state where a test has come out as well."""
        below = np.zeros(len(state.chosen) + 1, np.int64)
        size, outcome = insert(*state, test, int(holds != self.source.flipped[test]), below)
        return TreeState(int(size), below[:-1], int(outcome))

    def _ask(self, soft: Soft, pattern: Bools | None, closed: Bools, *, every: bool) -> tuple[Floats, int]:
        sides = None if pattern is None else pattern ^ self.source.flipped
        masses = _NO_MASSES if soft is None else self._masses
        asked = self._asked(sides, every=every)
        found, best = ask(soft, self.source.totals, asked, closed, *self._places, self._numbers, masses)
        return found, int(best)

    def _asked(self, sides: Bools | None, *, every: bool) -> TreeQuestion:
        at = self._nowhere if sides is None else sides
        return TreeQuestion(sides is not None, every, int(self.limited), self.n_actions, at, self.least, self.empty)

    @property
    def _places(self) -> tuple[Ints, Ints]:
        return self.start, self.where

    @cached_property
    def _masses(self) -> Array:
        return np.empty(self._room)

    def _on_nothing(self) -> Floats:
        """Return (D, leaves): how many trees of each height, by leaves, there are on no contexts."""
        empty = np.zeros((self.depth, int(self.where[1, self.depth])))
        if (self.least > 0).any() or not self.depth:
            return empty
        empty[0, 0] = self.n_actions
        for h in range(1, self.depth):
            products = np.convolve(empty[h - 1], empty[h - 1])
            if self.limited:
                empty[h, 0] = self.n_actions
                n = min(len(products), empty.shape[1] - 1)
                empty[h, 1 : n + 1] += self._p * products[:n]
            else:
                empty[h] = self._p * products[:1]
        return empty
