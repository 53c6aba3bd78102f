"""The search by root cuts on a table of rows: at depth d it asks itself at depth d - 1, and stumps are compiled.

The sides of a root cut are asked with a cut-off. Let a cut c be evaluated between the ends u < v of its interval. No
cut between c and v has a tree of less than L(c) + R(v). So once L(c) is known to be at least (the least cost so far)
- R(v), these cuts are ruled out, c with them, and the search for L(c) stops; that for R(c) likewise. What it returns
then is a bound. Within limits that is not so, as leaves may be too small; there the search stops once L(c) - D + R(u)
rules out the cuts between u and c, where D is of the contexts between.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from milpcb.types import Bools, Floats
from policies.trees.root_cuts import fill_segments, search_pairs
from policies.trees.root_frontier import (
    BEST_CUT,
    BEST_LINE,
    DONE,
    ENDS,
    FULL,
    HIGH,
    LEAST,
    LINE,
    LOW,
    Levels,
    Lines,
    Segments,
    give_back,
    grown,
    lower_bound,
    new_frontier,
    open_lines,
    take,
)
from policies.trees.root_tables import RootTable, side_rows

# Contexts of the smallest segments that have bounds of their own.
SMALLEST = 16
# Contexts times features that are gone through between two looks at the clock.
SLICE = 3e7
FIRST_ENDS = 64


class Root(NamedTuple):
    """A root: its feature and cut, the most leaves where it fails and where it holds, the features below (d,)."""

    feature: int
    cut: int
    leaves: tuple[int, int]
    below: Bools


class RootAnswer(NamedTuple):
    """Bounds on the least cost; the second is that of a tree with ``root``, or of one leaf where it is None.

    ``sides`` are the answers where the root fails and where it holds, of trees of depth 3 and more.
    """

    lower: float
    upper: float
    root: Root | None
    sides: tuple[RootAnswer, ...] = ()


@dataclass(frozen=True)
class RootQuery:
    """Which trees: up to a depth, of so many leaves, with the features of one row of ``below`` (n, d).

    ``levels`` are the slacks for which stumps are evaluated; the trees asked for are those of level 0.
    """

    depth: int
    leaves: int
    below: Bools
    levels: Levels

    def of_side(self, root: Root, side: int) -> RootQuery:
        """Return the query about one side of a root."""
        return replace(self, depth=self.depth - 1, leaves=root.leaves[side], below=root.below[None])


def levels_of(least: Floats) -> Levels:
    """Return the levels 0, 1, 2, 4, ... and infinity for leaves with ``least`` (C,) rows; of no limit, the last."""
    most = int(least.max(initial=0.0))
    levels = np.array([0.0, *(2.0**h for h in range((most - 1).bit_length())), np.inf] if most else [np.inf])
    return Levels(levels, least, np.asarray(np.searchsorted(levels, np.arange(most + 1))))


NO_LIMITS = levels_of(np.zeros(0))


Look = Callable[[], None]


def find(table: RootTable, query: RootQuery, cut_off: float = np.inf, look: Look | None = None) -> RootAnswer:
    """Return the least cost of the trees, or bounds once the lower one is at least ``cut_off``."""
    depth = min(query.depth, query.leaves - 1)
    if depth == 0:
        leaf = leaf_cost(table, query.levels.least)
        return RootAnswer(leaf, leaf, None)
    if depth == 1:
        return best_stump(table, query)
    return RootCuts(table, replace(query, depth=depth), cut_off).run(look)


def leaf_cost(table: RootTable, least: Floats) -> float:
    """Return the cost of one leaf, infinity where it has fewer rows than ``least`` (C,)."""
    if (table.counts.sum(axis=0)[: len(least)] < least).any():
        return np.inf
    return float(table.first.sum() + np.minimum(0.0, table.differences.sum(axis=0).min()))


def best_stump(table: RootTable, query: RootQuery) -> RootAnswer:
    """Return the least cost of trees of one test."""
    least, base = query.levels.least, table.first.sum()
    found = RootAnswer(cost := leaf_cost(table, least), cost, None)
    for f in np.flatnonzero(query.below.any(axis=0)):
        sums, sizes = table.costs[f].cumsum(axis=1), table.sizes[f, : len(least)].cumsum(axis=1)
        above = np.minimum(0.0, (sums[:, -1:] - sums).min(axis=0))
        costs = base + np.minimum(0.0, sums.min(axis=0)) + above
        large = (np.minimum(sizes, sizes[:, -1:] - sizes) >= least[:, None]).all(axis=0)
        costs = np.where(table.gaps[f] & large, costs, np.inf)
        at = int(costs.argmin())
        if costs[at] < found.upper:
            cut = int(table.codes[f, table.orders[f, at]])
            cost = float(costs[at])
            found = RootAnswer(cost, cost, Root(int(f), cut, (1, 1), query.below[0]))
    return found


class RootCuts:
    """A query of depth 2 or more on a table, under way: ``lower``, ``upper`` and ``root`` hold at any moment."""

    def __init__(self, table: RootTable, query: RootQuery, cut_off: float = np.inf) -> None:
        pairs = query.depth == 2
        # Deeper subtrees are asked for within the limits alone: of those without, the bound stays 0.
        levels = query.levels if pairs or query.levels is NO_LIMITS else _two(query.levels)
        self._table, self.query, self._levels = table, query, levels
        self._lines, self._segments = _lines(query), _segments(table, bounded=pairs)
        n_parts = len(table.last) if pairs else 0
        leaf = leaf_cost(table, query.levels.least)
        self._frontier = new_frontier(len(self._lines.features), FIRST_ENDS, len(levels.levels), n_parts, leaf, cut_off)
        self._sides: dict[tuple[int, int], tuple[RootAnswer, ...]] = {}  # by line and cut of each best root so far

    @property
    def lower(self) -> float:
        """No tree costs less."""
        return float(lower_bound(self._frontier))

    @property
    def upper(self) -> float:
        """What the best tree so far costs."""
        return float(self._frontier.costs[LEAST])

    @property
    def root(self) -> Root | None:
        """The root of the best tree so far."""
        line = int(self._frontier.state[BEST_LINE])
        return None if line < 0 else self._root(line, int(self._frontier.state[BEST_CUT]))

    @property
    def n_evaluated(self) -> int:
        """How many root cuts are evaluated so far."""
        return int(self._frontier.state[ENDS]) - 2

    @property
    def answer(self) -> RootAnswer:
        """The bounds and the root of the best tree so far, with the best trees on both sides of it."""
        state = self._frontier.state
        sides = self._sides.get((int(state[BEST_LINE]), int(state[BEST_CUT])), ())
        return RootAnswer(self.lower, self.upper, self.root, sides)

    def run(self, look: Look | None = None) -> RootAnswer:
        """Search to the end, or the cut-off; an exception that ``look`` raises leaves the bounds as they hold then."""
        if self.query.depth == 2:
            fill_segments(self._table, self._lines, self._segments)
        open_lines(self._lines, self._segments, self._frontier)
        while (end := self._pairs() if self.query.depth == 2 else self._deeper(look)) != DONE:
            if end == FULL:
                self._frontier = grown(self._frontier)
            if look is not None:
                look()
        return self.answer

    @property
    def _asked(self) -> tuple[RootTable, Levels, Lines, Segments]:
        return self._table, self._levels, self._lines, self._segments

    def _pairs(self) -> int:
        """Evaluate some cuts; return DONE, FULL or 0."""
        most = 1 + int(SLICE / self._table.codes.size)
        return int(search_pairs(*self._asked, self._frontier, most))

    def _deeper(self, look: Look | None) -> int:
        """Evaluate one cut; return DONE, FULL or its end."""
        frontier = self._frontier
        end = int(take(*self._asked, frontier))
        if end < 0:
            return end
        root = self._root(int(frontier.state[LINE]), int(frontier.cuts[end]))
        found: dict[int, RootAnswer] = {}
        for side in (1, 0):
            rows = side_rows(self._table, root.feature, root.cut, holds=side == 1)
            found[side] = find(rows, self.query.of_side(root, side), self._cut_off(side, root), look)
            frontier.best[side, end, 0] = max(frontier.best[side, end, 0], found[side].lower)
        exact = all(answer.lower == answer.upper for answer in found.values())
        if exact and frontier.best[:, end, 0].sum() < self.upper:
            self._sides[int(frontier.state[LINE]), root.cut] = found[0], found[1]
        give_back(*self._asked, frontier, end, exact)
        return end

    def _cut_off(self, side: int, root: Root) -> float:
        """Return what the cost of a side rules out half of the interval with: by the first bound, if it is of use."""
        frontier, table, f, least = self._frontier, self._table, root.feature, self.upper
        if least == np.inf:
            return np.inf
        low, high = int(frontier.state[LOW]), int(frontier.state[HIGH])
        if self._levels is NO_LIMITS:
            return least - float(frontier.best[1 - side, high if side else low, 0])
        end = low if side else high
        cut = frontier.cuts[end] if end > 1 else (-1 if end == 0 else table.last[f])
        between = abs(table.spreads[f, cut + 1] - table.spreads[f, root.cut + 1])
        return least - float(frontier.best[1 - side, end, 0]) + float(between)

    def _root(self, line: int, cut: int) -> Root:
        lines = self._lines
        fails, holds = lines.leaves[line]
        return Root(int(lines.features[line]), cut, (int(fails), int(holds)), lines.below[line])


def _two(levels: Levels) -> Levels:
    places = np.minimum(np.arange(len(levels.places)), 1)
    return Levels(levels.levels[[0, -1]], levels.least, places)


def _lines(query: RootQuery) -> Lines:
    """Return a line for each set of features, feature of it, and way to give its sides as many leaves as there are."""
    half, most = 2 ** (query.depth - 1), min(query.leaves, 2**query.depth)
    ways = [(most - i, i) for i in range(max(1, most - half), min(half, most - 1) + 1)]
    rows = [(f, way, kept) for kept in query.below for f in np.flatnonzero(kept) for way in ways]
    features, leaves, below = zip(*rows, strict=True)
    return Lines(np.array(features, np.int32), np.array(leaves, np.int32), np.array(below, bool))


def _segments(table: RootTable, *, bounded: bool) -> Segments:
    """Return room for the bounds of segments, without any where not ``bounded``."""
    n_codes = table.last.astype(np.int64) + 1
    heights = np.array([int(last).bit_length() for last in table.last], np.int32)
    smallest = [int(SMALLEST * n / len(table.first)).bit_length() for n in n_codes]
    lowest = np.minimum(heights, smallest) if bounded else heights + 1
    starts, total = np.zeros((len(heights), int(heights.max()) + 2), np.int64), 0
    for f, (height, low) in enumerate(zip(heights, lowest, strict=True)):
        sizes = [(int(n_codes[f]) - 1 >> h) + 1 for h in range(low, height + 1)]
        ends = total + np.cumsum([0, *sizes])
        starts[f, : len(ends)], total = ends, int(ends[-1])
    return Segments(heights, lowest.astype(np.int32), starts, np.empty(total), np.empty(total))
