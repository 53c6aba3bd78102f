"""Contexts as points between -1 and 1, and linear programs that find which labels halfspaces give them, and the rule.

A rule is of about the widest margin, in as few digits as keep the labels whatever the rounding.
"""

from __future__ import annotations

from typing import cast

import numpy as np

from milpcb.core.decimals import MOST_DIGITS
from milpcb.errors import SolverFailedError
from milpcb.plugins import registry
from milpcb.program import Program, ProgramBuilder
from milpcb.protocols import Session, Solver
from milpcb.types import Bools, Floats
from policies.halfspaces.rule import HalfspaceRule
from policies.names import Names

# The margin of a labeling as a share of the largest score; ten times what solvers are exact to.
MARGIN = 1e-6


def highs() -> Solver:
    """Return the solver of all linear programs here."""
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


def losses(affine: Floats) -> Program:
    """Return the program of weights and, for label 1, then for label 0, by how much each score falls short of 1."""
    b = ProgramBuilder()
    w = b.columns("w", (affine.shape[1],), -np.inf, np.inf)
    for sign, short in zip((1.0, -1.0), b.columns("short", (2, len(affine))), strict=True):
        b.rows((w[None], sign * affine), (short[:, None], 1.0), lower=1.0)
    return b.build()


# The cut is at most this share of the gap away from its middle; the rest of each half is kept clear of scores.
_OFF = 0.4


def rule_of(contexts: Floats, labels: Bools, names: Names) -> HalfspaceRule:
    """Return a rule that gives these labels (g,) to the ``contexts`` (g, d), by real numbers and by float64 alike.

    It has the fewest digits with at least half the widest margin, and a distance of every score from the cut that is
    beyond all rounding: of scores, and of numbers that are printed as decimals and read back.
    """
    if labels.all() or not labels.any():
        return HalfspaceRule((0.0,) * contexts.shape[1], 0.0 if labels.all() else 1.0, names)
    exact = _widest(contexts, labels)
    *_, widest = _gap(contexts, labels, exact)
    for digits in range(1, MOST_DIGITS + 1):
        weights = np.array([_rounded(weight, digits) for weight in exact])
        low, high, margin = _gap(contexts, labels, weights)
        if margin >= widest / 2 and (0.5 - _OFF) * (high - low) > _rounding(contexts, weights):
            break
    return HalfspaceRule(tuple(weights.tolist()), _between(low, high), names)


def _rounding(contexts: Floats, weights: Floats) -> float:
    """Return a bound on the error of any score, relative to a sum of d terms in float64 (Higham 2002, section 3.1).

    Terms, sums, the decimals that weights and contexts are read from, and the cut each add half a unit in the last
    place.
    """
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
    """Return the shortest number that is well between two numbers."""
    middle, room = (low + high) / 2, _OFF * (high - low)
    shorter = (_rounded(middle, digits) for digits in range(1, MOST_DIGITS + 1))
    return next((number for number in shorter if abs(number - middle) <= room), middle)


def _rounded(number: float, digits: int) -> float:
    return float(f"{number:.{digits - 1}e}") + 0.0  # no -0
