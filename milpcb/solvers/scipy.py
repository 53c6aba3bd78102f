"""scipy.optimize.milp, for comparison: HiGHS as scipy ships it, a new model for every query."""

from typing import Any

import numpy as np

from milpcb.program import Program
from milpcb.solvers.native import INFINITE, UNCLEAR, NativeSolver
from milpcb.types import Floats, Stop

# https://docs.scipy.org/doc/scipy/reference/generated/scipy.optimize.milp.html (status of the result); a status not
# listed is UNKNOWN.
STATUS = {
    0: Stop.OPTIMAL,
    1: Stop.TIME_LIMIT,
    2: Stop.INFEASIBLE,
    3: Stop.UNBOUNDED,
    4: UNCLEAR,
}


class Scipy(NativeSolver):
    """``scipy.optimize.milp``, which comes with milpcb; every query starts from nothing, and has no gap."""

    name, package, can, status, feasible = "scipy", "scipy", "LP, MIP, rebuilt", STATUS, True

    def _build(self, program: Program) -> None:
        self._program, self._integrality = program, program.integer.astype(int) if self.mip else None

    def _limit(self, gap: float, seconds: float) -> None:
        del gap
        self._options: dict[str, Any] = {"mip_rel_gap": 0.0, "time_limit": None if seconds == INFINITE else seconds}

    def _change_costs(self, objective: Floats) -> None:
        self._objective = objective

    def _run(self) -> int:
        from scipy.optimize import Bounds, LinearConstraint, milp

        program = self._program
        rows = LinearConstraint(program.matrix, program.row_lower, program.row_upper) if program.n_rows else ()
        self._result: Any = milp(
            self._objective,
            integrality=self._integrality,
            bounds=Bounds(program.column_lower, program.column_upper),
            constraints=rows,
            options=self._options,
        )
        return int(self._result.status)

    def _point(self) -> Floats | None:
        return None if self._result.x is None else np.asarray(self._result.x)

    def _bound(self) -> float:
        return -np.inf if self._result.mip_dual_bound is None else float(self._result.mip_dual_bound)

    def _add(self, matrix: Any, lower: Floats, upper: Floats) -> None:
        self._program = self._program.with_rows(matrix, lower, upper)
