"""Linear rules with real weights, two actions: the polytope of their labels, by rows found as they are broken.

Policy class
    w in R^d and a cut t; action 1 where w.x >= t. A labeling counts when some rule makes it with every score, w.x - t, at
    least 1e-6 of the largest away from 0: of what is closer, solvers cannot tell the side.
Variables
    y[j] in {0, 1}      the label of distinct context j
Constraints
    (1)  sum_{j in P} (1 - y_j) + sum_{j in N} y_j >= 1     for every minimal inseparable (P, N): no rule gives 1 to all of
                                                            P and 0 to all of N, but without any one of them some rule does
    A labeling is that of a rule exactly when it keeps (1). There are too many (P, N) to list: ``program`` has none, and
    ``separator`` finds some that a point breaks. (P, N) is inseparable when the convex hulls of P and N meet: when with
    s_j = 1 on P and -1 on N
        lambda >= 0,  sum_j lambda_j = 1,  sum_j s_j lambda_j (x_j, 1) = 0
    has a solution; its basic solutions have the minimal (P, N) as supports (Gleeson and Ryan, ORSA J. Comput. 2, 1990).
    With lambda for both labels of every context one linear program serves all points y: it is asked for little lambda
    where 1 - y_j or y_j is large. Such rows as cuts: Codato and Fischetti, Oper. Res. 54, 2006.
Cost map
    y_j costs costs[j, 1] - costs[j, 0], action 0 everywhere is the offset; linear and exact, with side constraints too.
Size
    One column per distinct context; a row has at most d + 2 entries. The rows found serve all later objectives.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import log
from typing import cast

import numpy as np

from milpcb import registry
from milpcb.errors import InputError, SolverFailedError
from milpcb.program import Program, ProgramBuilder
from milpcb.protocols import Cuts, Encoding, Objective, Separator, Session, Solver
from milpcb.types import Bools, Floats, Ints
from policies.cuts import Distinct
from policies.linear import LinearRule, LinearRules
from policies.names import Names

# The margin of a labeling as a share of the largest score; ten times what solvers are exact to.
MARGIN = 1e-6
# Labelings that are listed, at one or two linear programs each.
MOST_LISTED = 10_000
# Basic solutions are exact to rounding: what is larger is no zero.
_ZERO = 1e-12
# A row is worth adding when a point breaks it by this much.
_BROKEN = 1e-3
# Sets looked for at one point, and how much dearer the members of one are for the next.
_SETS = 10
_DEARER = 0.3
# Where a program has ended: sets looked for at random prices up to 1, and the price of members that may not come.
_VARIED = 10
_FORBIDDEN = 1e6
# Sets met before one labeling is good enough.
_MOST_MET = 150


class HalfspaceEncoding(Encoding):
    """The cube of the labels and its cost map; the separator cuts it down to the labelings of halfspaces."""

    def __init__(self, rules: LinearRules, contexts: Floats) -> None:
        distinct = Distinct.rows(contexts)
        self.group, self.contexts = distinct.group, contexts[distinct.first]
        self.separator = Halfspaces(self.contexts)
        self.why = "labels and inseparable sets, as weights are real numbers"
        self._names = rules.names
        b = ProgramBuilder()
        b.columns("y", (len(self.contexts),), upper=1.0, integer=True)
        self.program = b.build()

    def objective(self, costs: Floats) -> Objective:
        """Return what label 1 costs more than label 0, which is the offset."""
        return Objective(costs[:, 1] - costs[:, 0], float(costs[:, 0].sum()))

    def decode(self, x: Floats, costs: Floats) -> LinearRule:  # noqa: ARG002 - the labels say it all
        """Return the rule of the widest margin that labels so."""
        return real_rule(self.contexts, x > 0.5, self._names)


# --------------------------------------------------------------------------- halfspaces


class Halfspaces(Separator):
    """Which labels halfspaces give to contexts (g, d): sets that none labels so, and good labelings near a point.

    In a *set*, j stands for context j with label 1 and g + j for context j with label 0.
    """

    def __init__(self, contexts: Floats) -> None:
        self._n = len(contexts)
        self._affine = np.column_stack([_scaled(contexts)[0], np.ones(self._n)])
        highs = _highs()
        self._hulls = highs.open(_hulls(self._affine), relax=True)
        self._losses = highs.open(_losses(self._affine), relax=True)
        self._rng = np.random.default_rng(0)
        self._objective = np.zeros(self._n)
        self._best = np.zeros(self._n, dtype=bool)

    def cuts(self, x: Floats, objective: Floats) -> Cuts:
        """Return rows that ``x`` breaks, none when it is a labeling of the class, and the best labeling found so far."""
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

    def labelings(self) -> Iterator[Bools]:
        """List the labelings (g,) of halfspaces, each once: context by context, what no halfspace begins is dropped."""
        labels, order = np.zeros(self._n, dtype=bool), np.arange(self._n)

        def extend(n: int) -> Iterator[Bools]:
            if n == self._n:
                yield labels.copy()
                return
            for label in (False, True):
                labels[n] = label
                if self.conflict(labels, order <= n) is None:
                    yield from extend(n + 1)

        yield from extend(0)

    # ----------------------------------------------------------------- sets and their rows

    def _lightest(self, prices: Floats) -> Floats:
        """Return the basic solution lambda (2g,) that costs least at these prices (2g,)."""
        return _vertex(self._hulls, prices)

    def _within(self, allowed: Bools, prices: Floats) -> Ints | None:
        """Return a minimal set of members that are ``allowed`` (2g,), or None where the lightest is none."""
        weights = self._lightest(prices)
        return None if weights[~allowed].sum() > MARGIN else np.flatnonzero((weights > _ZERO) & allowed)

    def _cheap(self, prices: Floats) -> Iterator[Ints]:
        """Yield sets that cost less than 1; the members of each are dearer for the next."""
        now = prices.copy()
        for _ in range(_SETS):
            members = np.flatnonzero(self._lightest(now) > _ZERO)
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
        losses = np.concatenate([np.zeros(n_weights), np.maximum(-objective, 0.0), np.maximum(objective, 0.0)])
        return np.asarray(self._affine @ _vertex(self._losses, losses)[:n_weights] >= 0.0)

    def _better(self) -> list[Ints]:
        """Look for a labeling that agrees with more of the objective than the best; return the sets met on the way."""
        agreement = _Agreement(self, self._objective)
        kept: Bools | None = agreement.grow((self._best == agreement.wanted) & (agreement.weight > 0))
        while kept is not None:
            self._try(self._fitted(np.where(kept, self._objective, 0.0)))
            kept = agreement.swap(kept)
        return agreement.met


class _Agreement:
    """Sets of contexts (g,) that some halfspace labels as the objective wants them, and steps to heavier ones."""

    def __init__(self, halfspaces: Halfspaces, objective: Floats) -> None:
        self.wanted, self.weight = objective < 0, np.abs(objective)
        self.met: list[Ints] = []
        self._halfspaces = halfspaces

    def grow(self, kept: Bools) -> Bools:
        """Add what can be added."""
        for j in self._left_out(kept):
            if self._conflict(more := _with(kept, j, True)) is None:
                kept = more
        return kept

    def swap(self, kept: Bools) -> Bools | None:
        """Add one context for another and then what can be added; return None when nothing heavier is found."""
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
        return np.flatnonzero(~kept & (self.weight > 0))

    def _in_the_way(self, more: Bools, j: int) -> list[int]:
        members = self._conflict(more)
        return [] if members is None else [i for i in members % len(more) if i != j]

    def _conflict(self, kept: Bools) -> Ints | None:
        members = self._halfspaces.conflict(self.wanted, kept)
        if members is not None:
            self.met.append(members)
        return members


def _with(kept: Bools, j: int, value: bool) -> Bools:
    changed = kept.copy()
    changed[j] = value
    return changed


# --------------------------------------------------------------------------- rules


def every_rule(rules: LinearRules, contexts: Floats) -> Iterator[LinearRule]:
    """Yield a rule for each labeling that halfspaces make of contexts (m, d)."""
    if rules.log_size(contexts) > log(MOST_LISTED):
        raise InputError(
            f"{len(contexts)} contexts may have more than {MOST_LISTED} labelings by halfspaces, "
            "too many to list: use oracle kind 'milp'"
        )
    distinct = contexts[Distinct.rows(contexts).first]
    yield from (real_rule(distinct, labels, rules.names) for labels in Halfspaces(distinct).labelings())


def drawn_rule(rules: LinearRules, contexts: Floats, rng: np.random.Generator) -> LinearRule:
    """Return a rule for the labels of normal weights on columns scaled alike, cut between two of the contexts (m, d)."""
    distinct = contexts[Distinct.rows(contexts).first]
    if len(distinct) == 1:
        return real_rule(distinct, rng.random(1) < 0.5, rules.names)
    halfspaces, scaled = Halfspaces(distinct), _scaled(distinct)[0]
    while True:
        scores = scaled @ rng.normal(size=scaled.shape[1])
        labels = scores > rng.choice(np.delete(scores, scores.argmax()))
        if halfspaces.conflict(labels) is None:
            return real_rule(distinct, labels, rules.names)


def real_rule(contexts: Floats, labels: Bools, names: Names) -> LinearRule:
    """Return a rule that gives these labels (g,) to contexts (g, d): of about the widest margin, in few digits."""
    d = contexts.shape[1]
    if labels.all() or not labels.any():
        return LinearRule((0.0,) * d, (0.0 if labels.all() else 1.0,), (None,) * d, names)
    exact = _widest(contexts, labels)
    *_, widest = _gap(contexts, labels, exact)
    for digits in range(1, 18):
        weights = np.array([_rounded(weight, digits) for weight in exact])
        low, high, margin = _gap(contexts, labels, weights)
        if margin >= widest / 2:
            break
    return LinearRule(tuple(weights.tolist()), (_between(low, high),), (None,) * d, names)


def _widest(contexts: Floats, labels: Bools) -> Floats:
    """Return weights (d,), the largest 1, that hold the labels furthest apart on columns scaled alike."""
    scaled, half = _scaled(contexts)
    d = len(half)
    b = ProgramBuilder()
    w, t, margin = b.columns("w", (d,), -1.0, 1.0), b.columns("t", (1,), -d, d), b.columns("margin", (1,), 0.0, 2.0 * d)
    sign = np.where(labels, 1.0, -1.0)[:, None]
    b.rows((np.tile(w, (len(scaled), 1)), sign * scaled), (t[None], -sign), (margin[None], -1.0), lower=0.0)
    program = b.build()
    session = _highs().open(program, relax=True)
    weights = _vertex(session, -np.eye(program.n_columns)[margin[0]])[w] / half
    session.close()
    return np.asarray(weights / np.abs(weights).max())


def _gap(contexts: Floats, labels: Bools, weights: Floats) -> tuple[float, float, float]:
    """Return the highest score of label 0, the lowest of label 1, and their distance as a share of the range."""
    scores = contexts @ weights
    low, high, span = float(scores[~labels].max()), float(scores[labels].min()), float(np.ptp(scores))
    return low, high, (high - low) / span if span else -np.inf


def _between(low: float, high: float) -> float:
    """Return the shortest number that is well between two numbers."""
    middle, room = (low + high) / 2, 0.4 * (high - low)
    shorter = (_rounded(middle, digits) for digits in range(1, 18))
    return next((number for number in shorter if abs(number - middle) <= room), middle)


def _rounded(number: float, digits: int) -> float:
    return float(f"{number:.{digits - 1}e}")


# --------------------------------------------------------------------------- linear programs


def _highs() -> Solver:
    return cast("Solver", registry.load("solver", "highs")())


def _vertex(session: Session, objective: Floats) -> Floats:
    solution = session.solve(objective)
    if solution.x is None:
        raise SolverFailedError(f"HiGHS stopped with '{solution.stop}' on a bounded feasible linear program; report it")
    return solution.x


def _scaled(contexts: Floats) -> tuple[Floats, Floats]:
    """Return contexts (g, d) with each column between -1 and 1, and half the range of each column (d,)."""
    low, high = contexts.min(axis=0), contexts.max(axis=0)
    half = np.where(high > low, (high - low) / 2, 1.0)
    return (contexts - (low + high) / 2) / half, half


def _hulls(affine: Floats) -> Program:
    """Return the program of lambda for label 1, then for label 0, of contexts with a 1 added: ``affine`` (g, d + 1)."""
    b = ProgramBuilder()
    weights = b.columns("lambda", (2 * len(affine),))
    b.rows((np.tile(weights, (affine.shape[1], 1)), np.concatenate([affine, -affine]).T), lower=0.0, upper=0.0)
    b.rows((weights[None], 1.0), lower=1.0, upper=1.0)
    return b.build()


def _losses(affine: Floats) -> Program:
    """Return the program of weights and, for label 1, then for label 0, by how much each score falls short of 1."""
    b = ProgramBuilder()
    w = b.columns("w", (affine.shape[1],), -np.inf, np.inf)
    for sign, short in zip((1.0, -1.0), b.columns("short", (2, len(affine))), strict=True):
        b.rows((w[None], sign * affine), (short[:, None], 1.0), lower=1.0)
    return b.build()
