"""Side constraints as rows of a program, wide enough for the tolerances of every solver.

That any two of G rates are close takes G (G - 1) constraints, and a program two rows a rate with one column more: each
rate is between the least, the column, and the least plus the difference allowed. Rates are counted from the first one.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from milpcb.constraints import SideConstraint
from milpcb.program import Program
from milpcb.protocols import Encoding, Objective
from milpcb.types import Floats, Policy

# Solvers let a row be broken by about 1e-6, and HiGHS 1.15's presolve loses solutions where numbers in a row differ by
# less; side constraints allow 1e-9. So their rows are widened to this grid, and labelings in between cut off one by
# one.
GRID = 2.0**-16
FEWEST_RATES = 4  # of three rates or fewer there are no more pairs than rows


@dataclass(frozen=True, eq=False)
class Family:
    """Rates any two of which are close: the constraints on each but the first less the first one."""

    name: str
    from_first: tuple[SideConstraint, ...]

    def rows(self) -> list[SideConstraint]:
        """Return what a rate is at most and at least, counted from the least of them."""
        return [*self.from_first, *(SideConstraint(-side.weights, upper=0.0) for side in self.from_first)]

    def signs(self) -> Floats:
        """Return the coefficient of the least rate in each of the rows."""
        return np.repeat([-1.0, 1.0], len(self.from_first))


def split(sides: Sequence[SideConstraint]) -> tuple[list[Family], list[SideConstraint]]:
    """Return the families all of whose pairs are among the constraints, and the constraints that are in none."""
    found: dict[str, dict[tuple[int, int], SideConstraint]] = {}
    for side in sides:
        if side.pair is not None:
            found.setdefault(side.pair.family, {})[side.pair.one, side.pair.other] = side
    families = []
    for name, pairs in found.items():
        n = 1 + max(pairs)[0]
        if n >= FEWEST_RATES and len(pairs) == n * (n - 1):
            families.append(Family(name, tuple(pairs[i, 0] for i in range(1, n))))
    names = {family.name for family in families}
    return families, [side for side in sides if side.pair is None or side.pair.family not in names]


class WithLeastRates(Encoding):
    """An ``encoding`` with a last column for the least rate of each family; costs do not reach these columns."""

    def __init__(self, encoding: Encoding, families: Sequence[Family]) -> None:
        self._encoding, self._families = encoding, families
        self.columns = {family.name: encoding.program.n_columns + i for i, family in enumerate(families)}
        lower = -GRID - np.array([max(side.upper for side in family.from_first) for family in families])
        self.program = encoding.program.with_columns("least_rate", lower, np.full(len(families), GRID))
        self.separator, self.noisy_columns = encoding.separator, encoding.noisy_columns

    def objective(self, costs: Floats) -> Objective:
        found = self._encoding.objective(costs)
        return replace(found, coefficients=np.append(found.coefficients, np.zeros(len(self._families))))

    def decode(self, x: Floats, costs: Floats) -> Policy:
        return self._encoding.decode(x[: self._encoding.program.n_columns], costs)


def with_side_constraints(encoding: Encoding, program: Program, sides: Sequence[SideConstraint]) -> Program:
    """Return the program with a row for each side constraint, none bounded below, a little wider than the constraint.

    With the largest weight brought to between 1 and 2, coefficients are rounded down to multiples of GRID; what that
    takes away at most is added to the bound, and half of GRID. So no solver's tolerance loses a labeling. In a program
    WithLeastRates, families of rates have the two rows for each rate instead.
    """
    if not sides:
        return program
    columns = encoding.columns if isinstance(encoding, WithLeastRates) else {}
    families, sides = split(sides) if columns else ([], sides)
    sides = [*sides, *(row for family in families for row in family.rows())]
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
    first = len(sides) - sum(len(family.signs()) for family in families)
    for family in families:
        rows = slice(first, first + len(family.signs()))
        rounded[rows, columns[family.name]] = scales[rows] * family.signs()
        first = rows.stop
    return program.with_rows(rounded, np.full(len(sides), -np.inf), upper)


def _scale(weights: Floats) -> float:
    """Return a power of 2, which leaves the digits of the weights as they are."""
    largest = float(np.abs(weights).max())
    return float(np.exp2(np.clip(-np.floor(np.log2(largest)), -1000.0, 1000.0))) if largest else 1.0
