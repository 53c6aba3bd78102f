"""The labelings of a grid of a few columns by integer weights: they are few, and the same for all contexts.

A table has one row for each labeling of the grid (all combinations of the values of its columns) by a rule with weights
in the box; primitive weights suffice. It depends on the values, the box and K, not on the contexts. Binary columns, K =
2, weights up to 5: 4, 14, 104, 1 882 and 94 572 rows for 1 to 5 columns, which are all threshold functions.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import combinations_with_replacement, permutations, product
from math import comb, factorial, prod
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from milpcb.types import Ints
from policies.paths.graph import Graph

Labels = npt.NDArray[np.int8]


# Numbers held at a time.
BLOCK = 2**21
# Differences of scores that 32 bits hold several times.
LARGEST_SMALL = 2**24

Grid = tuple[int, ...]


class Shape(NamedTuple):
    """Part of a column in a table: its values, from 0 up, and the largest weight."""

    grid: Grid
    bound: int


@dataclass(frozen=True)
class LabelTable:
    """The labelings (N, P) of a grid, sorted, its last column the fastest, and weights (N, s), or (N, s, K)."""

    labels: Labels
    weights: Ints

    @cached_property
    def diagram(self) -> Diagram:
        """The labelings as the paths of a graph.

        The 94 572 threshold functions of five binary columns are a tree of 591 614 nodes and a graph of 30 692.
        """
        return diagram_of(self.labels)

    @cached_property
    def sizes(self) -> Ints:
        """How many columns have a weight (N,)."""
        weights = self.weights if self.weights.ndim == 2 else self.weights.any(axis=2)
        return np.asarray(np.count_nonzero(weights, axis=1))


class Diagram(NamedTuple):
    """Labelings as paths: an edge of term p * K + a gives pattern p the label a; nodes that go on alike are one.

    ``before`` (edges,) counts the labelings by an earlier edge from the same node: they add up to a row's number.
    """

    graph: Graph
    before: Ints


def diagram_of(labels: Labels) -> Diagram:
    """Return the diagram of labelings (N, P), which are in lexicographic order and all different."""
    n_rows, n_patterns = labels.shape
    n_labels = 1 + int(labels.max())
    new = np.ones((n_rows, n_patterns), dtype=bool)  # whether a path begins or leaves that of the row before
    new[1:] = np.logical_or.accumulate(labels[1:] != labels[:-1], axis=1)
    node, rows, n_below = np.zeros(n_rows, dtype=np.int64), np.arange(n_rows), np.ones(1, dtype=np.int64)
    levels: list[tuple[Ints, Ints]] = []  # the nodes that labels lead to, -1 for none, and the rows before these
    for p in range(n_patterns - 1, -1, -1):
        shorter = np.flatnonzero(new[:, p - 1]) if p else np.zeros(1, dtype=np.int64)
        to = np.full((len(shorter), n_labels), -1)
        to[np.searchsorted(shorter, rows, side="right") - 1, labels[rows, p]] = node
        to, node = np.unique(to, axis=0, return_inverse=True)
        rows, node = shorter, node.ravel()
        own = np.where(to < 0, 0, n_below[to])
        levels.insert(0, (to, np.cumsum(own, axis=1) - own))
        n_below = own.sum(axis=1)
    edges, begin = [], 0
    for p, (to, before) in enumerate(levels):
        source, label = np.nonzero(to >= 0)
        after = begin + len(to)
        edges.append((begin + source, after + to[source, label], p * n_labels + label, before[source, label]))
        begin = after
    source, to, term, before = (np.concatenate(part) for part in zip(*edges, strict=True))
    return Diagram(Graph(source, to, term, n_patterns, n_labels), before)


@dataclass(frozen=True)
class ScoreKind(ABC):
    """How scores choose one of K actions, and so which labelings of a grid weights make."""

    n_actions: int

    @property
    @abstractmethod
    def all_made_by(self) -> tuple[int, ...]:
        """The weights that make all that larger ones make of 0, 1, ... columns of two values."""

    @abstractmethod
    def n_weights(self, bound: int) -> int:
        """Return how many weights a column may have within [-bound, bound]."""

    @abstractmethod
    def n_placements(self, n_patterns: int) -> int:
        """Return how many labelings of patterns are tried for given weights, no fewer than these make."""

    @abstractmethod
    def weights(self, bounds: Sequence[int]) -> Ints:
        """Return the weights to try, (N, s) or (N, s, K), within ``bounds``, few features and small ones first."""

    @abstractmethod
    def keys(self, points: Ints, weights: Ints, words: Words) -> tuple[Ints, Ints]:
        """Return the keys (n, W) of the labelings of ``points`` (P, s), and which of the ``weights`` makes each."""

    def enough(self, shapes: Sequence[Shape]) -> tuple[Shape, ...]:
        """Return the shapes with no larger weights than it takes to make all that these make."""
        known = self.all_made_by
        if len(shapes) >= len(known) or any(len(shape.grid) != 2 for shape in shapes):
            return tuple(shapes)
        return tuple(Shape(shape.grid, min(shape.bound, known[len(shapes)])) for shape in shapes)

    def labels_to_build(self, shapes: Sequence[Shape]) -> int:
        """Return how many labels ``support_table`` looks at."""
        patterns = prod(len(shape.grid) for shape in shapes)
        return prod(self.n_weights(shape.bound) for shape in shapes) * self.n_placements(patterns) * patterns


class OneScore(ScoreKind):
    """One score, with a cut between each action and the next."""

    @property
    def all_made_by(self) -> tuple[int, ...]:
        return (0, 1, 1, 2, 3, 5) if self.n_actions == 2 else ()

    def n_weights(self, bound: int) -> int:
        return 2 * bound + 1

    def n_placements(self, n_patterns: int) -> int:
        return comb(n_patterns + self.n_actions - 1, self.n_actions - 1)

    def weights(self, bounds: Sequence[int]) -> Ints:
        box = product_of([sorted(range(-bound, bound + 1), key=lambda w: (abs(w), -w)) for bound in bounds])
        chosen = box[np.gcd.reduce(box, axis=1) <= 1]
        return np.asarray(chosen[np.lexsort((np.abs(chosen).sum(axis=1), np.count_nonzero(chosen, axis=1)))])

    def keys(self, points: Ints, weights: Ints, words: Words) -> tuple[Ints, Ints]:
        """Order patterns by score: a cut is at one of them, and the highest so many are above it."""
        scores = weights @ points.T
        order = np.argsort(-scores, axis=1, kind="stable")
        ordered = np.take_along_axis(scores, order, axis=1)
        above = np.pad(np.cumsum(words.digits[order], axis=1), ((0, 0), (1, 0), (0, 0)))  # (n, P + 1, W)
        divides = np.pad(ordered[:, 1:] != ordered[:, :-1], ((0, 0), (1, 1)), constant_values=True)
        cuts = np.array(list(combinations_with_replacement(range(len(points) + 1), self.n_actions - 1)))
        possible = divides[:, cuts].all(axis=2)
        return above[:, cuts].sum(axis=2)[possible], np.nonzero(possible)[0]


class EachScore(ScoreKind):
    """A score for each action, of which the highest plays, of equal ones the first.

    A common shift of the weights of a column changes no label, so of all alike the smallest are taken. Bases, which
    scores begin with, are any integers. Those that give a labeling form a lattice, and in its least point the base of
    an action that is played is at the least that puts it ahead of an action placed before it at some pattern, action 0
    at 0: so all labelings come from placing the actions one after the other, in every order.
    """

    @property
    def all_made_by(self) -> tuple[int, ...]:
        """Of three columns known for three actions alone.

        Of two columns, weights of 1 make every labeling but those that are alike on either diagonal and differ between
        them, which no weights make. Of three columns and three actions weights of 2 make 2 937 labelings: for each of
        the other 3 624 real weights and bases have no solution (scipy's linprog).
        """
        return (0, 1, 1, 2) if self.n_actions <= 3 else (0, 1, 1)

    def n_weights(self, bound: int) -> int:
        """Return how many vectors of K weights there are, of those alike but for a shift one."""
        return int((2 * bound + 1) ** self.n_actions - (2 * bound) ** self.n_actions)

    def n_placements(self, n_patterns: int) -> int:
        return factorial(self.n_actions - 1) * prod(k * n_patterns + 1 for k in range(1, self.n_actions))

    def weights(self, bounds: Sequence[int]) -> Ints:
        vectors = [self._column_weights(bound) for bound in bounds]
        chosen = product_of([range(len(each)) for each in vectors])
        every = np.empty((*chosen.shape, self.n_actions), dtype=np.int64)
        for column, each in enumerate(vectors):
            every[:, column] = each[chosen[:, column]]
        return every[np.lexsort((np.abs(every).sum(axis=(1, 2)), every.any(axis=2).sum(axis=1)))]

    def _column_weights(self, bound: int) -> Ints:
        """Return the weights (n, K) of one column, 0 first, of those alike but for a shift the smallest."""
        box = sorted(product(range(-bound, bound + 1), repeat=self.n_actions), key=lambda w: (sum(map(abs, w)), w))
        smallest: dict[tuple[int, ...], tuple[int, ...]] = {}
        for vector in box:
            smallest.setdefault(tuple(w - vector[0] for w in vector), vector)
        return np.array(list(smallest.values()), dtype=np.int64)

    def keys(self, points: Ints, weights: Ints, words: Words) -> tuple[Ints, Ints]:
        labels = labels_of(np.einsum("ps,nsk->npk", points, weights))
        makers = np.repeat(np.arange(len(weights)), labels.shape[1])
        return np.asarray(labels.reshape(-1, len(points)) @ words.digits), makers


def labels_of(scores: Ints) -> Labels:
    """Return the labels (n, c, P) of patterns with ``scores`` (n, P, K), by enough bases to give all that any give."""
    scores = scores.astype(np.int32 if np.ptp(scores) < LARGEST_SMALL else np.int64)  # the smaller ones are quicker
    orders = permutations(range(1, scores.shape[2]))
    bases = np.concatenate([_placed(scores, order) for order in orders], axis=1)  # (n, c, K)
    best = scores[:, None, :, 0] + bases[:, :, None, 0]
    labels = np.zeros(best.shape, dtype=np.int8)
    for action in range(1, scores.shape[2]):
        own = scores[:, None, :, action] + bases[:, :, None, action]
        labels[own > best] = action
        best = np.maximum(best, own)
    return labels


def _placed(scores: Ints, order: Sequence[int]) -> Ints:
    """Return the bases (n, c, K) of actions that are placed in this order, or left behind action 0 everywhere."""
    n, n_patterns, K = scores.shape
    never = -1 - np.ptp(scores)
    bases, before = np.full((n, 1, K), never, dtype=scores.dtype), [0]
    bases[:, :, 0] = 0
    for action in order:
        least = [scores[:, :, b] - scores[:, :, action] + (action > b) for b in before]  # (n, P)
        tried = [(bases[:, :, [b]] + ahead[:, None]).reshape(n, -1) for b, ahead in zip(before, least, strict=True)]
        tried.insert(0, np.full(bases.shape[:2], never))
        bases = np.concatenate([bases, *(np.repeat(bases, n_patterns, axis=1) for _ in before)], axis=1)
        bases[:, :, action] = np.concatenate(tried, axis=1)
        before.append(action)
    return bases


@lru_cache(maxsize=256)
def support_table(kind: ScoreKind, shapes: tuple[Shape, ...]) -> LabelTable:
    """Return the table of columns of these shapes; weights are the fewest and smallest of each row."""
    points, every = product_of([shape.grid for shape in shapes]), kind.weights([shape.bound for shape in shapes])
    words, size = Words(len(points), kind.n_actions), max(1, BLOCK * len(every) // kind.labels_to_build(shapes))
    parts = []
    for start in range(0, len(every), size):
        keys, makers = kind.keys(points, every[start : start + size], words)
        parts.append(first_of_each(keys, start + makers))
    keys, makers = first_of_each(*(np.concatenate(part) for part in zip(*parts, strict=True)))
    return LabelTable(words.labels(keys), every[makers])


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
    """Return the different ``keys`` (n, W), increasing, and the least of the ``makers`` (n,) of each."""
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
