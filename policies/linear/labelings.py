"""The labelings of a grid of a few columns by integer weights: they are few, and the same for all contexts.

A table has one row for each labeling of the grid (all combinations of the values of its columns) by a rule with weights
in the box; primitive weights suffice. It depends on the values, the box and K, not on the contexts. Binary columns, K =
2, weights up to 5: 4, 14, 104, 1 882 and 94 572 rows for 1 to 5 columns, which are all threshold functions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import combinations_with_replacement
from math import comb, prod
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from milpcb.types import Ints

Labels = npt.NDArray[np.int8]


class Diagram(NamedTuple):
    """A set of labelings as paths from one root: states level by level, those merged that go on alike.

    Level p decides the label of pattern p. ``child`` (states, K) is the state that a label leads to; behind the last
    pattern that is one more, and where no labeling goes on so, one more still. ``first`` (P + 1,) is where levels
    begin.

    The 94 572 threshold functions of five binary columns are a tree of 591 614 nodes and a diagram of 30 692 states.
    """

    child: npt.NDArray[np.int32]
    first: Ints

    @classmethod
    def of(cls, labels: Labels) -> Diagram:
        """Return the diagram of labelings (N, P), which are in lexicographic order and all different."""
        n_rows, n_patterns = labels.shape
        n_labels = 1 + int(labels.max())
        new = np.ones((n_rows, n_patterns), dtype=bool)  # whether a path begins or leaves that of the row before
        new[1:] = np.logical_or.accumulate(labels[1:] != labels[:-1], axis=1)
        state, rows = np.zeros(n_rows, dtype=np.int64), np.arange(n_rows)  # of each prefix, and its first row
        levels: list[Ints] = []
        for p in range(n_patterns - 1, -1, -1):
            shorter = np.flatnonzero(new[:, p - 1]) if p else np.zeros(1, dtype=np.int64)
            child = np.full((len(shorter), n_labels), -1)
            child[np.searchsorted(shorter, rows, side="right") - 1, labels[rows, p]] = state
            child, state = np.unique(child, axis=0, return_inverse=True)
            rows, state = shorter, state.ravel()
            levels.append(child)
        levels.reverse()
        first = np.cumsum([0, *map(len, levels)])
        numbered = zip(levels, first[1:], strict=True)  # children counted from the root on
        every = [np.where(child < 0, first[-1] + 1, child + after) for child, after in numbered]
        return cls(np.concatenate(every).astype(np.int32), first)  # few bytes, so that processors keep it at hand


# Numbers held at a time.
BLOCK = 2**21

Grid = tuple[int, ...]


class Shape(NamedTuple):
    """Part of a column in a table: its values, from 0 up, and the largest weight."""

    grid: Grid
    bound: int


@dataclass(frozen=True)
class LabelTable:
    """The labelings (N, P) of a grid, sorted, its last column the fastest, and weights (N, s)."""

    labels: Labels
    weights: Ints

    @cached_property
    def diagram(self) -> Diagram:
        """The labelings as paths from one root."""
        return Diagram.of(self.labels)

    @cached_property
    def _ranked(self) -> tuple[Any, Ints]:
        rows = _as_bytes(self.labels)
        order = np.argsort(rows)
        return rows[order], order

    def numbers(self, labels: Ints) -> Ints:
        """Return the numbers (n,) of the rows with these labels (n, P)."""
        rows, order = self._ranked
        return np.asarray(order[np.searchsorted(rows, _as_bytes(labels.astype(self.labels.dtype)))])

    @cached_property
    def sizes(self) -> Ints:
        """How many columns have a weight (N,)."""
        return np.asarray(np.count_nonzero(self.weights, axis=1))


def _as_bytes(labels: Labels) -> Any:
    return np.ascontiguousarray(labels).view(f"V{labels.shape[1] * labels.itemsize}").ravel()


# The weights that make all that larger ones make of 0, 1, ... columns of two values, for two actions.
_ALL_MADE_BY = (0, 1, 1, 2, 3, 5)


def enough(shapes: Sequence[Shape], n_actions: int) -> tuple[Shape, ...]:
    """Return the shapes with no larger weights than it takes to make all that these make."""
    if n_actions > 2 or len(shapes) >= len(_ALL_MADE_BY) or any(len(shape.grid) != 2 for shape in shapes):
        return tuple(shapes)
    return tuple(Shape(shape.grid, min(shape.bound, _ALL_MADE_BY[len(shapes)])) for shape in shapes)


def labels_to_build(shapes: Sequence[Shape], n_actions: int) -> int:
    """Return how many labels ``support_table`` looks at."""
    patterns, n_cuts = prod(len(shape.grid) for shape in shapes), n_actions - 1
    return prod(2 * shape.bound + 1 for shape in shapes) * comb(patterns + n_cuts, n_cuts) * patterns


@lru_cache(maxsize=256)
def support_table(n_actions: int, shapes: tuple[Shape, ...]) -> LabelTable:
    """Return the table of columns of these shapes; weights are the fewest and smallest of each row."""
    points, every = product_of([shape.grid for shape in shapes]), _weights([shape.bound for shape in shapes])
    words, size = Words(len(points), n_actions), max(1, BLOCK * len(every) // labels_to_build(shapes, n_actions))
    parts = []
    for start in range(0, len(every), size):
        keys, makers = _keys(points, every[start : start + size], words)
        parts.append(first_of_each(keys, start + makers))
    keys, makers = first_of_each(*(np.concatenate(part) for part in zip(*parts, strict=True)))
    return LabelTable(words.labels(keys), every[makers])


def _weights(bounds: Sequence[int]) -> Ints:
    """Return the primitive weights within ``bounds``, few features and small ones first."""
    box = product_of([sorted(range(-bound, bound + 1), key=lambda w: (abs(w), -w)) for bound in bounds])
    chosen = box[np.gcd.reduce(box, axis=1) <= 1]
    return np.asarray(chosen[np.lexsort((np.abs(chosen).sum(axis=1), np.count_nonzero(chosen, axis=1)))])


def _keys(points: Ints, weights: Ints, words: Words) -> tuple[Ints, Ints]:
    """Return the keys (n, W) of the labelings of ``points`` (P, s), and which of the ``weights`` makes each.

    Patterns are ordered by score: a cut is at one of them, and the highest so many are above it.
    """
    scores = weights @ points.T
    order = np.argsort(-scores, axis=1, kind="stable")
    ordered = np.take_along_axis(scores, order, axis=1)
    above = np.pad(np.cumsum(words.digits[order], axis=1), ((0, 0), (1, 0), (0, 0)))  # (n, P + 1, W)
    divides = np.pad(ordered[:, 1:] != ordered[:, :-1], ((0, 0), (1, 1)), constant_values=True)
    cuts = np.array(list(combinations_with_replacement(range(len(points) + 1), words.n_actions - 1)))
    possible = divides[:, cuts].all(axis=2)
    return above[:, cuts].sum(axis=2)[possible], np.nonzero(possible)[0]


class Words:
    """Labelings packed into integers (W,), as digits to base K, the first pattern in the highest place."""

    def __init__(self, n_patterns: int, n_actions: int) -> None:
        self.n_actions, patterns = n_actions, np.arange(n_patterns)
        fit = int(62 / np.log2(n_actions))  # digits of a word
        self._word, self._place = patterns // fit, n_actions ** (fit - 1 - patterns % fit)
        self.digits = np.zeros((n_patterns, 1 + (n_patterns - 1) // fit), dtype=np.int64)  # of label 1
        self.digits[patterns, self._word] = self._place

    def labels(self, keys: Ints) -> Labels:
        """Return the labels (n, P) of ``keys`` (n, W)."""
        return (keys[:, self._word] // self._place % self.n_actions).astype(np.min_scalar_type(-self.n_actions))


def first_of_each(keys: Ints, makers: Ints) -> tuple[Ints, Ints]:
    """Return the different ``keys`` (n, W), increasing, and of each the least of its ``makers`` (n,)."""
    order = np.lexsort((makers, *keys.T[::-1]))
    ordered = keys[order]
    new = np.append(True, (ordered[1:] != ordered[:-1]).any(axis=1))
    return ordered[new], makers[order[new]]


def product_of(factors: Sequence[Sequence[int]]) -> Ints:
    """Return all combinations, (n, factors), the last fastest."""
    sizes = [len(factor) for factor in factors]
    codes = np.indices(sizes).reshape(len(sizes), prod(sizes))
    columns = [np.array(factor, dtype=np.int64)[code] for factor, code in zip(factors, codes, strict=True)]
    return np.array(columns, dtype=np.int64).reshape(len(sizes), prod(sizes)).T
