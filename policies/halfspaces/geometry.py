"""Contexts as points between -1 and 1, and the linear programs that find which labels halfspaces give them."""

from __future__ import annotations

from typing import cast

import numpy as np

from milpcb.errors import SolverFailedError
from milpcb.plugins import registry
from milpcb.program import Program, ProgramBuilder
from milpcb.protocols import Session, Solver
from milpcb.types import Floats

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
