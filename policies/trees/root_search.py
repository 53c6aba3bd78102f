"""The search by root cuts on a table of contexts: at depth d it asks itself at depth d - 1; see every_cut.py."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from milpcb.types import Bools, Floats
from policies.trees.root_cuts import (
    DONE,
    ENDS,
    FULL,
    HIGH,
    IN_HAND,
    INTERVALS,
    LEAST,
    LINE,
    LOW,
    Frontier,
    Lines,
    RootTable,
    cut_of,
    give_back,
    search_pairs,
    spread_between,
    take,
)

SLICE = 3e7  # contexts times features that are gone through between two looks at the clock
FIRST_ENDS = 64

Look = Callable[[], None]


class Root(NamedTuple):
    """A root: its feature and cut, the most leaves where it fails and where it holds, the features below (d,)."""

    feature: int
    cut: int
    leaves: tuple[int, int]
    below: Bools


class RootAnswer(NamedTuple):
    """Bounds on the least cost; the second is that of a tree with ``root``, or of one leaf where it is None."""

    lower: float
    upper: float
    root: Root | None


@dataclass(frozen=True)
class RootQuery:
    """Which trees: up to a depth, of so many leaves, with the features of one row of ``below`` (n, d).

    Each leaf has at least ``least`` (C,) counts.
    """

    depth: int
    leaves: int
    below: Bools
    least: Floats

    def of_side(self, root: Root, side: int) -> RootQuery:
        """Return the query about one side of a root."""
        return replace(self, depth=self.depth - 1, leaves=root.leaves[side], below=root.below[None])

    def lines(self) -> Lines:
        """Return a line for each set of features, feature of it, and way to give its sides as many leaves as may be."""
        half, most = 2 ** (self.depth - 1), min(self.leaves, 2**self.depth)
        ways = [(most - i, i) for i in range(max(1, most - half), min(half, most - 1) + 1)]
        rows = [(f, way, kept) for kept in self.below for f in np.flatnonzero(kept) for way in ways]
        features, leaves, below = zip(*rows, strict=True)
        return Lines(np.array(features, np.int64), np.array(leaves, np.int64), np.array(below, bool), self.least)


def find(table: RootTable, query: RootQuery, cut_off: float = np.inf, look: Look | None = None) -> RootAnswer:
    """Return the least cost of the trees, or bounds once the lower one is at least ``cut_off``."""
    depth = min(query.depth, query.leaves - 1)
    if depth > 1:
        return RootCuts(table, replace(query, depth=depth), cut_off).run(look)
    leaf = leaf_cost(table, query.least)
    return best_stump(table, query) if depth else RootAnswer(leaf, leaf, None)


def leaf_cost(table: RootTable, least: Floats) -> float:
    """Return the cost of one leaf, infinity where it has fewer rows than ``least`` (C,)."""
    if (table.counts.sum(axis=0) < least).any():
        return np.inf
    return float(table.first.sum() + np.minimum(0.0, table.differences.sum(axis=0).min()))


def best_stump(table: RootTable, query: RootQuery) -> RootAnswer:
    """Return the least cost of trees of one test."""
    least, base = query.least[:, None], table.first.sum()
    found = RootAnswer(cost := leaf_cost(table, query.least), cost, None)
    for f in np.flatnonzero(query.below.any(axis=0)):
        sums, sizes = table.costs[f].cumsum(axis=1), table.counts[table.orders[f]].T.cumsum(axis=1)
        above = np.minimum(0.0, (sums[:, -1:] - sums).min(axis=0))
        costs = base + np.minimum(0.0, sums.min(axis=0)) + above
        large = (np.minimum(sizes, sizes[:, -1:] - sizes) >= least).all(axis=0)
        costs = np.where(table.gaps[f] & large, costs, np.inf)
        at = int(costs.argmin())
        if costs[at] < found.upper:
            cut, cost = int(table.codes[f, table.orders[f, at]]), float(costs[at])
            found = RootAnswer(cost, cost, Root(int(f), cut, (1, 1), query.below[0]))
    return found


class RootCuts:
    """A query of depth 2 or more on a table, under way: ``answer`` holds at any moment."""

    def __init__(self, table: RootTable, query: RootQuery, cut_off: float = np.inf) -> None:
        self._table, self.query, self._lines = table, query, query.lines()
        room = len(self._lines.features) + 2 * FIRST_ENDS
        n_rows, n_parts = 4 if len(query.least) else 2, len(table.last) if query.depth == 2 else 0
        self._frontier = Frontier(
            np.array([0, 2, -1, 0, 0, 0, 0]),
            np.array([leaf_cost(table, query.least), cut_off, np.inf]),
            np.zeros(room),
            np.zeros((room, 3), np.int64),
            np.zeros(FIRST_ENDS, np.int64),
            np.zeros((n_rows, FIRST_ENDS)),
            np.zeros((n_rows, FIRST_ENDS, n_parts)),
        )
        lines = np.flatnonzero(table.last[self._lines.features] > 0)
        self._frontier.state[INTERVALS] = len(lines)
        self._frontier.items[: len(lines)] = np.stack([lines, 0 * lines, 0 * lines + 1], axis=1)

    @property
    def answer(self) -> RootAnswer:
        """The bounds and the root of the best tree so far."""
        (n, _, line, cut, *_), costs = self._frontier.state.tolist(), self._frontier.costs
        lower = min(costs[LEAST], costs[IN_HAND], self._frontier.keys[:n].min(initial=np.inf))
        return RootAnswer(float(lower), float(costs[LEAST]), None if line < 0 else self._root(line, cut))

    @property
    def n_evaluated(self) -> int:
        """How many root cuts are evaluated so far."""
        return int(self._frontier.state[ENDS]) - 2

    def run(self, look: Look | None = None) -> RootAnswer:
        """Search to the end, or the cut-off; an exception that ``look`` raises leaves the bounds as they hold then."""
        while (end := self._pairs() if self.query.depth == 2 else self._deeper(look)) != DONE:
            if end == FULL:
                self._grow()
            if look is not None:
                look()
        return self.answer

    def _pairs(self) -> int:
        """Evaluate some cuts; return DONE, FULL or 0."""
        most = 1 + int(SLICE / self._table.codes.size)
        return int(search_pairs(self._table, self._lines, self._frontier, most))

    def _deeper(self, look: Look | None) -> int:
        """Evaluate one cut; return DONE, FULL or its end."""
        frontier = self._frontier
        end = int(take(self._table, self._lines, frontier))
        if end < 0:
            return end
        root, exact = self._root(int(frontier.state[LINE]), int(frontier.cuts[end])), True
        here = self._table.codes[root.feature] <= root.cut
        for side in (1, 0):
            rows = self._table.kept(here == (side == 1))
            found = find(rows, self.query.of_side(root, side), self._cut_off(side, root), look)
            frontier.best[side, end] = max(frontier.best[side, end], found.lower)
            exact = exact and found.lower == found.upper
        give_back(self._table, self._lines, frontier, end, exact)
        return end

    def _cut_off(self, side: int, root: Root) -> float:
        """Return what the cost of a side rules out half of the interval with."""
        frontier, table, f = self._frontier, self._table, root.feature
        ends, least = (int(frontier.state[LOW]), int(frontier.state[HIGH])), float(frontier.costs[LEAST])
        if not len(self.query.least):
            return least - float(frontier.best[1 - side, ends[side]])
        end = ends[1 - side]
        between = float(spread_between(table, f, int(cut_of(table, frontier, f, end)), root.cut))
        return least - float(frontier.best[1 - side, end]) + between

    def _root(self, line: int, cut: int) -> Root:
        lines = self._lines
        fails, holds = lines.leaves[line].tolist()
        return Root(int(lines.features[line]), cut, (fails, holds), lines.below[line])

    def _grow(self) -> None:
        """Make room for twice as many ends."""
        state, costs, keys, items, cuts, best, parts = self._frontier
        n = len(cuts)
        keys, items, cuts = np.pad(keys, (0, 2 * n)), np.pad(items, ((0, 2 * n), (0, 0))), np.pad(cuts, (0, n))
        best, parts = np.pad(best, ((0, 0), (0, n))), np.pad(parts, ((0, 0), (0, n), (0, 0)))
        self._frontier = Frontier(state, costs, keys, items, cuts, best, parts)
