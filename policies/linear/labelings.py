"""The labelings of a grid of a few columns by integer weights: they are few, and the same for all contexts.

A table has one row for each labeling of the grid (all combinations of the values of its columns) by a rule with weights
in the box; primitive weights suffice. It depends on the values, the box and K, not on the contexts. Binary columns, K =
2, weights up to 5: 4, 14, 104, 1 882 and 94 572 rows for 1 to 5 columns, which are all threshold functions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import combinations_with_replacement, product
from math import comb, prod
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from milpcb.types import Floats, Ints

# Numbers held at a time.
_BLOCK = 2**21

Grid = tuple[int, ...]
Labels = npt.NDArray[np.int8]


class Shape(NamedTuple):
    """What a column brings to a table: its values, from 0 up, and the largest weight."""

    grid: Grid
    bound: int


@dataclass(frozen=True)
class LabelTable:
    """The labelings (N, P) of a grid, and weights (N, s) that make them; patterns count the last column fastest."""

    labels: Labels
    weights: Ints

    @cached_property
    def above(self) -> Floats:
        """Return ((K-1) P, N): whether the label is at least k, for k = 1..K-1 and each pattern."""
        cuts = np.arange(int(self.labels.max()))[:, None]
        return np.asarray((self.labels[:, None] > cuts).reshape(len(self.labels), -1).astype(float).T)


def labels_to_build(shapes: Sequence[Shape], n_cuts: int) -> int:
    """Return how many labels ``support_table`` looks at."""
    patterns = prod(len(shape.grid) for shape in shapes)
    return prod(2 * shape.bound + 1 for shape in shapes) * comb(patterns + n_cuts, n_cuts) * patterns


@lru_cache(maxsize=256)
def support_table(shapes: tuple[Shape, ...], n_cuts: int) -> LabelTable:
    """Return the table of columns of these shapes, at K - 1 cuts; rows that few, small weights make come first."""
    points = _product([shape.grid for shape in shapes])
    placements = np.array(list(combinations_with_replacement(range(len(points) + 1), n_cuts)))
    every = _primitive([shape.bound for shape in shapes])
    found: dict[bytes, tuple[Labels, Ints]] = {}
    size = max(1, _BLOCK // (len(placements) * len(points)))
    for start in range(0, len(every), size):
        labels, weights = _labelings(points, every[start : start + size], placements)
        keys = labels.view(np.dtype((np.void, len(points)))).ravel()
        first = np.sort(np.unique(keys, return_index=True)[1])
        for key, labeling, vector in zip(keys[first].tolist(), labels[first], weights[first], strict=True):
            found.setdefault(key, (labeling, vector))
    labelings, vectors = zip(*found.values(), strict=True)
    return LabelTable(np.array(labelings), np.array(vectors))


def _primitive(bounds: list[int]) -> Ints:
    """Return weights without a common factor whose first non-zero entry is positive, and 0: few, small ones first."""
    box = _product([sorted(range(-bound, bound + 1), key=lambda w: (abs(w), -w)) for bound in bounds])
    # Read as digits, weights have the sign of the first one that is not 0.
    number = box @ (2 * max(bounds, default=0) + 1) ** np.arange(len(bounds))[::-1]
    chosen = box[(number >= 0) & (np.gcd.reduce(box, axis=1) <= 1)]
    return np.asarray(chosen[np.lexsort((np.abs(chosen).sum(axis=1), np.count_nonzero(chosen, axis=1)))])


def _product(factors: Sequence[Sequence[int]]) -> Ints:
    """Return all combinations, (n, factors), the last fastest."""
    return np.array(list(product(*factors)), dtype=np.int64).reshape(prod(map(len, factors)), len(factors))


def _labelings(points: Ints, weights: Ints, placements: Ints) -> tuple[Labels, Ints]:
    """Return (n, P) labels and (n, s) weights: each weight vector, then its negative, at each placement of the cuts."""
    scores = weights @ points.T
    ordered = np.sort(scores, axis=1)
    cuts = np.hstack([ordered, ordered[:, -1:] + 1])[:, placements]
    labels = (scores[:, None, :, None] >= cuts[:, :, None, :]).sum(axis=-1, dtype=np.int8)
    both = np.stack([labels, placements.shape[1] - labels], axis=1)
    made_by = np.stack([weights, -weights], axis=1).reshape(2 * len(weights), weights.shape[1])
    return both.reshape(-1, len(points)), np.repeat(made_by, len(placements), axis=0)
