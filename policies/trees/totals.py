"""The table of totals from which trees are found, and two ways to fill it from the costs of contexts.

totals (A + C, sets): sums over the contexts where all literals of a set hold, of A = K - 1 differences of costs to
action 0 and, behind them, of C counts of rows. Sets of up to D literals are numbered as in policies/trees/sets.py.

products : blocks of contexts times pairs of literals, below each set of D - 2 literals; for few cuts of many features
codes : a context is known by one code a feature, the number of its cuts below the value; the totals by the codes of D
    features, and sums of these along each axis, are the totals of all their literals; for many cuts and many contexts
"""

from __future__ import annotations

from itertools import combinations
from typing import NamedTuple

import numpy as np

from milpcb.core.kernels import compiled
from milpcb.types import Bools, Floats, Ints
from policies.literals import Literals
from policies.trees.sets import layout, sets_of
from policies.trees.states import Array

BLOCK, LANES = 512, 32  # contexts of a block, which fits the first-level cache, and of a group
# Totals may add up in any order: in range, integers are exact in any. No kernel makes NaN.
ANY_ORDER = {"reassoc", "contract", "nnan", "nsz"}


class ContextCosts(NamedTuple):
    """Costs (g, K) of contexts, and counts (C, g) of their rows: 0 for excluded contexts."""

    costs: Floats
    counts: Floats

    def at(self, here: Bools) -> ContextCosts:
        """Return the costs and counts with all contexts but ``here`` (g,) excluded."""
        return ContextCosts(np.where(here[:, None], self.costs, 0.0), self.counts * here)


class ProductRoom(NamedTuple):
    """Working space of products: literals 0/1 (levels, blocks, p + 4, B), of which the first level is given."""

    literals: Array
    planes: Array
    weighted: Array
    pairs: Array
    rows: Array


class Products:
    """Fills the totals of the literals ``truth`` (g, p), those that mostly hold ``flipped`` (p,), by products."""

    def __init__(self, truth: Bools, n_actions: int, n_counts: int, depth: int) -> None:
        self.start, where, _ = layout(truth.shape[1], depth, n_actions, None)
        self.totals = np.zeros((n_actions - 1 + n_counts, int(where[0, -1])))
        self.flipped = 2 * truth.sum(axis=0) > len(truth)
        held, n_planes = _in_blocks(truth ^ self.flipped), len(self.totals)
        blocks, rows, width = held.shape
        literals = np.zeros((max(depth - 1, 1), blocks, rows, width))
        literals[0] = held
        planes, weighted = np.zeros((len(literals), n_planes, blocks * width)), np.zeros((2, n_planes, width))
        pairs, numbers = np.zeros((n_planes, rows - 2, rows)), np.zeros(blocks * width + 1, np.int64)
        self._room = ProductRoom(literals, planes, weighted, pairs, numbers)

    def fill(self, costs: Floats, counts: Floats, depth: int) -> float:
        """Fill the totals of sets up to a size from costs (g, K) and counts (C, g); return the total of action 0."""
        planes, n_differences = self._room.planes[0, :, : len(costs)], costs.shape[1] - 1
        for a in range(n_differences):
            np.subtract(costs[:, a + 1], costs[:, 0], out=planes[a])
        planes[n_differences:] = counts
        fill_products(depth, len(costs), self._room, self.start, self.totals)
        return float(costs[:, 0].sum())


