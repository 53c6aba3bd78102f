"""Bounds for the root cuts of one query, as policies/trees/every_cut.py states them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from milpcb.types import Bools, Floats, Ints
from policies.literals import Literals
from policies.trees.root_cuts import evaluate, segment_stumps
from policies.trees.root_limits import RootLimits, Subtrees

# Contexts of the smallest segments that have bounds of their own.
SMALLEST = 16


class RootCut(NamedTuple):
    """An end of an interval: a cut, and the subtrees below it and above it.

    Where a feature cannot have the best stump its costs are bounds from below.
    """

    cut: int
    left: Subtrees
    right: Subtrees


@dataclass(frozen=True)
class Segments:
    """Bounds for runs of 2^h codes of a feature, h = lowest, lowest + 1, ...: the S and the T of every_cut.py."""

    feature: int
    lowest: int
    stumps: list[Floats]
    trees: list[Floats]

    @property
    def height(self) -> int:
        """The height of the segment that is all codes."""
        return self.lowest + len(self.trees) - 1

    def stump(self, height: int, number: int) -> float:
        """Return S of a segment, 0 for one too small to have a bound, or beyond the codes."""
        return self._entry(self.stumps, height, number)

    def tree(self, height: int, number: int) -> float:
        """Return T of a segment, as ``stump`` does."""
        return self._entry(self.trees, height, number)

    def bound(self) -> float:
        """Return T of all contexts."""
        return float(self.trees[-1][0])

    def _entry(self, table: list[Floats], height: int, number: int) -> float:
        at = height - self.lowest
        return float(table[at][number]) if at >= 0 and number < len(table[at]) else 0.0


@dataclass(frozen=True)
class RootInterval:
    """The root cuts between two ends; the contexts between are those of one segment."""

    segments: Segments
    height: int
    number: int
    low: RootCut
    high: RootCut

    def halves(self, middle: RootCut | None) -> list[RootInterval]:
        """Return the intervals on both sides of the middle; without one, all cuts are in the first half."""
        height, first, second = self.height - 1, 2 * self.number, 2 * self.number + 1
        if middle is None:
            return [RootInterval(self.segments, height, first, self.low, self.high)]
        return [
            RootInterval(self.segments, height, first, self.low, middle),
            RootInterval(self.segments, height, second, middle, self.high),
        ]


class RootQuery:
    """Costs (g, K), counted from the cheapest action of each context and sorted by each feature.

    ``cheapest`` is the sum of what the cheapest actions cost, ``leaf`` what one leaf costs beyond that, and
    ``segments`` are the bounds of each feature.
    """

    def __init__(
        self, costs: Floats, literals: Literals, orders: npt.NDArray[np.int32], gaps: Bools, limits: RootLimits
    ) -> None:
        least = costs.min(axis=1)
        self.cheapest = float(least.sum())
        self.leaf = float((costs - least[:, None]).sum(axis=0).min())
        self.differences = np.ascontiguousarray((costs[:, 1:] - costs[:, :1]).T)
        self._literals, self._orders, self._gaps = literals, orders, gaps
        self._first_action = costs[:, 0] - least
        self._costs = np.ascontiguousarray(self.differences[:, orders].transpose(1, 0, 2))
        spread = costs.max(axis=1) - least
        self._spread = [self._up_to(i, spread) for i in range(len(orders))]
        self._limits, n_shortages = limits, len(limits.shortages)
        self.nothing = np.zeros((n_shortages, len(orders)))
        self._unknown = limits.side(0, np.zeros(n_shortages), self.nothing)
        self.segments = [self._segments(i) for i in range(len(orders))]

    def whole(self, segments: Segments) -> RootInterval:
        """Return the interval of all cuts of a feature; what is not known of its ends is 0."""
        last = len(self._spread[segments.feature]) - 2
        ends = (RootCut(cut, self._unknown, self._unknown) for cut in (-1, last))
        return RootInterval(segments, segments.height, 0, *ends)

    def cost(self, root: RootCut) -> float:
        """Return the least cost of the trees within the limits with this root."""
        return self._limits.cost(root.left, root.right)

    def middle(self, interval: RootInterval) -> RootCut | None:
        """Evaluate the cut between the two halves of an interval; None where the second half has no codes."""
        segments, height = interval.segments, interval.height - 1
        low, high, cut = interval.low, interval.high, ((2 * interval.number + 1) << height) - 1
        if cut >= high.cut:
            return None
        feature, limits = segments.feature, self._limits
        first, second = segments.stump(height, 2 * interval.number), segments.stump(height, 2 * interval.number + 1)
        left = low.left.stumps[limits.further(feature, low.cut, cut)] + first
        right = high.right.stumps[limits.further(feature, cut, high.cut)] + second
        left = np.maximum(left, high.left.stumps - self._between(segments, cut, high.cut))
        right = np.maximum(right, low.right.stumps - self._between(segments, low.cut, cut))
        place = max(limits.place(feature, low.cut, cut), limits.place(feature, cut, high.cut))
        return self.evaluate(feature, cut, left, right, place)

    def bound(self, interval: RootInterval) -> float:
        """Return a bound from below on the least total cost over the cuts of an interval."""
        segments, low, high, limits = interval.segments, interval.low, interval.high, self._limits
        place = limits.place(segments.feature, low.cut, high.cut)
        apart = limits.cost(low.left, high.right, place) + segments.tree(interval.height, interval.number)
        together = limits.cost(high.left, low.right) - self._between(segments, low.cut, high.cut)
        return max(apart, together)

    def evaluate(self, feature: int, cut: int, left: Floats, right: Floats, place: int = -1) -> RootCut:
        """Return an end at a cut, given bounds (shortages, d) from below; these arrays are left alone.

        The end is exact within the limits, and for shortages up to that of ``place``, -1 for all.
        """
        limits, holds = self._limits, self._literals.codes[feature] <= cut
        sides = np.array([~holds, holds], dtype=float)
        bases, totals = sides @ self._first_action, sides @ self.differences.T
        cheapest = bases + np.minimum(0.0, totals.min(axis=1))
        last = len(self._spread[feature]) - 2
        left_leaf = limits.leaf(cheapest[1], feature, -1, cut)
        right_leaf = limits.leaf(cheapest[0], feature, cut, last)
        left, right = left.copy(), right.copy()
        evaluate(
            self._asked(feature, left[0] + right[0]),
            limits.limits.max_features == 2,
            place % len(left),
            (limits.least, limits.places, limits.counts) if len(limits.least) else None,
            holds.view(np.uint8),
            self._orders,
            self._costs,
            self._gaps,
            bases,
            totals,
            left_leaf,
            right_leaf,
            left,
            right,
        )
        return RootCut(cut, limits.side(feature, left_leaf, left), limits.side(feature, right_leaf, right))

    def _asked(self, feature: int, bounds: Floats) -> Ints:
        """Return the features of stumps below a root of a feature, by their ``bounds`` (d,)."""
        most, order = self._limits.limits.max_features, np.argsort(bounds)
        if most == 1:
            return np.array([feature])
        return np.append(feature, order[order != feature]) if most == 2 else order

    def _between(self, segments: Segments, low: int, high: int) -> float:
        """Return D of the contexts between two cuts."""
        spread = self._spread[segments.feature]
        return float(spread[high + 1] - spread[low + 1])

    def _up_to(self, i: int, numbers: Floats) -> Floats:
        """Return (cuts + 2,): 0, then the sums of ``numbers`` (g,) up to each code."""
        n_codes = self._literals.first[i + 1] - self._literals.first[i] + 1
        return np.append(0.0, np.cumsum(np.bincount(self._literals.codes[i], numbers, n_codes)))

    def _segments(self, i: int) -> Segments:
        """Return the bounds for the segments of a feature."""
        n_codes = len(self._spread[i]) - 1
        height = (n_codes - 1).bit_length()
        lowest = min(height, int(SMALLEST * n_codes / len(self._first_action)).bit_length())
        sizes = [(n_codes - 1 >> h) + 1 for h in range(lowest, height + 1)]
        starts = np.cumsum([0, *sizes])
        segment = np.concatenate([np.arange(n_codes) >> h for h in range(lowest, height + 1)])
        segment += np.repeat(starts[:-1], n_codes)
        sums = np.diff([self._up_to(i, numbers) for numbers in (self._first_action, *self.differences)], axis=1)
        totals = np.array([np.bincount(segment, np.tile(row, len(sizes)), starts[-1]) for row in sums])
        least = np.empty(starts[-1])
        by_segment = np.ascontiguousarray(totals[1:].T)
        segment_stumps(self._literals.codes[i], self._orders, self._costs, lowest, starts[:-1], by_segment, least)
        stumps = np.split(least + totals[0], starts[1:-1])
        trees = [np.zeros(sizes[0]) if lowest else stumps[0]]
        for below in stumps[:-1]:
            first, second = (np.append(table, np.zeros(len(table) % 2)).reshape(-1, 2) for table in (trees[-1], below))
            trees.append((first + second[:, ::-1]).min(axis=1))
        return Segments(i, lowest, stumps, trees)
