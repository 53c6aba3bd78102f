"""The different boxes on fixed contexts, and the total costs inside and outside each."""

from __future__ import annotations

from itertools import combinations, pairwise
from math import inf

import numpy as np

from milpcb.types import Bools, Floats, Ints
from policies.boxes.rule import Interval
from policies.cuts import Distinct, Thresholds, cut_points, is_binary


class BoxList:
    """Boxes between cut points; number 0 holds all contexts.

    ``cuts`` are the cut points of each feature, ``binary`` marks which features only take 0 and 1. Bound 0 is minus
    infinity, bound 1 infinity, then come all cut points; ``corners`` (4, B + 1) holds the bounds (l, u, l', u') of each
    box, bounds 0 and 1 of features that it leaves free.
    """

    def __init__(self, cuts: list[Floats], binary: list[bool], *, pairs: bool, contexts: Floats | None = None) -> None:
        """List the boxes of one feature, or with ``pairs`` also of two, that divide ``contexts`` (g, d) differently.

        Without contexts, those that divide the space differently: all but one of two that leave out each other.
        """
        self.cuts, self.binary, self._pairs = cuts, binary, pairs
        self._bounds = [(0, -inf), (0, inf), *((f, cut) for f, points in enumerate(cuts) for cut in points.tolist())]
        sides = _sides(cuts)
        below = None if contexts is None else self._below_bounds(contexts)
        self.corners = np.array(
            _every(sides, pairs=pairs) if below is None else _different(sides, below, pairs=pairs)
        ).T

    def __len__(self) -> int:
        return int(self.corners.shape[1])

    def holding(self, contexts: Floats) -> Bools:
        """Return (n, B + 1): which boxes hold which of the ``contexts`` (n, d)."""
        lower, upper, lower2, upper2 = np.moveaxis(self._below_bounds(contexts)[:, self.corners], 1, 0)
        return np.asarray(upper & ~lower & upper2 & ~lower2)

    def totals_of(self, contexts: Floats) -> BoxTotals:
        """Return what adds up costs at ``contexts`` (n, d) inside and outside of each box."""
        below = np.ascontiguousarray(self._below_bounds(contexts).T, dtype=float)
        return BoxTotals(below, self.corners, pairs=self._pairs)

    def intervals(self, b: int) -> tuple[Interval, ...]:
        """Return the intervals whose common part is box ``b``; none for number 0."""
        bounds = self.corners[:, b].tolist()
        return tuple(self._interval(*side) for side in (bounds[:2], bounds[2:]) if side != [0, 1])

    def _below_bounds(self, contexts: Floats) -> Bools:
        """Return (n, bounds): which of the ``contexts`` (n, d) are at or below which bound."""
        feature, bound = (np.array(part) for part in zip(*self._bounds, strict=True))
        return np.asarray(contexts[:, feature] <= bound)

    def _interval(self, lower: int, upper: int) -> Interval:
        f = self._bounds[max(lower, upper)][0]
        low, high = (None if side < 2 else self._bounds[side][1] for side in (lower, upper))
        return Interval(f, low, high, self.binary[f])


class Boxes(BoxList):
    """The different boxes on fixed contexts; ``group`` (m,) and ``contexts`` (g, d) are those of Opened."""

    def __init__(self, contexts: Floats, thresholds: Thresholds, *, pairs: bool) -> None:
        """Find the boxes on ``contexts`` (m, d), of one feature, or with ``pairs`` also of two."""
        cuts = cut_points(contexts, thresholds)
        distinct = Distinct.rows(
            np.column_stack([np.searchsorted(c, column) for c, column in zip(cuts, contexts.T, strict=True)])
        )
        self.group, self.contexts = distinct.group, contexts[distinct.first]
        super().__init__(cuts, [is_binary(column) for column in contexts.T], pairs=pairs, contexts=self.contexts)
        self.totals = self.totals_of(self.contexts)  # of costs (g, K); whole costs stay exact


class BoxTotals:
    """Adds up costs inside and outside of boxes; ``below`` (bounds, n) is 1 where a context is below a bound, or 0."""

    def __init__(self, below: Floats, corners: Ints, *, pairs: bool) -> None:
        self.below, self._pairs = below, pairs
        # Where the cost map's H with a plus and with a minus stand, for one feature H[u] and H[l].
        lower, upper, lower2, upper2 = corners
        n = len(below)
        self._added = np.array([upper * n + upper2, lower * n + lower2] if pairs else [upper])
        self._taken = np.array([lower * n + upper2, upper * n + lower2] if pairs else [lower])

    def __call__(self, costs: Floats) -> tuple[Floats, Floats]:
        """Return the total costs (K, B + 1) inside and outside each box, of ``costs`` (n, K)."""
        actions = np.ascontiguousarray(costs.T)
        if self._pairs:
            weighted = actions[:, None, :] * self.below
            totals = (weighted.reshape(-1, len(costs)) @ self.below.T).reshape(len(actions), -1)
        else:
            totals = actions @ self.below.T
        inside = totals.take(self._added[0], axis=1)
        for more in self._added[1:]:
            inside += totals.take(more, axis=1)
        for less in self._taken:
            inside -= totals.take(less, axis=1)
        return inside, inside[:, :1] - inside


def _sides(cuts: list[Floats]) -> list[list[tuple[int, int]]]:
    """Return the intervals of each feature as pairs of bounds."""
    ends = np.cumsum([2, *map(len, cuts)]).tolist()
    return [
        [side for side in combinations((0, *range(first, stop), 1), 2) if side != (0, 1)]
        for first, stop in pairwise(ends)
    ]


def _different(sides: list[list[tuple[int, int]]], below: Bools, *, pairs: bool) -> list[tuple[int, int, int, int]]:
    """Return the boxes that divide the contexts differently, first all contexts, then one feature, then two."""
    inside = [np.array([below[:, upper] & ~below[:, lower] for lower, upper in of]) for of in sides]
    boxes: dict[bytes, tuple[int, int, int, int]] = {}

    def keep(held: Bools, corners: list[tuple[int, int, int, int]]) -> None:
        keys = np.packbits(held ^ held[:, :1], axis=1)  # a set and what it leaves out divide alike
        for key, box in zip(keys, corners, strict=True):
            boxes.setdefault(key.tobytes(), box)

    keep(np.ones((1, len(below)), dtype=bool), [(0, 1, 0, 1)])
    for f, held in enumerate(inside):
        if sides[f]:
            keep(held, [(*side, 0, 1) for side in sides[f]])
    for f, f2 in combinations([f for f, of in enumerate(sides) if of], 2) if pairs else ():
        for side, held in zip(sides[f], inside[f], strict=True):
            keep(inside[f2] & held, [(*side, *other) for other in sides[f2]])
    return list(boxes.values())


def _every(sides: list[list[tuple[int, int]]], *, pairs: bool) -> list[tuple[int, int, int, int]]:
    """Return all boxes, first the one of all contexts, then one feature, then two.

    Above a cut is what below it leaves out: of these boxes of one feature the first is kept.
    """
    one = [(*side, 0, 1) for of in sides for side in of if side[1] != 1]
    two = [(*side, *other) for of, of2 in combinations(sides, 2) for side in of for other in of2] if pairs else []
    return [(0, 1, 0, 1), *one, *two]
