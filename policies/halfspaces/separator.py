"""Rows that cut off labelings which no halfspace has, and good labelings near a point; program.py defines the rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np

from milpcb.protocols import Cuts, Separator
from milpcb.types import Bools, Floats, Ints
from policies.halfspaces.fitting import MARGIN, highs, hulls, losses, scaled, vertex

# A point is on a hyperplane when its score is at most this share of the largest. Points span no hyperplane when their
# singular values differ by more than the inverse of the other share; scores are exact to a tenth of the first one then.
_ON = 1e-8
_FLAT = 1e-7


class Dichotomies(NamedTuple):
    """Labels (N, g), each once and in increasing order, and an estimate (N,) of the margin with which they are had."""

    labels: Bools
    margins: Floats


def dichotomies(points: Floats) -> Dichotomies:
    """Return how halfspaces label ``points`` (g, d), different ones.

    All labelings of a few points by halfspaces, from the hyperplanes that they span.

    A halfspace can be moved, without a change of labels, until its boundary holds as many affinely independent points
    as there are dimensions; those on the boundary are labelled by a halfspace of one dimension less. Conversely, a
    boundary turns a little to label the points on it as any of these do. In general position there are 2^d ways, at
    each of the C(g, d) hyperplanes; the others are gone through once each, by recursion.
    """
    centred = points - points.mean(axis=0)
    _, sizes, axes = np.linalg.svd(centred, full_matrices=False)
    rank = int((sizes > _ON * sizes.max(initial=1.0)).sum())
    n = len(points)
    if n == rank + 1:
        return Dichotomies(_binary(n), np.full(2**n, sizes[rank - 1] / sizes[0] if rank else 1.0))
    affine = np.column_stack([centred @ axes[:rank].T, np.ones(n)])
    subsets = np.array(list(combinations(range(n), rank)))
    _, spread, normals = np.linalg.svd(affine[subsets])
    scores = normals[:, -1] @ affine.T
    scores /= np.abs(scores).max(axis=1, keepdims=True)
    spans = spread[:, -1] > _FLAT * spread[:, 0]
    scores, independence = scores[spans], spread[spans, -1] / spread[spans, 0]
    on = np.abs(scores) <= _ON
    room = independence * np.where(on, 1.0, np.abs(scores)).min(axis=1)
    simple = on.sum(axis=1) == rank
    found = [_constant(n), _turned(scores[simple] > 0.0, subsets[spans][simple], room[simple])]
    flats, first = np.unique(on[~simple], axis=0, return_index=True)
    for flat, score, margin in zip(flats, scores[~simple][first], room[~simple][first], strict=True):
        within = dichotomies(points[flat])
        labels = np.tile(score > 0.0, (len(within.labels), 1))
        labels[:, flat] = within.labels
        found.append(Dichotomies(labels, margin * within.margins))
    labels, margins = np.concatenate([one.labels for one in found]), np.concatenate([one.margins for one in found])
    return _distinct(np.concatenate([labels, ~labels]), np.concatenate([margins, margins]))


def _turned(sides: Bools, on: Floats, room: Floats) -> Dichotomies:
    """Return hyperplanes, by the ``sides`` (n, g) of the points, turned in all ways about the points ``on`` (n, d)."""
    ways = _binary(on.shape[1])
    labels = np.repeat(sides[:, None], len(ways), axis=1)
    np.put_along_axis(labels, np.broadcast_to(on[:, None], (len(on), *ways.shape)), ways[None], axis=2)
    return Dichotomies(labels.reshape(-1, sides.shape[1]), np.repeat(room, len(ways)))


def _distinct(labels: Bools, margins: Floats) -> Dichotomies:
    """Return each labeling once, with the largest of its margins."""
    packed = np.packbits(labels, axis=1)
    keys = packed.view(np.dtype((np.void, packed.shape[1]))).ravel()
    _, first, number = np.unique(keys, return_index=True, return_inverse=True)
    largest = np.zeros(len(first))
    np.maximum.at(largest, number, margins)
    return Dichotomies(labels[first], largest)


def _binary(n: int) -> Bools:
    """Return all labels of ``n`` points, in increasing order."""
    return (np.arange(2**n)[:, None] >> np.arange(n)[::-1] & 1).astype(bool)


def _constant(n: int) -> Dichotomies:
    return Dichotomies(np.zeros((1, n), dtype=bool), np.ones(1))


# Sets met before one labeling is good enough.
_MOST_MET = 150


class Agreement:
    """Sets of contexts (g,) that some halfspace labels as the objective wants them, and steps to heavier ones.

    ``conflict(labels, kept)`` returns a set of members, of those kept, that no halfspace labels so, or None; ``met``
    are all that it returned.
    """

    def __init__(self, conflict: Callable[[Bools, Bools], Ints | None], objective: Floats) -> None:
        self.wanted, self.weight = objective < 0, np.abs(objective)
        self.met: list[Ints] = []
        self._find = conflict

    def grow(self, kept: Bools) -> Bools:
        """Return ``kept`` (g,) with each further context, by number, that a halfspace can label with the set so far."""
        for j in self._left_out(kept):
            if self._conflict(more := _with(kept, j, True)) is None:
                kept = more
        return kept

    def swap(self, kept: Bools) -> Bools | None:
        """Return a heavier set: ``kept`` (g,) with one context exchanged for another, then grown.

        None where none is found.
        """
        for j in self._left_out(kept):
            more = _with(kept, j, True)
            for i in self._in_the_way(more, j):
                other = _with(more, i, False)
                if len(self.met) < _MOST_MET and self._conflict(other) is None:
                    grown = self.grow(other)
                    if self.weight[grown].sum() > self.weight[kept].sum():
                        return grown
        return None

    def _left_out(self, kept: Bools) -> Ints:
        """Return the numbers of the contexts of positive weight that are not in ``kept`` (g,)."""
        return np.flatnonzero(~kept & (self.weight > 0))

    def _in_the_way(self, more: Bools, j: int) -> list[int]:
        """Return the contexts other than j of one conflict in the set ``more`` (g,); none where it has no conflict."""
        members = self._conflict(more)
        return [] if members is None else [i for i in members % len(more) if i != j]

    def _conflict(self, kept: Bools) -> Ints | None:
        members = self._find(self.wanted, kept)
        if members is not None:
            self.met.append(members)
        return members


def _with(kept: Bools, j: int, value: bool) -> Bools:
    changed = kept.copy()
    changed[j] = value
    return changed


# Basic solutions are exact to rounding: what is larger is no zero.
_ZERO = 1e-12
# A row is worth adding when a point breaks it by this much.
_BROKEN = 1e-3
# Sets looked for at one point, and how much dearer the members of one are for the next.
_SETS = 10
_DEARER = 0.3
# A labeling is listed without a linear program where an estimate of its margin is this, a hundred times what it needs.
_CERTAIN = 100 * MARGIN
# Where a program has ended: sets looked for at random prices up to 1, and the price of members that may not come.
_VARIED = 10
_FORBIDDEN = 1e6


class LabelSeparator(Separator):
    """Which labels halfspaces give to contexts (g, d): sets that none labels so, and good labelings near a point.

    In a *set*, j stands for context j with label 1 and g + j for context j with label 0.
    """

    def __init__(self, contexts: Floats) -> None:
        self._n = len(contexts)
        self._affine = np.column_stack([scaled(contexts)[0], np.ones(self._n)])
        solver = highs()
        self._hulls = solver.open(hulls(self._affine), relax=True)
        self._losses = solver.open(losses(self._affine), relax=True)
        self._rng = np.random.default_rng(0)
        self._objective = np.zeros(self._n)
        self._best = np.zeros(self._n, dtype=bool)

    def cuts(self, x: Floats, objective: Floats) -> Cuts:
        """Return rows that ``x`` breaks, none when it is a labeling of the class, and the best labeling so far."""
        if not np.array_equal(objective, self._objective):
            self._objective = objective.copy()  # the best labeling for the last objective is the first for this one
            self._try(self._fitted(objective))
        prices = np.concatenate([1.0 - x, x]).clip(0.0, 1.0)
        whole, labels = bool(np.minimum(x, 1.0 - x).max() < _BROKEN), x > 0.5
        sets = [*self._cheap(prices), *self._disjoint(labels)]
        if whole and not sets:
            self._try(labels)
            return self._rows([])
        # What x disagrees with counts less: it may well be wrong there.
        missed = np.where(objective < 0, prices[: self._n], prices[self._n :])
        self._try(self._fitted(objective * (1.0 - missed) ** 2))
        if whole or not sets:
            sets += self._better()
        if whole:
            sets += self._varied(labels)
        return self._rows([members for members in sets if prices[members].sum() < 1.0 - _BROKEN])

    def conflict(self, labels: Bools, fixed: Bools | None = None) -> Ints | None:
        """Return a minimal set of contexts, of those ``fixed`` (g,), that no halfspace labels so, or None."""
        kept = np.ones(self._n, dtype=bool) if fixed is None else fixed
        allowed = np.concatenate([kept & labels, kept & ~labels])
        return self._within(allowed, np.where(allowed, 0.0, 1.0))

    def labelings(self) -> Bools:
        """Return the labelings (N, g) of halfspaces, each once, in increasing order."""
        labels, margins = dichotomies(self._affine[:, :-1])
        kept = margins >= _CERTAIN
        for number in np.flatnonzero(~kept):
            kept[number] = self.conflict(labels[number]) is None
        return np.asarray(labels[kept])

    # ----------------------------------------------------------------- sets and their rows

    def _within(self, allowed: Bools, prices: Floats) -> Ints | None:
        """Return a minimal set of members that are ``allowed`` (2g,), or None where the lightest is none."""
        weights = vertex(self._hulls, prices)
        return None if weights[~allowed].sum() > MARGIN else np.flatnonzero((weights > _ZERO) & allowed)

    def _cheap(self, prices: Floats) -> Iterator[Ints]:
        """Yield sets that cost less than 1; the members of each are dearer for the next."""
        now = prices.copy()
        for _ in range(_SETS):
            members = np.flatnonzero(vertex(self._hulls, now) > _ZERO)
            if prices[members].sum() >= 1.0 - _BROKEN:
                return
            yield members
            now[members] += _DEARER

    def _disjoint(self, labels: Bools) -> Iterator[Ints]:
        """Yield sets without common contexts, until halfspaces label the rest so."""
        fixed = np.ones(self._n, dtype=bool)
        while (members := self.conflict(labels, fixed)) is not None:
            yield members
            fixed[members % self._n] = False

    def _varied(self, labels: Bools) -> Iterator[Ints]:
        """Yield sets that are lightest at random prices."""
        allowed = np.concatenate([labels, ~labels])
        for _ in range(_VARIED):
            members = self._within(allowed, np.where(allowed, self._rng.random(2 * self._n), _FORBIDDEN))
            if members is not None:
                yield members

    def _rows(self, sets: Sequence[Ints]) -> Cuts:
        """Return the rows (1) of these sets."""
        matrix, lower = np.zeros((len(sets), self._n)), np.ones(len(sets))
        for r, members in enumerate(sets):
            ones, zeros = members[members < self._n], members[members >= self._n] - self._n
            matrix[r, ones], matrix[r, zeros] = -1.0, 1.0
            lower[r] -= len(ones)
        return Cuts(matrix, lower, np.full(len(sets), np.inf), self._best.astype(float))

    # ----------------------------------------------------------------- good labelings

    def _try(self, labels: Bools) -> None:
        """Keep these labels if they cost less than the best so far and are those of a halfspace."""
        if self._objective @ labels < self._objective @ self._best and self.conflict(labels) is None:
            self._best = labels

    def _fitted(self, objective: Floats) -> Bools:
        """Return the labels of the halfspace of least hinge loss, for label 1 where the objective is below 0."""
        n_weights = self._affine.shape[1]
        prices = np.concatenate([np.zeros(n_weights), np.maximum(-objective, 0.0), np.maximum(objective, 0.0)])
        return np.asarray(self._affine @ vertex(self._losses, prices)[:n_weights] >= 0.0)

    def _better(self) -> list[Ints]:
        """Look for a labeling that agrees with more of the objective than the best; return the sets met on the way."""
        agreement = Agreement(self.conflict, self._objective)
        kept: Bools | None = agreement.grow((self._best == agreement.wanted) & (agreement.weight > 0))
        while kept is not None:
            self._try(self._fitted(np.where(kept, self._objective, 0.0)))
            kept = agreement.swap(kept)
        return agreement.met
