"""Structure limits in the search over root cuts: costs are stored per slack level of their leaves.

The *slack* (here called shortage) of a leaf is the number of rows that it has too few, 0 if it is large enough. When
the root cut moves, a leaf that loses w rows gains at most w of slack, and one that gains rows gains none. So the costs
of each side of a root cut are stored per slack level: leaves up to 0, 1, 2, 4, ... rows too small, or any number. Level
0 holds the trees within the limits and is exact; higher levels bound the costs at cuts that are so many rows away.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from milpcb.types import Floats, Ints
from policies.literals import Literals
from policies.trees.limits import Limits


class Subtrees(NamedTuple):
    """The least costs on one side of a root cut, or bounds from below, by the largest shortage of a leaf.

    ``leaf`` (shortages,) is of one leaf, ``stumps`` (shortages, d) of a stump of each feature or a leaf, and
    ``best`` (shortages, n) of those with tests from each of n sets of features. There is one set, unless two
    features are allowed: then there are d, the root's feature and another.
    """

    leaf: Floats
    stumps: Floats
    best: Floats


@dataclass(frozen=True)
class RootLimits:
    """Limits on trees of depth 2.

    A leaf needs the ``least`` (C,) of the counts, ``counts`` (d, C, g) in the order of each feature; ``below[i][c]``
    (cuts + 2,) are 0, and those up to each code of a feature. ``shortages`` increase up to infinity.
    """

    limits: Limits
    least: Floats
    counts: Floats
    below: list[list[Floats]]
    shortages: Floats

    @classmethod
    def of(cls, limits: Limits, rows: Floats, literals: Literals, orders: npt.NDArray[np.int32]) -> RootLimits:
        """Return the limits for contexts with the counts ``rows`` (g, 1 or 1 + K), which ``orders`` (d, g) sort."""
        least, counts = limits.asked(rows)
        below: list[list[Floats]] = []
        for i, codes in enumerate(literals.codes):
            n_codes = literals.first[i + 1] - literals.first[i] + 1
            below.append([np.append(0.0, np.cumsum(np.bincount(codes, count, n_codes))) for count in counts])
        most = int(least.max(initial=0.0))
        shortages = np.array([0.0, *(2.0**h for h in range((most - 1).bit_length())), np.inf] if most else [np.inf])
        return cls(limits, least, np.ascontiguousarray(counts[:, orders].swapaxes(0, 1)), below, shortages)

    @cached_property
    def places(self) -> Ints:
        """The place of each number of rows among the shortages, up to the largest that is asked for."""
        return np.asarray(np.searchsorted(self.shortages, np.arange(self.least.max(initial=0.0) + 1)))

    def place(self, feature: int, low: int, high: int) -> int:
        """Return the place of the least shortage that allows for the rows between two cuts of a feature."""
        moved = max((rows[high + 1] - rows[low + 1] for rows in self.below[feature]), default=0.0)
        return bisect_left(self._listed, moved)

    def further(self, feature: int, low: int, high: int) -> Ints:
        """Return (shortages,): the places of the shortages that allow for the rows between two cuts as well."""
        if not self.below[feature]:
            return np.zeros(1, dtype=np.int64)
        moved = max(rows[high + 1] - rows[low + 1] for rows in self.below[feature])
        return np.asarray(np.searchsorted(self.shortages, self.shortages + moved))

    def leaf(self, cost: float, feature: int, low: int, high: int) -> Floats:
        """Return (shortages,): the cost of a leaf for the rows between two cuts, infinity where it is too short."""
        costs = np.full(len(self.shortages), cost)
        for asked, rows in zip(self.least, self.below[feature], strict=True):
            costs[self.shortages < asked - rows[high + 1] + rows[low + 1]] = np.inf
        return costs

    def side(self, feature: int, leaf: Floats, stumps: Floats) -> Subtrees:
        """Return a side of a root of this feature."""
        if self.limits.max_features == 1:
            return Subtrees(leaf, stumps, stumps[:, [feature]])
        if self.limits.max_features == 2:
            return Subtrees(leaf, stumps, np.minimum(stumps, stumps[:, [feature]]))
        return Subtrees(leaf, stumps, stumps.min(axis=1, keepdims=True))

    def cost(self, left: Subtrees, right: Subtrees, place: int = 0) -> float:
        """Return the least that trees cost with these sides."""
        if self.limits.max_leaves == 3:
            return float(self.ways(left, right, place).min())
        return float((left.best[place] + right.best[place]).min())

    def ways(self, left: Subtrees, right: Subtrees, place: int = 0) -> Floats:
        """Return (2, n): what trees cost by their set of features, with two leaves left and one right, or one and two.

        There is one such way, two leaves and two, unless trees have at most three leaves.
        """
        if self.limits.max_leaves == 3:
            return np.array([left.best[place] + right.leaf[place], left.leaf[place] + right.best[place]])
        return np.asarray([left.best[place] + right.best[place]])

    @cached_property
    def _listed(self) -> list[float]:
        """The shortages as Python numbers, which are faster one by one."""
        return [float(shortage) for shortage in self.shortages]
