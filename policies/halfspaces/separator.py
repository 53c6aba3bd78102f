"""One halfspace as a rule of widest margin, and the labels that halfspaces give to contexts.

A rule has the fewest digits that keep the labels whatever the rounding. Small linear programs answer all questions.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import cast

import numpy as np

from milpcb.core.decimals import MOST_DIGITS
from milpcb.errors import SolverFailedError
from milpcb.plugins import registry
from milpcb.program import Program, ProgramBuilder
from milpcb.protocols import Cuts, Separator, Session, Solver
from milpcb.types import Bools, Floats, Ints
from policies.names import Names
from policies.rule import ScoreRule


@dataclass(frozen=True, repr=False)
class HalfspaceRule(ScoreRule):
    """Play action 1 where ``weights`` times the features add up to at least the one cut, else action 0.

    On contexts that the rule was made for no rounding decides; elsewhere a score within rounding of the cut, about
    1e-15 of the largest term, may fall on the other side of it.
    """

    weights: tuple[float, ...]
    cuts: tuple[float]
    names: Names = field(default=Names(), compare=False)


# The margin of a labeling as a share of the largest score; ten times what solvers are exact to.
MARGIN = 1e-6


def highs() -> Solver:
    """Return the solver of all linear programs in this file."""
    return cast("Solver", registry.load("solver", "highs")())


def vertex(session: Session, objective: Floats) -> Floats:
    """Return the basic solution of least objective."""
    solution = session.solve(objective)
    if solution.x is None:
        raise SolverFailedError(f"HiGHS stopped with '{solution.stop}' on a bounded feasible linear program; report it")
    return solution.x


def scaled(contexts: Floats) -> tuple[Floats, Floats]:
    """Return contexts (g, d) with each column between -1 and 1, and half the range of each column (d,)."""
    low, high = contexts.min(axis=0), contexts.max(axis=0)
    half = np.where(high > low, (high - low) / 2, 1.0)
    return (contexts - (low + high) / 2) / half, half


def hulls(affine: Floats) -> Program:
    """Return the program of lambda for label 1, then for label 0, of contexts with a 1 added: ``affine`` (g, d + 1)."""
    b = ProgramBuilder()
    weights = b.columns("lambda", (2 * len(affine),))
    b.rows((np.tile(weights, (affine.shape[1], 1)), np.concatenate([affine, -affine]).T), lower=0.0, upper=0.0)
    b.rows((weights[None], 1.0), lower=1.0, upper=1.0)
    return b.build()


# The cut is at most this share of the gap away from its middle; the rest of each half is kept clear of scores.
_OFF = 0.4


def rule_of(contexts: Floats, labels: Bools, names: Names) -> HalfspaceRule:
    """Return a rule that gives these labels (g,) to the ``contexts`` (g, d), by real numbers and by float64 alike.

    It has the fewest digits with at least half the widest margin, every score beyond rounding from the cut.
    """
    if labels.all() or not labels.any():
        return HalfspaceRule((0.0,) * contexts.shape[1], (0.0 if labels.all() else 1.0,), names)
    exact = _widest(contexts, labels)
    *_, widest = _gap(contexts, labels, exact)
    for digits in range(1, MOST_DIGITS + 1):
        weights = np.array([_rounded(weight, digits) for weight in exact])
        low, high, margin = _gap(contexts, labels, weights)
        if margin >= widest / 2 and (0.5 - _OFF) * (high - low) > _rounding(contexts, weights):
            break
    return HalfspaceRule(tuple(weights.tolist()), (_between(low, high),), names)


def _rounding(contexts: Floats, weights: Floats) -> float:
    """Return a bound on the error of a score of d terms (Higham 2002, section 3.1), read back from decimals too."""
    largest = float((np.abs(contexts) @ np.abs(weights)).max())
    return (len(weights) + 4) * float(np.finfo(float).eps) * largest


def _widest(contexts: Floats, labels: Bools) -> Floats:
    """Return weights (d,), the largest 1, that hold the labels furthest apart on columns scaled alike."""
    points, half = scaled(contexts)
    d = len(half)
    b = ProgramBuilder()
    w, t, margin = b.columns("w", (d,), -1.0, 1.0), b.columns("t", (1,), -d, d), b.columns("margin", (1,), 0.0, 2.0 * d)
    sign = np.where(labels, 1.0, -1.0)[:, None]
    b.rows((np.tile(w, (len(points), 1)), sign * points), (t[None], -sign), (margin[None], -1.0), lower=0.0)
    program = b.build()
    session = highs().open(program, relax=True)
    weights = vertex(session, -np.eye(program.n_columns)[margin[0]])[w] / half
    session.close()
    return np.asarray(weights / np.abs(weights).max())


def _gap(contexts: Floats, labels: Bools, weights: Floats) -> tuple[float, float, float]:
    """Return the highest score of label 0, the lowest of label 1, and their distance as a share of the range."""
    scores = contexts @ weights
    low, high, span = float(scores[~labels].max()), float(scores[labels].min()), float(np.ptp(scores))
    return low, high, (high - low) / span if span else -np.inf


def _between(low: float, high: float) -> float:
    middle, room = (low + high) / 2, _OFF * (high - low)
    shorter = (_rounded(middle, digits) for digits in range(1, MOST_DIGITS + 1))
    return next((number for number in shorter if abs(number - middle) <= room), middle)


def _rounded(number: float, digits: int) -> float:
    return float(f"{number:.{digits - 1}e}") + 0.0  # no -0


# A point is on a hyperplane when its score is at most this share of the largest. Points span no hyperplane when their
# singular values differ by more than the inverse of the other share; scores are exact to a tenth of the first one then.
_ON = 1e-8
_FLAT = 1e-7


# Labels (N, g), each once and in increasing order, and an estimate (N,) of the margin with which they are had.
Dichotomies = tuple[Bools, Floats]


def dichotomies(points: Floats) -> Dichotomies:
    """Return the labelings of ``points`` (g, d), all different, by halfspaces, from the hyperplanes that they span.

    A halfspace can be moved, without a change of labels, until its boundary holds as many affinely independent points
    as there are dimensions; those on the boundary are labelled by a halfspace of one dimension less. Conversely, a
    boundary turns a little to label the points on it as any of these do: in general position in 2^d ways, at each of
    the C(g, d) hyperplanes; the others are gone through by recursion.
    """
    centred = points - points.mean(axis=0)
    _, sizes, axes = np.linalg.svd(centred, full_matrices=False)
    rank = int((sizes > _ON * sizes.max(initial=1.0)).sum())
    n = len(points)
    if n == rank + 1:
        return _binary(n), np.full(2**n, sizes[rank - 1] / sizes[0] if rank else 1.0)
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
    found = [
        (np.zeros((1, n), dtype=bool), np.ones(1)),
        _turned(scores[simple] > 0.0, subsets[spans][simple], room[simple]),
    ]
    flats, first = np.unique(on[~simple], axis=0, return_index=True)
    for flat, score, margin in zip(flats, scores[~simple][first], room[~simple][first], strict=True):
        within, margins = dichotomies(points[flat])
        labels = np.tile(score > 0.0, (len(within), 1))
        labels[:, flat] = within
        found.append((labels, margin * margins))
    labels, margins = (np.concatenate(part) for part in zip(*found, strict=True))
    return _distinct(np.concatenate([labels, ~labels]), np.concatenate([margins, margins]))


def _turned(sides: Bools, on: Floats, room: Floats) -> Dichotomies:
    ways = _binary(on.shape[1])
    labels = np.repeat(sides[:, None], len(ways), axis=1)
    np.put_along_axis(labels, np.broadcast_to(on[:, None], (len(on), *ways.shape)), ways[None], axis=2)
    return labels.reshape(-1, sides.shape[1]), np.repeat(room, len(ways))


def _distinct(labels: Bools, margins: Floats) -> Dichotomies:
    packed = np.packbits(labels, axis=1)
    keys = packed.view(np.dtype((np.void, packed.shape[1]))).ravel()
    _, first, number = np.unique(keys, return_index=True, return_inverse=True)
    largest = np.zeros(len(first))
    np.maximum.at(largest, number, margins)
    return labels[first], largest


def _binary(n: int) -> Bools:
    return (np.arange(2**n)[:, None] >> np.arange(n)[::-1] & 1).astype(bool)


# Basic solutions are exact to rounding: what is larger is no zero.
_ZERO = 1e-12
# A row is worth adding when a point breaks it by this much.
_BROKEN = 1e-3
# Sets looked for at one point, and how much dearer the members of one are for the next.
_SETS = 10
_DEARER = 0.3
# A labeling is listed without a linear program where an estimate of its margin is this, a hundred times what it needs.
_CERTAIN = 100 * MARGIN


class LabelSeparator(Separator):
    """The labels that halfspaces give to contexts (g, d); in an infeasible *set* g + j means context j with label 0."""

    def __init__(self, contexts: Floats) -> None:
        self._n = len(contexts)
        self._affine = np.column_stack([scaled(contexts)[0], np.ones(self._n)])
        self._hulls = highs().open(hulls(self._affine), relax=True)
        self._best = np.zeros(self._n, dtype=bool)  # the last objective's is the first for the next one

    def cuts(self, x: Floats, objective: Floats) -> Cuts:
        """Return rows that ``x`` violates, none when it is a labeling of the class, and the best labeling so far."""
        prices = np.concatenate([1.0 - x, x]).clip(0.0, 1.0)
        sets = list(self._cheap(prices))
        if not sets and np.minimum(x, 1.0 - x).max() < _BROKEN:
            labels = x > 0.5
            broken = self.conflict(labels)  # also where a margin is too small
            if broken is not None:
                return self._rows([broken])
            if objective @ labels < objective @ self._best:
                self._best = labels
        return self._rows(sets)

    def conflict(self, labels: Bools) -> Ints | None:
        """Return a minimal set of contexts that no halfspace labels so, or None."""
        allowed = np.concatenate([labels, ~labels])
        weights = vertex(self._hulls, np.where(allowed, 0.0, 1.0))
        return None if weights[~allowed].sum() > MARGIN else np.flatnonzero((weights > _ZERO) & allowed)

    def labelings(self) -> Bools:
        """Return the labelings (N, g) of halfspaces, each once, in increasing order."""
        labels, margins = dichotomies(self._affine[:, :-1])
        kept = margins >= _CERTAIN
        for number in np.flatnonzero(~kept):
            kept[number] = self.conflict(labels[number]) is None
        return np.asarray(labels[kept])

    def _cheap(self, prices: Floats) -> Iterator[Ints]:
        now = prices.copy()
        for _ in range(_SETS):
            members = np.flatnonzero(vertex(self._hulls, now) > _ZERO)
            if prices[members].sum() >= 1.0 - _BROKEN:
                return
            yield members
            now[members] += _DEARER

    def _rows(self, sets: Sequence[Ints]) -> Cuts:
        matrix, lower = np.zeros((len(sets), self._n)), np.ones(len(sets))
        for r, members in enumerate(sets):
            ones, zeros = members[members < self._n], members[members >= self._n] - self._n
            matrix[r, ones], matrix[r, zeros] = -1.0, 1.0
            lower[r] -= len(ones)
        return Cuts(matrix, lower, np.full(len(sets), np.inf), self._best.astype(float))
