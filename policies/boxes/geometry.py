"""The different boxes on fixed contexts, and the total costs inside and outside each."""

from __future__ import annotations

from itertools import combinations, pairwise
from math import inf

import numpy as np

from milpcb.types import Bools, Floats
from policies.boxes.rule import Interval
from policies.cuts import Distinct, Thresholds, cut_points, is_binary


class Boxes:
    """The different boxes; number 0 holds all contexts.

    ``cuts`` are the cut points of each feature, ``binary`` marks which features only take 0 and 1; ``group`` (m,) and
    ``contexts`` (g, d) are those of Opened.

    Bound 0 is minus infinity, bound 1 infinity, then come all cut points; ``_corners`` (4, B + 1) holds the bounds
    (l, u, l', u') of each box, bounds 0 and 1 of features that it leaves free.
    """

    def __init__(self, contexts: Floats, thresholds: Thresholds, *, pairs: bool) -> None:
        """Find the boxes on ``contexts`` (m, d), of one feature, or with ``pairs`` also of two."""
        self.cuts = cuts = cut_points(contexts, thresholds)
        self.binary = [is_binary(column) for column in contexts.T]
        distinct = Distinct.rows(
            np.column_stack([np.searchsorted(c, column) for c, column in zip(cuts, contexts.T, strict=True)])
        )
        self.group, self.contexts = distinct.group, contexts[distinct.first]
        self._bounds = [(0, -inf), (0, inf), *((f, cut) for f, points in enumerate(cuts) for cut in points.tolist())]
        feature, bound = (np.array(part) for part in zip(*self._bounds, strict=True))
        below = self.contexts[:, feature] <= bound
        self._below = np.ascontiguousarray(below.T, dtype=float)
        self._pairs = pairs
        self._corners = np.array(_different(_sides(cuts), below, pairs=pairs)).T
        # Where the cost map's H with a plus and with a minus stand, for one feature H[u] and H[l].
        lower, upper, lower2, upper2 = self._corners
        n = len(self._below)
        self._added = np.array([upper * n + upper2, lower * n + lower2] if pairs else [upper])
        self._taken = np.array([lower * n + upper2, upper * n + lower2] if pairs else [lower])

    def __len__(self) -> int:
        return int(self._corners.shape[1])

    def totals(self, costs: Floats) -> tuple[Floats, Floats]:
        """Return the total costs (K, B + 1) inside and outside each box; whole costs stay exact."""
        actions = np.ascontiguousarray(costs.T)
        if self._pairs:
            weighted = actions[:, None, :] * self._below
            totals = (weighted.reshape(-1, len(costs)) @ self._below.T).reshape(len(actions), -1)
        else:
            totals = actions @ self._below.T
        inside = totals.take(self._added, axis=1).sum(axis=1) - totals.take(self._taken, axis=1).sum(axis=1)
        return inside, inside[:, :1] - inside

    def hold(self, row: int) -> Bools:
        """Return (B + 1,): which boxes hold context ``row``."""
        lower, upper, lower2, upper2 = self._below[:, row][self._corners] > 0
        return np.asarray(upper & ~lower & upper2 & ~lower2)

    def intervals(self, b: int) -> tuple[Interval, ...]:
        """Return the intervals whose common part is box ``b``; none for number 0."""
        bounds = self._corners[:, b].tolist()
        return tuple(self._interval(*side) for side in (bounds[:2], bounds[2:]) if side != [0, 1])

    def _interval(self, lower: int, upper: int) -> Interval:
        f = self._bounds[max(lower, upper)][0]
        low, high = (None if side < 2 else self._bounds[side][1] for side in (lower, upper))
        return Interval(f, low, high, self.binary[f])


def cheapest(inside: Floats, outside: Floats, b: int) -> tuple[int, int]:
    """Return the cheapest actions inside and outside box ``b``, given the ``totals`` of all boxes."""
    return int(inside[:, b].argmin()), int(outside[:, b].argmin())


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
