"""Side constraints as rows of a program, wide enough for the tolerances of every solver."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from milpcb.program import Program
from milpcb.protocols import Encoding
from milpcb.side_constraints import SideConstraint
from milpcb.types import Floats

# Solvers let a row be broken by about 1e-6, and HiGHS 1.15's presolve loses solutions where numbers in a row differ by
# less; side constraints allow 1e-9. So their rows are widened to this grid, and labelings in between cut off one by
# one.
GRID = 2.0**-16


def with_side_constraints(encoding: Encoding, program: Program, sides: Sequence[SideConstraint]) -> Program:
    """Return the program with a row for each side constraint, none bounded below, a little wider than the constraint.

    With the largest weight brought to between 1 and 2, coefficients are rounded down to multiples of GRID; what that
    takes away at most is added to the bound, and half of GRID. So no solver's tolerance loses a labeling.
    """
    if not sides:
        return program
    maps = [encoding.objective(side.weights) for side in sides]
    scales = np.array([_scale(side.weights) for side in sides])
    matrix = scales[:, None] * np.array([cost_map.coefficients for cost_map in maps])
    offsets = scales * np.array([cost_map.offset for cost_map in maps])
    reach = 1.0 + scales * np.array([np.abs(side.weights).max(axis=1).sum() for side in sides])
    # No total is beyond the reach; a bound far beyond it is more than solvers take for a number.
    upper = np.clip(scales * np.array([side.upper for side in sides]), -reach, reach) - offsets
    least = np.where(np.isfinite(program.column_lower), program.column_lower, 0.0)
    rounded = np.where(np.isfinite(program.column_lower), np.floor(matrix / GRID) * GRID, matrix)
    upper = upper - (matrix - rounded) @ least + GRID / 2
    return program.with_rows(rounded, np.full(len(sides), -np.inf), upper)


def _scale(weights: Floats) -> float:
    """Return a power of 2, which leaves the digits of the weights as they are."""
    largest = float(np.abs(weights).max())
    return float(np.exp2(np.clip(-np.floor(np.log2(largest)), -1000.0, 1000.0))) if largest else 1.0