class Codes:
    """Fills the totals from the codes of contexts, cubes of D features at a time."""

    def __init__(self, literals: Literals, n_actions: int, n_counts: int, depth: int) -> None:
        self._codes, self._cuts = literals.codes, np.diff(literals.first)
        p, d = len(literals), len(self._cuts)
        self.start, where, _ = layout(p, depth, n_actions, None)
        self.totals = np.zeros((n_actions - 1 + n_counts, int(where[0, -1])))
        self.flipped = np.zeros(p, bool)
        self._groups = list(combinations(range(d), min(depth, d)))
        sizes = [int(np.prod(self._cuts[list(group)] + 1)) for group in self._groups]
        self._begins = np.cumsum([0, *sizes])
        self._feature, self._first = np.repeat(np.arange(d), self._cuts), literals.first
        self._place = np.concatenate([self._places(members) for members in sets_of(p, depth)])

    def fill(self, costs: Floats, counts: Floats, _depth: int) -> float:
        """Fill all totals from costs (g, K) and counts (C, g); return the total of action 0."""
        planes = np.ascontiguousarray(np.concatenate([(costs[:, 1:] - costs[:, :1]).T, counts]))
        cubes = np.zeros((len(planes), self._begins[-1]))
        for i, group in enumerate(self._groups):
            out, codes = cubes[:, self._begins[i] : self._begins[i + 1]], self._codes[list(group)]
            add_codes(codes, self._cuts[list(group)] + 1, planes, out)
            cube = out.reshape(len(planes), *(self._cuts[list(group)] + 1))
            for axis in range(1, cube.ndim):
                np.cumsum(cube, axis=axis, out=cube)
        np.take(cubes, self._place, axis=1, out=self.totals)
        return float(costs[:, 0].sum())

    def _places(self, members: Ints) -> Ints:
        """Return where the totals of sets (n, k) are; of two tests of a feature the lower cut is that of both."""
        features, places = self._feature[members], np.zeros(len(members), np.int64)
        kinds, kind, counts = np.unique(features, axis=0, return_inverse=True, return_counts=True)
        alike = np.split(np.argsort(kind.ravel(), kind="stable"), np.cumsum(counts)[:-1])
        for tested, rows in zip(kinds.tolist(), alike, strict=True):
            others = [f for f in range(len(self._cuts)) if f not in tested]
            group = tuple(sorted([*dict.fromkeys(tested), *others][: len(self._groups[0])]))
            cuts = {f: np.full(len(rows), self._cuts[f]) for f in group}
            for f, column in reversed(list(zip(tested, members[rows].T, strict=True))):
                cuts[f] = column - self._first[f]
            cell = np.ravel_multi_index(tuple(cuts[f] for f in group), self._cuts[list(group)] + 1)
            places[rows] = self._begins[self._groups.index(group)] + cell
        return places


