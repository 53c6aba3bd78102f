"""scipy.optimize.milp, for comparison: HiGHS as scipy ships it, a new model for every query."""

from __future__ import annotations

from typing import Any

import numpy as np

from milpcb.program import Program
from milpcb.solvers.guards import one_line
from milpcb.solvers.native import NativeSolver
from milpcb.types import Floats, Solution, Stop

# https://docs.scipy.org/doc/scipy/reference/generated/scipy.optimize.milp.html (status of the result); a status not
# listed is UNKNOWN. Status 4 covers "unbounded or infeasible", and a second run without presolve finds out which.
STATUS = {
    0: Stop.OPTIMAL,
    1: Stop.TIME_LIMIT,
    2: Stop.INFEASIBLE,
    3: Stop.UNBOUNDED,
}
_OTHER = 4


class ScipySession:
    """One program; every query starts from nothing.

    An LP is solved by HiGHS's simplex method, so its solution is a vertex. scipy has no absolute gap: optima are
    proved to the end.
    """

    def __init__(self, program: Program, *, mip: bool) -> None:
        from scipy.optimize import Bounds

        self._mip = mip
        self._integrality = program.integer.astype(int) if self._mip else None
        self._bounds = Bounds(program.column_lower, program.column_upper)
        self._hold(program)

    def solve(
        self,
        objective: Floats,
        *,
        gap: float = 0.0,
        time_limit: float | None = None,
        primal: bool = True,
        start: Floats | None = None,
    ) -> Solution:
        """Hand everything to scipy."""
        del gap, primal, start
        options = {"mip_rel_gap": 0.0, "time_limit": time_limit}
        result = self._run(objective, options)
        if result.status == _OTHER:
            result = self._run(objective, options | {"presolve": False})
        return self._solution(objective, result)

    def add_rows(self, matrix: Floats, lower: Floats, upper: Floats) -> None:
        """Add rows to the arrays."""
        self._hold(self._program.with_rows(matrix, lower, upper))

    def close(self) -> None:
        """Nothing is kept outside Python."""

    def _hold(self, program: Program) -> None:
        from scipy.optimize import LinearConstraint

        self._program = program
        self._rows = LinearConstraint(program.matrix, program.row_lower, program.row_upper) if program.n_rows else ()

    def _run(self, objective: Floats, options: dict[str, Any]) -> Any:
        from scipy.optimize import milp

        with one_line("scipy"):
            return milp(
                objective,
                integrality=self._integrality,
                bounds=self._bounds,
                constraints=self._rows,
                options=options,
            )

    def _solution(self, objective: Floats, result: Any) -> Solution:
        stop = STATUS.get(result.status, Stop.UNKNOWN)
        proved = result.mip_dual_bound if self._mip else result.fun if stop is Stop.OPTIMAL else None
        bound = -np.inf if proved is None else float(proved)
        if result.x is None or stop not in {Stop.OPTIMAL, Stop.TIME_LIMIT}:
            return Solution(stop, np.inf, bound if stop is Stop.TIME_LIMIT else -np.inf)
        return Solution(stop, float(objective @ result.x), bound, result.x)


class Scipy(NativeSolver):
    """``scipy.optimize.milp``, which comes with milpcb."""

    name, package, module, can = "scipy", "scipy", "scipy", "LP, MIP, rebuilt"
    session = ScipySession
