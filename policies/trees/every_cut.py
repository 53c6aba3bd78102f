"""The exact search over trees of depth 2 with so many cuts of each feature that pairs of them cannot be gone through.

Let V(c) be the least total cost of the trees with the root cut c of one feature: the best stump (tree of one test) on
the contexts below the cut, of cost L(c), and the best on those above it, of cost R(c). One evaluation of both is a pass
of d g K over the contexts, sorted by each feature beforehand. Costs are counted from the cheapest action of each
context, so that more contexts never cost less. Between two evaluated cuts u < v of a feature, with the contexts W
between them, every cut c has

    V(c) >= L(u) + R(v) + T(W)        T(W): the best tree on W alone whose root, if any, is a cut of this feature
    V(c) >= L(v) + R(u) - D(W)        D(W): the sum of dearest less cheapest costs on W

since the best of a sum is at least the sum of the bests. With S(W), the best stump on W alone, the two halves of W give
T(W) >= min(T(first) + S(second), S(first) + T(second)). Halves are runs of 2^h codes, so S for all heights h is one
more pass for every pair of features. The interval with the least bound is halved first, and the search ends when that
bound reaches the least V evaluated so far; it starts from the best root over 31 cuts of each feature. How many cuts are
evaluated depends on the costs, hardly on how many there are: some tens a feature.

So the value is proved, and of several best trees one is found, always the same, not that of the lowest number. A
profile is one search for each action, with the others made too dear at its context. Action weights are sums over all
trees, which FeaturePairSearch has up to a size that policies/trees/routes.py counts.
"""

from __future__ import annotations

from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import count
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from milpcb.types import Bools, Floats, Ints
from policies.literals import Literals
from policies.names import Names
from policies.trees import feature_pairs
from policies.trees.feature_search import FeaturePairSearch
from policies.trees.root_cuts import evaluate, segment_stumps
from policies.trees.rule import Leaf

FIRST_CUTS = 31
# Contexts of the smallest segments that have bounds of their own.
SMALLEST = 16


class EveryCutSearch(FeaturePairSearch):
    """Trees of depth 2, the only ``depth``, by evaluated root cuts and bounds between them; any number of cuts."""

    def __init__(self, literals: Literals, n_actions: int, depth: int, names: Names) -> None:
        super().__init__(literals, n_actions, depth, names)
        ordered = np.take_along_axis(literals.codes, self._orders, axis=1)
        self._gaps = np.diff(ordered, axis=1, append=ordered[:, -1:]) != 0
        self._few_codes, self._few_first, self._few = _fewer(literals, FIRST_CUTS)

    def value(self, costs: Floats) -> float:
        """Return the least total cost."""
        return self._best_root(costs)[0]

    def profile(self, costs: Floats, row: int) -> Floats:
        """Return (K,): the least total cost by the action at ``row``, from one search each."""
        price = 1.0 + np.ceil((costs.max(axis=1) - costs.min(axis=1)).sum())
        profile = np.empty(self._n_actions)
        for action in range(self._n_actions):
            priced = costs.copy()
            priced[row] += price
            priced[row, action] = costs[row, action]
            profile[action] = self._best_root(priced)[0]
        return profile

    def _chosen(self, costs: Floats, path: tuple[int, ...], here: Bools) -> Leaf | int:
        return super()._chosen(costs, path, here) if path else self._best_root(costs)[1]

    def _best_root(self, costs: Floats) -> tuple[float, int]:
        """Return the least total cost of all trees, and the literal at the root of one that attains it."""
        query = _Query(costs, self._literals, self._orders, self._gaps)
        root = self._first_root(query)
        best = query.evaluate(*root, *query.nothing)
        least = best.left.min() + best.right.min()
        numbers = count()
        intervals = [(segments.bound(), next(numbers), query.whole(segments)) for segments in query.segments]
        intervals.sort()
        while intervals and intervals[0][0] < least:
            *_, interval = heappop(intervals)
            middle = query.middle(interval)
            if middle is not None and middle.left.min() + middle.right.min() < least:
                least, root = middle.left.min() + middle.right.min(), (interval.segments.feature, middle.cut)
            for half in interval.halves(middle):
                bound = query.bound(half)
                if bound < least and half.high.cut > half.low.cut + 1:
                    heappush(intervals, (bound, next(numbers), half))
        return float(least + query.cheapest), int(self._literals.first[root[0]] + root[1])

    def _first_root(self, query: _Query) -> tuple[int, int]:
        """Return the feature and the cut at the root of the best tree over a few cuts of each feature."""
        p = len(self._few)
        near, far, best = np.empty((p + 1, self._n_actions)), np.empty(p + 1), np.empty(self._n_actions)
        everywhere = np.ones(p + 1, bool)
        feature_pairs.two_tests(None, query.differences, everywhere, self._few_codes, self._few_first, near, far, best)
        literal = self._few[(near[1:].min(axis=1) + far[1:]).argmin()]
        feature = int(np.searchsorted(self._literals.first, literal, side="right")) - 1
        return feature, int(literal - self._literals.first[feature])


