"""The labelings of a grid of a few columns by integer weights: they are few, and the same for all contexts.

A table has one row for each labeling of the grid (all combinations of the values of its columns) by a rule with weights
in the box; primitive weights suffice. It depends on the values, the box and K, not on the contexts. Binary columns, K =
2, weights up to 5: 4, 14, 104, 1 882 and 94 572 rows for 1 to 5 columns, which are all threshold functions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from itertools import combinations_with_replacement
from math import comb, prod
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from milpcb.types import Floats, Ints
from policies.linear.rule import LinearRule, Steps
from policies.names import Names

Labels = npt.NDArray[np.int8]


class Diagram(NamedTuple):
    """The states, level by level, the root first; level p decides the label of pattern p.

    ``child`` (states, K) is the state that a label leads to; behind the last pattern that is one more, and where no
    labeling goes on so, one more still. ``before`` (states, K) counts the labelings below a state that have smaller
    labels there, so that its sum along a path is the number of the labeling. ``first`` (P + 1,) is where levels begin.

    A set of labelings as paths from one root, those that go on alike merged: the states of a decision diagram.

    The 94 572 threshold functions of five binary columns are a tree of 591 614 nodes and a diagram of 30 692 states. To
    walk down from the root is to walk the tree; a sum over all labelings looks at each state once.
    """

    child: npt.NDArray[np.int32]
    before: Ints
    first: Ints

    @classmethod
    def of(cls, labels: Labels) -> Diagram:
        """Return the diagram of labelings (N, P), which are in lexicographic order and all different."""
        n_rows, n_patterns = labels.shape
        n_labels = 1 + int(labels.max())
        new = np.ones((n_rows, n_patterns), dtype=bool)  # whether a path begins or leaves that of the row before
        new[1:] = np.logical_or.accumulate(labels[1:] != labels[:-1], axis=1)
        state, rows = np.zeros(n_rows, dtype=np.int64), np.arange(n_rows)  # of each prefix, and its first row
        counts = np.ones(1, dtype=np.int64)  # of the labelings below each state of the level
        levels: list[tuple[Ints, Ints]] = []
        for p in range(n_patterns - 1, -1, -1):
            shorter = np.flatnonzero(new[:, p - 1]) if p else np.zeros(1, dtype=np.int64)
            child = np.full((len(shorter), n_labels), -1)
            child[np.searchsorted(shorter, rows, side="right") - 1, labels[rows, p]] = state
            child, state = np.unique(child, axis=0, return_inverse=True)
            below = np.where(child >= 0, counts[child], 0).cumsum(axis=1)
            counts, rows, state = below[:, -1], shorter, state.ravel()
            levels.append((child, np.pad(below[:, :-1], ((0, 0), (1, 0)))))
        return cls._joined(levels[::-1])

    def numbers(self, labels: npt.NDArray[np.integer]) -> Ints:
        """Return the numbers (n,) of labelings (n, P)."""
        state, numbers = np.zeros((2, len(labels)), dtype=np.int64)
        for label in labels.T:
            numbers += self.before[state, label]
            state = self.child[state, label].astype(np.int64)
        return numbers

    @classmethod
    def _joined(cls, levels: list[tuple[Ints, Ints]]) -> Diagram:
        """Return the levels one after the other, children counted from the root on."""
        first = np.cumsum([0, *(len(child) for child, _ in levels)])
        numbered = zip((child for child, _ in levels), first[1:], strict=True)
        every = [np.where(child < 0, first[-1] + 1, child + after) for child, after in numbered]
        child = np.concatenate(every).astype(np.int32)  # few bytes, so that processors keep it at hand
        return cls(child, np.concatenate([before for _, before in levels]), first)


# Numbers held at a time.
BLOCK = 2**21
# The weights that make all threshold functions of 0, 1, ... columns of two values.
_ALL_MADE_BY = (0, 1, 1, 2, 3, 5)

Grid = tuple[int, ...]


class Shape(NamedTuple):
    """Part of a column in a table: its values, from 0 up, and the largest weight."""

    grid: Grid
    bound: int


@dataclass(frozen=True)
class LabelTable:
    """The labelings (N, P) of a grid, in lexicographic order, and weights (N, s) that make them.

    Where each action has a score, weights are (N, s, K).

    Patterns, the combinations of values, count the last column fastest.
    """

    labels: Labels
    weights: Ints

    @cached_property
    def diagram(self) -> Diagram:
        """The labelings as paths from one root."""
        return Diagram.of(self.labels)

    @cached_property
    def sizes(self) -> Ints:
        """How many columns have a weight (N,)."""
        used = self.weights != 0
        return np.asarray((used.any(axis=2) if used.ndim > 2 else used).sum(axis=1))

    @cached_property
    def plays(self) -> Floats:
        """Return ((K-1) P, N): whether the label is k, for k = 1..K-1 and each pattern."""
        actions = 1 + np.arange(int(self.labels.max()))[:, None]
        return np.asarray((self.labels[:, None] == actions).reshape(len(self.labels), -1).astype(float).T)


class ScoreKind(NamedTuple):
    """How scores choose among actions: which labelings weights make, and the rule that makes one.

    ``enough`` returns the shapes with no larger weights than it takes to make all that these make, ``labels_to_build``
    how many labels ``table`` looks at, and ``rule`` the rule of weights (d,), or (d, K), that labels contexts as
    ``points`` (g, d) so: ``labels`` (g,). Where labels are ``ordered``, they only rise or only fall along a column.
    """

    n_actions: int
    ordered: bool
    enough: Callable[[Sequence[Shape]], tuple[Shape, ...]]
    labels_to_build: Callable[[Sequence[Shape]], int]
    table: Callable[[tuple[Shape, ...]], LabelTable]
    rule: Callable[[Floats, Ints, Ints, Steps, Names], Any]


def one_score(n_actions: int) -> ScoreKind:
    """Return one score, with a cut between each action and the next."""
    n_cuts = n_actions - 1
    return ScoreKind(
        n_actions,
        ordered=True,
        enough=partial(enough, _ALL_MADE_BY if n_cuts == 1 else ()),
        labels_to_build=partial(labels_to_build, n_cuts=n_cuts),
        table=partial(support_table, n_cuts=n_cuts),
        rule=partial(_rule, n_cuts),
    )


def _rule(n_cuts: int, points: Floats, weights: Ints, labels: Ints, steps: Steps, names: Names) -> LinearRule:
    """Return the rule with primitive weights, each cut at a score that some context has."""
    weights = weights // max(1, int(np.gcd.reduce(weights)))
    scores = points @ weights
    cuts = (int(scores[labels > k].min(initial=scores.max() + 1)) for k in range(n_cuts))
    return LinearRule(tuple(weights.tolist()), tuple(cuts), steps, names)


def enough(made_by: Sequence[int], shapes: Sequence[Shape]) -> tuple[Shape, ...]:
    """Return the shapes with no larger weights than it takes to make all that these make.

    ``made_by`` are the weights that do for 0, 1, ... columns of two values; no more is known.
    """
    if len(shapes) >= len(made_by) or any(len(shape.grid) != 2 for shape in shapes):
        return tuple(shapes)
    return tuple(Shape(shape.grid, min(shape.bound, made_by[len(shapes)])) for shape in shapes)


def labels_to_build(shapes: Sequence[Shape], n_cuts: int) -> int:
    """Return how many labels ``support_table`` looks at."""
    patterns = prod(len(shape.grid) for shape in shapes)
    return prod(2 * shape.bound + 1 for shape in shapes) * comb(patterns + n_cuts, n_cuts) * patterns


@lru_cache(maxsize=256)
def support_table(shapes: tuple[Shape, ...], n_cuts: int) -> LabelTable:
    """Return the table of columns of these shapes, at K - 1 cuts; weights are the fewest and smallest of each row."""
    points = product_of([shape.grid for shape in shapes])
    words = Words(len(points), n_cuts)
    every = _primitive([shape.bound for shape in shapes])
    placements = np.array(list(combinations_with_replacement(range(len(points) + 1), n_cuts)))
    size = max(1, BLOCK // (len(placements) * len(points)))
    parts = [_labelings(points, every, start, start + size, placements, words) for start in range(0, len(every), size)]
    keys, makers = (np.concatenate(part) for part in zip(*parts, strict=True))
    # The negative of a weight vector comes after it, and plays K - 1 - k where that plays k.
    keys, makers = first_of_each(np.concatenate([keys, words.all - keys]), np.append(2 * makers, 2 * makers + 1))
    weights = every[makers // 2] * np.where(makers % 2, -1, 1)[:, None]
    return LabelTable(words.labels(keys), weights)


class Words:
    """Labelings packed into integers (W,), as digits to base K, the first pattern in the highest place."""

    def __init__(self, n_patterns: int, n_cuts: int) -> None:
        self._base, patterns = n_cuts + 1, np.arange(n_patterns)
        fit = int(62 / np.log2(n_cuts + 1))  # digits of a word
        self._word, self._place = patterns // fit, self._base ** (fit - 1 - patterns % fit)
        self.digits = np.zeros((n_patterns, 1 + (n_patterns - 1) // fit), dtype=np.int64)  # of label 1
        self.digits[patterns, self._word] = self._place
        self.all: Ints = n_cuts * self.digits.sum(axis=0)  # the highest action everywhere

    def keys(self, labels: Labels) -> Ints:
        """Return the keys (n, W) of ``labels`` (n, P)."""
        return np.asarray(labels @ self.digits)

    def labels(self, keys: Ints) -> Labels:
        """Return the labels (n, P) of ``keys`` (n, W)."""
        return (keys[:, self._word] // self._place % self._base).astype(np.min_scalar_type(-self._base))


def _labelings(points: Ints, every: Ints, start: int, stop: int, placements: Ints, words: Words) -> tuple[Ints, Ints]:
    """Return the keys (n, W) of the labelings that weights ``start`` to ``stop`` make, and the first that makes each.

    Patterns are ordered by score, and a cut is at one of them: the highest so many are above it.
    """
    scores = every[start:stop] @ points.T
    order = np.argsort(-scores, axis=1, kind="stable")
    ordered = np.take_along_axis(scores, order, axis=1)
    above = np.pad(np.cumsum(words.digits[order], axis=1), ((0, 0), (1, 0), (0, 0)))  # (n, P + 1, W)
    divides = np.pad(ordered[:, 1:] != ordered[:, :-1], ((0, 0), (1, 1)), constant_values=True)
    possible = divides[:, placements].all(axis=2)
    return first_of_each(above[:, placements].sum(axis=2)[possible], start + np.nonzero(possible)[0])


def first_of_each(keys: Ints, makers: Ints) -> tuple[Ints, Ints]:
    """Return the different ``keys`` (n, W), increasing, and of each the least of its ``makers`` (n,)."""
    order = np.lexsort((makers, *keys.T[::-1]))
    ordered = keys[order]
    new = np.append(True, (ordered[1:] != ordered[:-1]).any(axis=1))
    return ordered[new], makers[order[new]]


def _primitive(bounds: list[int]) -> Ints:
    """Return weights without a common factor whose first non-zero entry is positive, and 0: few, small ones first."""
    box = product_of([sorted(range(-bound, bound + 1), key=lambda w: (abs(w), -w)) for bound in bounds])
    # Read as digits, weights have the sign of the first one that is not 0.
    number = box @ (2 * max(bounds, default=0) + 1) ** np.arange(len(bounds))[::-1]
    chosen = box[(number >= 0) & (np.gcd.reduce(box, axis=1) <= 1)]
    return np.asarray(chosen[np.lexsort((np.abs(chosen).sum(axis=1), np.count_nonzero(chosen, axis=1)))])


def product_of(factors: Sequence[Sequence[int]]) -> Ints:
    """Return all combinations, (n, factors), the last fastest."""
    sizes = [len(factor) for factor in factors]
    codes = np.indices(sizes).reshape(len(sizes), prod(sizes))
    columns = [np.array(factor, dtype=np.int64)[code] for factor, code in zip(factors, codes, strict=True)]
    return np.array(columns, dtype=np.int64).reshape(len(sizes), prod(sizes)).T
