"""SCIP through PySCIPOpt: the model is built once, then the transformed problem is freed and the objective swapped."""

from typing import Any

import numpy as np

from milpcb.program import Program
from milpcb.solvers.native import UNCLEAR, NativeSolver, finite_or_none, one_sided
from milpcb.types import Floats, Stop

# https://scipopt.org/doc/html/type__stat_8h.php (SCIP_Status), spelt as PySCIPOpt's Model.getStatus spells them; a
# status not listed is UNKNOWN. A reached gap is a proof: only the absolute gap that the caller asked for is ever set.
STATUS = {
    "optimal": Stop.OPTIMAL,
    "gaplimit": Stop.OPTIMAL,
    "infeasible": Stop.INFEASIBLE,
    "unbounded": Stop.UNBOUNDED,
    "inforunbd": UNCLEAR,
    "timelimit": Stop.TIME_LIMIT,
    "userinterrupt": Stop.INTERRUPTED,
    "memlimit": Stop.FAILED,
}
_COMMON = {
    "limits/gap": 0.0,
    "parallel/maxnthreads": 1,
    "lp/threads": 1,
    "misc/catchctrlc": False,  # Ctrl-C is Python's
}


class Scip(NativeSolver):
    """SCIP, kept open; linear programs are solved like all others, so a query starts at the last solution."""

    name, package, extra, status, vertices = "scip", "pyscipopt", "scip", STATUS, False

    def _build(self, program: Program) -> None:
        from pyscipopt import Model

        self._model = Model("milpcb")
        self._model.hideOutput()
        self._model.setParams(_COMMON)
        kinds = np.where(program.integer & self.mip, "I", "C").tolist()
        bounds = finite_or_none(program.column_lower), finite_or_none(program.column_upper)
        self._x = [self._model.addVar(f"x{j}", *column) for j, column in enumerate(zip(kinds, *bounds, strict=True))]
        self._add(program.matrix, program.row_lower, program.row_upper)
        self.mip = True

    def close(self) -> None:
        """Free the model."""
        if self._model is not None:
            self._model.freeProb()
        super().close()

    def _limit(self, gap: float, seconds: float) -> None:
        self._model.freeTransform()
        self._model.setParam("limits/absgap", gap)
        self._model.setParam("limits/time", seconds)

    def _change_costs(self, objective: Floats) -> None:
        from pyscipopt import quicksum

        self._model.freeTransform()
        used = np.flatnonzero(objective)
        self._model.setObjective(quicksum(float(objective[j]) * self._x[j] for j in used), "minimize")

    def _start(self, x: Floats) -> None:
        point = self._model.createSol()
        for j in np.flatnonzero(x):
            self._model.setSolVal(point, self._x[j], float(x[j]))
        self._model.addSol(point)

    def _run(self) -> str:
        self._model.optimize()
        status: str = self._model.getStatus()
        return status

    def _point(self) -> Floats | None:
        if not self._model.getNSols():
            return None
        best = self._model.getBestSol()
        return np.array([self._model.getSolVal(best, column) for column in self._x])

    def _bound(self) -> float:
        return float(self._model.getDualbound())

    def _add(self, matrix: Any, lower: Floats, upper: Floats) -> None:
        from pyscipopt import ExprCons, quicksum

        self._model.freeTransform()
        for terms, sense, side in one_sided(matrix, lower, upper).each():
            row = quicksum(value * self._x[j] for j, value in terms)
            self._model.addCons(ExprCons(row, None if sense == "L" else side, None if sense == "G" else side))
