"""HiGHS through highspy: the model is passed once, then only column costs change."""

from typing import Any

import highspy
import numpy as np
import scipy.sparse as sp

from milpcb.errors import SolverFailedError
from milpcb.program import Program
from milpcb.solvers.native import INFINITE, UNCLEAR, NativeSolver
from milpcb.types import Floats, Stop

_S = highspy.HighsModelStatus
# https://ergo-code.github.io/HiGHS/stable/structures/enums/#HighsModelStatus ; a status not listed is UNKNOWN
STATUS = {
    _S.kOptimal: Stop.OPTIMAL,
    _S.kModelEmpty: Stop.OPTIMAL,
    _S.kInfeasible: Stop.INFEASIBLE,
    _S.kUnbounded: Stop.UNBOUNDED,
    _S.kUnboundedOrInfeasible: UNCLEAR,
    _S.kTimeLimit: Stop.TIME_LIMIT,
    _S.kInterrupt: Stop.INTERRUPTED,
    _S.kLoadError: Stop.FAILED,
    _S.kModelError: Stop.FAILED,
    _S.kSolveError: Stop.FAILED,
    _S.kMemoryLimit: Stop.FAILED,
}
_HOLDS_POINT = int(highspy.SolutionStatus.kSolutionStatusFeasible)
_COMMON = {"output_flag": False, "threads": 1, "random_seed": 0}
# The polytope is fixed, so the last basis stays primal feasible: primal simplex goes on from it, and presolve would
# only throw it away. Simplex also ends at a vertex, which is what an integral encoding decodes.
_LP = {"solver": "simplex", "simplex_strategy": 4, "presolve": "off"}
_DUAL_SIMPLEX = 1
_MIP = {"mip_rel_gap": 0.0}
# Side rows on an integral polytope: presolve finds little, and costs most of a query (measured up to 100 times).
_NEARLY_INTEGRAL = _MIP | {"presolve": "off"}


class Highs(NativeSolver):
    """HiGHS, which comes with milpcb, kept open; its status marks feasible points, also where an LP stops early."""

    name, package, status, feasible = "highs", "highspy", STATUS, True

    def _build(self, program: Program) -> None:
        self._columns = np.arange(program.n_columns, dtype=np.int32)
        self._model = highspy.Highs()
        mixed = _NEARLY_INTEGRAL if program.nearly_integral else _MIP
        for key, value in (_COMMON | (mixed if self.mip else _LP)).items():
            self._model.setOptionValue(key, value)
        size = program.n_columns, program.n_rows, program.matrix.nnz
        form = int(highspy.MatrixFormat.kRowwise), int(highspy.ObjSense.kMinimize), 0.0
        columns = np.zeros(program.n_columns), program.column_lower, program.column_upper
        rows = program.row_lower, program.row_upper
        matrix = program.matrix.indptr, program.matrix.indices, program.matrix.data
        kinds = (program.integer & self.mip).astype(np.int32)
        if self._model.passModel(*size, *form, *columns, *rows, *matrix, kinds) == highspy.HighsStatus.kError:
            raise SolverFailedError("HiGHS refused the model; please report it with the config that made it")

    def close(self) -> None:
        """Free the model."""
        self._model.clear()

    def _limit(self, gap: float, seconds: float) -> None:
        self._gap, self._seconds = gap, seconds
        self._model.setOptionValue("mip_abs_gap", max(gap, 1e-9))
        self._model.setOptionValue("time_limit", seconds)

    def _change_costs(self, objective: Floats) -> None:
        self._model.changeColsCost(len(self._columns), self._columns, objective)

    def _start(self, x: Floats) -> None:
        solution = highspy.HighsSolution()
        solution.col_value = x
        self._model.setSolution(solution)

    def _run(self) -> Any:
        if not self.mip and self._seconds < INFINITE:  # the clock of LPs runs on between runs
            self._model.setOptionValue("time_limit", self._model.getRunTime() + self._seconds)
        self._model.run()
        if self.mip and self._model.getModelStatus() == _S.kOptimal and self._falls_short():
            self._start(np.array(self._model.getSolution().col_value))
            self._model.run()
        if STATUS.get(self._model.getModelStatus(), Stop.FAILED) is Stop.FAILED:
            self._run_afresh()
        return self._model.getModelStatus()

    def _falls_short(self) -> bool:
        """Return whether an optimal point has a bound that the gap does not allow, as HiGHS 1.15 now and then ends."""
        info = self._model.getInfo()
        return bool(info.objective_function_value - info.mip_dual_bound > self._gap + 1e-6)

    def _run_afresh(self) -> None:
        """Solve from nothing by the dual simplex method: the primal one now and then gives up on a tiny program."""
        self._model.clearSolver()
        self._model.setOptionValue("simplex_strategy", _DUAL_SIMPLEX)
        self._model.run()
        self._model.setOptionValue("simplex_strategy", _LP["simplex_strategy"])

    def _point(self) -> Floats | None:
        held = self._model.getInfo().primal_solution_status == _HOLDS_POINT
        return np.array(self._model.getSolution().col_value) if held else None

    def _bound(self) -> float:
        return float(self._model.getInfo().mip_dual_bound)

    def _add(self, matrix: Any, lower: Floats, upper: Floats) -> None:
        rows = sp.csr_array(matrix)
        self._model.addRows(len(lower), lower, upper, rows.nnz, rows.indptr[:-1], rows.indices, rows.data)
