"""Structure limits in the search over root cuts: how short of rows leaves are, and which subtrees make a tree.

The *shortage* of a leaf is by how many rows one of its counts is below what is asked for, 0 where none is. A leaf that
loses w rows is short of at most w rows more, and one that gains rows is short of no more than before. So what is known
of a side of a root cut is kept by the largest shortage of its leaves, 0, 1, 2, 4, ... rows, or any: 0 is for the trees
within the limits, the others are for bounds at cuts so many rows away.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from milpcb.types import Floats, Ints
from policies.literals import Literals
from policies.trees.limits import Limits


class Side(NamedTuple):
    """The least costs on one side of a root cut, or bounds from below, by the largest shortage of a leaf.

    ``leaf`` (shortages,) is of one leaf, ``subtrees`` (shortages, d) of a leaf or a stump of each feature.
    """

    leaf: Floats
    subtrees: Floats


@dataclass(frozen=True)
class RootLimits:
    """Limits on trees of depth 2 over ``n_features`` features.

    A leaf needs the ``least`` (C,) of the counts, ``counts`` (d, C, g) in the order of each feature; ``below[i]`` (C,
    cuts + 2) are those up to each code of a feature. ``shortages`` increase up to infinity.
    """

    limits: Limits
    least: Floats
    counts: Floats
    below: list[Floats]
    shortages: Floats

    @classmethod
    def of(cls, limits: Limits, rows: Floats, literals: Literals, orders: npt.NDArray[np.int32]) -> RootLimits:
        """Return the limits for contexts with the counts ``rows`` (g, 1 or 1 + K), which ``orders`` (d, g) sort."""
        least, counts = limits.asked(rows)
        below = []
        for i, codes in enumerate(literals.codes):
            n_codes = literals.first[i + 1] - literals.first[i] + 1
            sums = [np.append(0.0, np.cumsum(np.bincount(codes, count, n_codes))) for count in counts]
            below.append(np.array(sums).reshape(len(counts), n_codes + 1))
        doubled = 2.0 ** np.arange(int(least.max() - 1).bit_length()) if len(least) else []
        shortages = np.concatenate([np.zeros(min(1, len(least))), doubled, [np.inf]])
        return cls(limits, least, np.ascontiguousarray(counts[:, orders].swapaxes(0, 1)), below, shortages)

    @property
    def places(self) -> Ints:
        """The place of each number of rows among the shortages, up to the largest that is asked for."""
        return self.place(np.arange(self.least.max(initial=0.0) + 1))

    def place(self, rows: float | Floats) -> Ints:
        """Return the place of the least of the shortages that allows for so many rows."""
        return np.asarray(np.searchsorted(self.shortages, rows))

    def moved(self, feature: int, low: int, high: int) -> float:
        """Return how many rows, of any count, are between two cuts."""
        below = self.below[feature]
        return float((below[:, high + 1] - below[:, low + 1]).max(initial=0.0))

    def leaf(self, cost: float, counts: Floats) -> Floats:
        """Return (shortages,): the cost of a leaf with ``counts`` (C,), infinity where it is too short."""
        shortage = (self.least - counts).max(initial=0.0)
        return np.where(self.shortages >= shortage, cost, np.inf)

    def ways(self, feature: int, left: Side, right: Side, place: int) -> Floats:
        """Return (ways, n): what trees cost with a root of this feature, by their leaves and by their other feature.

        There are two ways where the subtrees have three leaves together: two and one, or one and two. There is one n
        unless at most two features are allowed.
        """
        below, above = left.subtrees[place], right.subtrees[place]
        if self.limits.max_features == 1:
            below, above = below[[feature]], above[[feature]]
        elif self.limits.max_features == 2:
            below, above = np.minimum(below, below[feature]), np.minimum(above, above[feature])
        else:
            below, above = below.min(keepdims=True), above.min(keepdims=True)
        if self.limits.max_leaves == 3:
            return np.array([below + right.leaf[place], left.leaf[place] + above])
        return (below + above)[None]
