"""COPT, the Cardinal Optimizer, through coptpy: the model is loaded once, then only its objective changes."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from milpcb.program import Program
from milpcb.solvers.guards import COPT_READS, silenced
from milpcb.solvers.native import UNCLEAR, NativeSolver, one_sided
from milpcb.types import Floats, Stop

# https://guide.coap.online/copt/en-doc/constant.html (solution status); a status not listed is UNKNOWN. A reached gap
# is OPTIMAL, and only the absolute gap that the caller asked for is ever set.
STATUS = {
    1: Stop.OPTIMAL,
    2: Stop.INFEASIBLE,
    3: Stop.UNBOUNDED,
    4: UNCLEAR,
    5: Stop.FAILED,  # numerical trouble
    8: Stop.TIME_LIMIT,
    10: Stop.INTERRUPTED,
}
_COMMON = {"Logging": 0, "Threads": 1, "RelGap": 0.0, "DualTol": 1e-9, "FeasTol": 1e-9}
_MIP = {"IntTol": 1e-9}
# COPT has no primal simplex. Its dual one goes on from the last basis too, and ends at a vertex.
_DUAL_SIMPLEX = 1
_LP = {"LpMethod": _DUAL_SIMPLEX, "Presolve": 0}


class Copt(NativeSolver):
    """The COPT solver, kept open between queries."""

    name, package, extra, status, reads = "copt", "coptpy", "copt", STATUS, COPT_READS

    def _build(self, program: Program) -> None:
        import coptpy

        self._info = coptpy.COPT.Info
        self._environment = _environment(coptpy)
        self._model = self._environment.createModel("milpcb")
        for name, value in (_COMMON | (_MIP if self.mip else _LP)).items():
            self._model.setParam(name, value)
        kinds = np.where(program.integer & self.mip, "I", "C").tolist()
        columns = program.column_lower, program.column_upper, kinds
        rows = sp.csc_array(program.matrix), program.row_lower, program.row_upper
        self._model.loadMatrix(np.zeros(program.n_columns), *rows, *columns)
        self._x = self._model.getVars()

    def close(self) -> None:
        """Free the model."""
        self._model.clear()

    def _limit(self, gap: float, seconds: float) -> None:
        self._model.setParam("AbsGap", gap)
        self._model.setParam("TimeLimit", seconds)

    def _change_costs(self, objective: Floats) -> None:
        self._model.setInfo(self._info.Obj, self._x, objective.tolist())

    def _start(self, x: Floats) -> None:
        self._model.setMipStart(self._x, x.tolist())
        self._model.loadMipStart()

    def _run(self) -> int:
        self._model.solve()
        return int(self._model.status)

    def _point(self) -> Floats | None:
        found = self._model.hasmipsol if self.mip else self._model.haslpsol
        return np.array(self._model.getValues()) if found else None

    def _bound(self) -> float:
        return float(self._model.bestbnd)

    def _add(self, matrix: Any, lower: Floats, upper: Floats) -> None:
        rows = one_sided(matrix, lower, upper)
        for sense in set(rows.senses):
            chosen = np.flatnonzero(np.array(rows.senses) == sense)
            matrix = sp.csr_matrix(rows.matrix[chosen])  # coptpy asks a sparse array for its length, which has none
            self._model.addMConstr(matrix, self._x, sense, rows.sides[chosen])


def _environment(coptpy: Any) -> Any:
    """Return an environment; without a licence file COPT prints so at length, whatever its settings are."""
    settings = coptpy.EnvrConfig()
    settings.set("nobanner", "1")
    with silenced():
        return coptpy.Envr(settings)