def _in_blocks(truth: Bools) -> Bools:
    """Return (blocks, p + 4, B): literals (g, p) by blocks of contexts, and behind them one that always holds."""
    g, p = truth.shape
    blocks = max(1, -(-g // BLOCK))
    held = np.zeros((p + 4, blocks * BLOCK), bool)
    held[:p, :g], held[p, :g] = truth.T, True
    return held.reshape(p + 4, blocks, BLOCK).transpose(1, 0, 2)


@compiled()
def fill_products(depth: int, n: int, room: ProductRoom, start: Array, totals: Array) -> None:
    """Fill the totals of all sets from the planes of ``n`` contexts on the first level."""
    literals, planes, weighted, pairs, rows = room
    p, inner, level = pairs.shape[1] - 2, max(depth - 2, 0), 0  # pairs are added up below sets of ``inner`` literals
    held, sets, following = np.full(inner + 1, n), np.zeros(inner + 1, np.int64), np.zeros(inner + 1, np.int64)
    new = True
    while level >= 0:
        f = following[level]
        if new:
            size = min(depth, 2) if level == inner else 1
            fill_pairs(literals[level], planes[level], held[level], weighted, pairs, f, size)
            keep_pairs(pairs, f, sets[level], size, start, totals)
        new = level < inner and f < p
        if not new:
            level -= 1
            continue
        following[level] += 1
        held[level + 1] = gather(literals, planes, level, f, held[level], rows)
        sets[level + 1], following[level + 1] = start[sets[level]] + f, f + 1
        level += 1


@compiled(ANY_ORDER)
def fill_pairs(literals: Array, costs: Array, n: int, weighted: Array, pairs: Array, first: int, size: int) -> None:
    """Fill pairs[a, f, g] = sum_j literals[f, j] literals[g, j] costs[a, j] for first <= f <= g <= p.

    Literal p always holds. Where ``size`` is below 2 only f = p is needed. Two f and four g make eight sums in a pass.
    """
    p, n_planes = pairs.shape[1] - 2, len(pairs)
    first = first if size == 2 else p
    pairs[:, first:] = 0.0
    for b in range((n + BLOCK - 1) // BLOCK):
        held, begin = literals[b], b * BLOCK
        width = (min(BLOCK, n - b * BLOCK) + LANES - 1) // LANES * LANES
        for f in range(first, p + 1, 2):
            for a in range(n_planes):
                for j in range(width):
                    weighted[0, a, j] = costs[a, begin + j] * held[f, j]
                    weighted[1, a, j] = costs[a, begin + j] * held[f + 1, j]
            for g in range(f if size == 2 else 0, p + 1, 4):
                for a in range(n_planes):
                    s0 = s1 = s2 = s3 = t0 = t1 = t2 = t3 = 0.0
                    for j in range(width):
                        s, t = weighted[0, a, j], weighted[1, a, j]
                        s0, t0 = s0 + s * held[g, j], t0 + t * held[g, j]
                        s1, t1 = s1 + s * held[g + 1, j], t1 + t * held[g + 1, j]
                        s2, t2 = s2 + s * held[g + 2, j], t2 + t * held[g + 2, j]
                        s3, t3 = s3 + s * held[g + 3, j], t3 + t * held[g + 3, j]
                    for i, (s, t) in enumerate(((s0, t0), (s1, t1), (s2, t2), (s3, t3))):
                        pairs[a, f, g + i] += s
                        pairs[a, f + 1, g + i] += t


@compiled()
def keep_pairs(pairs: Array, first: int, u: int, size: int, start: Array, totals: Array) -> None:
    """Fill the totals of the set u, alone and with up to ``size`` literals from ``first`` on."""
    p = pairs.shape[1] - 2
    for a in range(len(pairs)):
        totals[a, u] = pairs[a, p, p]
        for f in range(first, p if size else first):
            totals[a, start[u] + f] = pairs[a, f, p] if size > 1 else pairs[a, p, f]
            if size > 1 and f + 1 < p:
                row, to = pairs[a, f, f + 1 : p], totals[a, start[start[u] + f] + f + 1 :]
                for j in range(p - f - 1):
                    to[j] = row[j]


@compiled()
def gather(literals: Array, costs: Array, level: int, f: int, n: int, rows: Array) -> int:
    """Fill the next level with the literals and costs of the contexts where f holds; return their number."""
    source, target, planes, out = literals[level], literals[level + 1], costs[level], costs[level + 1]
    count = 0
    for j in range(n):
        rows[count] = j
        count += 1 if source[j // BLOCK, f, j % BLOCK] else 0
    for a in range(len(planes)):
        for i in range(count):
            out[a, i] = planes[a, rows[i]]
        for i in range(count, (count + LANES - 1) // LANES * LANES):
            out[a, i] = 0.0
    for b in range((count + BLOCK - 1) // BLOCK):
        width = min(BLOCK, count - b * BLOCK)
        for g in range(f + 1, source.shape[1] - 3):
            for i in range(width):
                j = rows[b * BLOCK + i]
                target[b, g, i] = source[j // BLOCK, g, j % BLOCK]
    return count


@compiled()
def add_codes(codes: Array, sizes: Array, planes: Array, out: Array) -> None:
    """Add planes (A, g) of contexts to out (A, cells) by their cell, the ``codes`` (n, g) of some features."""
    cells = np.zeros(codes.shape[1], np.uint32)
    for i in range(len(codes)):
        size = np.uint32(sizes[i])
        for j in range(len(cells)):
            cells[j] = cells[j] * size + codes[i, j]
    for a in range(len(planes)):
        plane, to = planes[a], out[a]
        for j in range(len(cells)):
            to[cells[j]] += plane[j]