def _fewer(literals: Literals, most: int) -> tuple[Ints, Ints, Ints]:
    """Return codes (d, g) and first literals (d + 1,) of at most so many quantile cuts a feature, and their numbers."""
    codes, chosen = [], []
    for i, code in enumerate(literals.codes):
        n_cuts = int(literals.first[i + 1] - literals.first[i])
        below = np.cumsum(np.bincount(code, minlength=n_cuts + 1))
        levels = np.arange(1, most + 1) / (most + 1)
        kept = np.unique(np.minimum(np.searchsorted(below, levels * len(code)), n_cuts - 1))
        codes.append(np.searchsorted(kept, np.arange(n_cuts + 1)).astype(np.uint8)[code])
        chosen.append(literals.first[i] + kept)
    return np.array(codes), 1 + np.cumsum([0, *map(len, chosen)]), np.concatenate(chosen)


class _End(NamedTuple):
    """An end of an interval: a cut, and the least costs (d,) of the stumps of each feature below it and above it.

    Where a feature cannot have the best stump they are bounds from below.
    """

    cut: int
    left: Floats
    right: Floats


@dataclass(frozen=True)
class _Segments:
    """Bounds for runs of 2^h codes of a feature, h = lowest, lowest + 1, ...: the S and the T of the text above."""

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
class _Interval:
    """The root cuts between two ends; the contexts between are those of one segment."""

    segments: _Segments
    height: int
    number: int
    low: _End
    high: _End

    def halves(self, middle: _End | None) -> list[_Interval]:
        """Return the intervals on both sides of the middle; without one, all cuts are in the first half."""
        height, first, second = self.height - 1, 2 * self.number, 2 * self.number + 1
        if middle is None:
            return [_Interval(self.segments, height, first, self.low, self.high)]
        return [
            _Interval(self.segments, height, first, self.low, middle),
            _Interval(self.segments, height, second, middle, self.high),
        ]


class _Query:
    """Costs (g, K), counted from the cheapest action of each context and sorted by each feature."""

    def __init__(self, costs: Floats, literals: Literals, orders: npt.NDArray[np.int32], gaps: Bools) -> None:
        least = costs.min(axis=1)
        self.cheapest = float(least.sum())
        self.differences = np.ascontiguousarray((costs[:, 1:] - costs[:, :1]).T)
        self._literals, self._orders, self._gaps = literals, orders, gaps
        self._first_action = costs[:, 0] - least
        self._costs = np.ascontiguousarray(self.differences[:, orders].transpose(1, 0, 2))
        spread = costs.max(axis=1) - least
        self._spread = [self._up_to(i, spread) for i in range(len(orders))]
        self.nothing = np.zeros(len(orders)), np.zeros(len(orders))
        self.segments = [self._segments(i) for i in range(len(orders))]

    def whole(self, segments: _Segments) -> _Interval:
        """Return the interval of all cuts of a feature; what is not known of its ends is 0."""
        last = len(self._spread[segments.feature]) - 2
        return _Interval(segments, segments.height, 0, _End(-1, *self.nothing), _End(last, *self.nothing))

    def middle(self, interval: _Interval) -> _End | None:
        """Evaluate the cut between the two halves of an interval; None where the second half has no codes."""
        segments, height = interval.segments, interval.height - 1
        low, high, cut = interval.low, interval.high, ((2 * interval.number + 1) << height) - 1
        if cut >= high.cut:
            return None
        first, second = segments.stump(height, 2 * interval.number), segments.stump(height, 2 * interval.number + 1)
        left = np.maximum(low.left + first, high.left - self._between(segments, cut, high.cut))
        right = np.maximum(high.right + second, low.right - self._between(segments, low.cut, cut))
        return self.evaluate(segments.feature, cut, left, right)

    def bound(self, interval: _Interval) -> float:
        """Return a bound from below on the least total cost over the cuts of an interval."""
        segments, low, high = interval.segments, interval.low, interval.high
        apart = low.left.min() + high.right.min() + segments.tree(interval.height, interval.number)
        together = high.left.min() + low.right.min() - self._between(segments, low.cut, high.cut)
        return float(max(apart, together))

    def evaluate(self, feature: int, cut: int, left: Floats, right: Floats) -> _End:
        """Return an end at a cut, given bounds (d,) from below on the costs of stumps; these arrays are left alone."""
        holds = self._literals.codes[feature] <= cut
        sides = np.array([~holds, holds], dtype=float)
        bases, totals = sides @ self._first_action, sides @ self.differences.T
        end = _End(cut, left.copy(), right.copy())
        evaluate(
            np.argsort(left + right),
            holds.view(np.uint8),
            self._orders,
            self._costs,
            self._gaps,
            bases,
            totals,
            end.left,
            end.right,
        )
        return end

    def _between(self, segments: _Segments, low: int, high: int) -> float:
        """Return D of the contexts between two cuts."""
        spread = self._spread[segments.feature]
        return float(spread[high + 1] - spread[low + 1])

    def _up_to(self, i: int, numbers: Floats) -> Floats:
        """Return (cuts + 2,): 0, then the sums of ``numbers`` (g,) up to each code."""
        n_codes = self._literals.first[i + 1] - self._literals.first[i] + 1
        return np.append(0.0, np.cumsum(np.bincount(self._literals.codes[i], numbers, n_codes)))

    def _segments(self, i: int) -> _Segments:
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
        return _Segments(i, lowest, stumps, trees)
