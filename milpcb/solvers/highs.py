"""HiGHS through highspy: the model is passed once, then only column costs change."""

from typing import Any

import highspy
import numpy as np

from milpcb.errors import SolverFailedError
from milpcb.program import Program
from milpcb.solvers.native import INFINITE, NativeSession, NativeSolver, OneSidedRows
from milpcb.types import Floats, Stop

_S = highspy.HighsModelStatus
# https://ergo-code.github.io/HiGHS/stable/structures/enums/#HighsModelStatus ; a status not listed is UNKNOWN
STATUS = {
    _S.kOptimal: Stop.OPTIMAL,
    _S.kModelEmpty: Stop.OPTIMAL,
    _S.kInfeasible: Stop.INFEASIBLE,
    _S.kUnbounded: Stop.UNBOUNDED,
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


class HighsSession(NativeSession):
    """One model inside HiGHS; its status marks the points that are feasible, also where an LP stops early."""

    name, status, unclear, feasible = "highs", STATUS, frozenset({_S.kUnboundedOrInfeasible}), True

    def __init__(self, program: Program, *, mip: bool) -> None:
        super().__init__(program, mip=mip)
        self._columns = np.arange(program.n_columns, dtype=np.int32)
        self._gap, self._seconds = 0.0, INFINITE
        self._highs = highspy.Highs()
        mixed = _NEARLY_INTEGRAL if program.nearly_integral else _MIP
        for key, value in (_COMMON | (mixed if mip else _LP)).items():
            self._highs.setOptionValue(key, value)
        if self._highs.passModel(_model(program, mip=mip)) == highspy.HighsStatus.kError:
            raise SolverFailedError("HiGHS refused the model; please report it with the config that made it")

    def close(self) -> None:
        """Free the model."""
        self._highs.clear()

    def _limit(self, gap: float, seconds: float) -> None:
        self._gap, self._seconds = gap, seconds
        self._highs.setOptionValue("mip_abs_gap", max(gap, 1e-9))
        self._highs.setOptionValue("time_limit", seconds)

    def _change_costs(self, objective: Floats) -> None:
        self._highs.changeColsCost(len(self._columns), self._columns, objective)

    def _start(self, x: Floats) -> None:
        solution = highspy.HighsSolution()
        solution.col_value = x
        self._highs.setSolution(solution)

    def _run(self) -> Any:
        if not self._mip and self._seconds < INFINITE:  # the clock of LPs runs on between runs
            self._highs.setOptionValue("time_limit", self._highs.getRunTime() + self._seconds)
        self._highs.run()
        if self._mip and self._highs.getModelStatus() == _S.kOptimal and self._falls_short():
            self._start(np.array(self._highs.getSolution().col_value))
            self._highs.run()
        code = self._highs.getModelStatus()
        if code not in self.unclear and STATUS.get(code, Stop.FAILED) is Stop.FAILED:
            self._run_afresh()
        return self._highs.getModelStatus()

    def _falls_short(self) -> bool:
        """Return whether an optimal point has a bound that the gap does not allow, as HiGHS 1.15 now and then ends."""
        info = self._highs.getInfo()
        return bool(info.objective_function_value - info.mip_dual_bound > self._gap + 1e-6)

    def _run_afresh(self) -> None:
        """Solve from nothing by the dual simplex method: the primal one now and then gives up on a tiny program."""
        self._highs.clearSolver()
        self._highs.setOptionValue("simplex_strategy", _DUAL_SIMPLEX)
        self._highs.run()
        self._highs.setOptionValue("simplex_strategy", _LP["simplex_strategy"])

    def _point(self) -> Floats | None:
        held = self._highs.getInfo().primal_solution_status == _HOLDS_POINT
        return np.array(self._highs.getSolution().col_value) if held else None

    def _bound(self) -> float:
        return float(self._highs.getInfo().mip_dual_bound)

    def _add(self, rows: OneSidedRows) -> None:
        matrix = rows.matrix
        arrays = matrix.indptr[:-1], matrix.indices, matrix.data
        self._highs.addRows(len(rows.sides), *rows.bounds(), matrix.nnz, *arrays)


class Highs(NativeSolver):
    """The persistent HiGHS solver, which comes with milpcb."""

    package, session = "highspy", HighsSession


def _model(program: Program, *, mip: bool) -> Any:
    lp = highspy.HighsLp()
    lp.num_col_, lp.num_row_ = program.n_columns, program.n_rows
    lp.col_cost_ = np.zeros(program.n_columns)
    lp.col_lower_, lp.col_upper_ = program.column_lower, program.column_upper
    lp.row_lower_, lp.row_upper_ = program.row_lower, program.row_upper
    lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    lp.a_matrix_.num_col_, lp.a_matrix_.num_row_ = program.n_columns, program.n_rows
    lp.a_matrix_.start_ = program.matrix.indptr
    lp.a_matrix_.index_ = program.matrix.indices
    lp.a_matrix_.value_ = program.matrix.data
    if mip:
        kinds = (highspy.HighsVarType.kContinuous, highspy.HighsVarType.kInteger)
        lp.integrality_ = [kinds[int(whole)] for whole in program.integer]
    return lp
