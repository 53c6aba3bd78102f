"""HiGHS through highspy: the model is passed once, then only column costs change."""

from __future__ import annotations

from typing import Any

import highspy
import numpy as np
import scipy.sparse as sp

from milpcb.errors import SolverFailedError
from milpcb.program import Program
from milpcb.solvers.native import NativeSolver
from milpcb.types import Floats, Solution, Stop

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
# Where all vertices are integral, the entries of the matrix need no scaling, and perturbed bounds only cost the steps
# that undo them (measured: a quarter of a query; no stall in 5 000 programs with ties everywhere).
_INTEGRAL = _LP | {"simplex_scale_strategy": 0, "primal_simplex_bound_perturbation_multiplier": 0.0}
_DUAL_SIMPLEX = 1
# The feasibility jump looks for a first point, and the last query's is one, or the start is (measured: a third of a
# query with a start, a tenth of others).
# A restart presolves once more what few fixed columns change (measured: two fifths of a query on big-M rows).
_MIP = {"mip_rel_gap": 0.0, "mip_heuristic_run_feasibility_jump": False, "mip_allow_restart": False}
# Side rows on an integral polytope: presolve finds little, and costs most of a query (measured up to 100 times).
_NEARLY_INTEGRAL = _MIP | {"presolve": "off"}


class HighsSession:
    """One model inside HiGHS; the basis (LP) or the incumbent (MIP) of a query starts the next one."""

    def __init__(self, program: Program, *, mip: bool) -> None:
        self._mip = mip
        self._columns = np.arange(program.n_columns, dtype=np.int32)
        self._incumbent: Floats | None = None
        self._timed = False
        self._highs = highspy.Highs()
        for key, value in (_COMMON | _options(program, mip=mip)).items():
            self._highs.setOptionValue(key, value)
        if self._highs.passModel(_model(program, mip=mip)) == highspy.HighsStatus.kError:
            raise SolverFailedError("HiGHS refused the model; please report it with the config that made it")

    def solve(
        self,
        objective: Floats,
        *,
        gap: float = 0.0,
        time_limit: float | None = None,
        primal: bool = True,
        start: Floats | None = None,
    ) -> Solution:
        """Change the costs, go on from where the last query ended, or a MIP from ``start``."""
        highs = self._highs
        highs.changeColsCost(len(self._columns), self._columns, objective)
        if self._mip:
            self._hand_over(gap, self._incumbent if start is None else start)
        if time_limit is not None or self._timed:
            self._limit(time_limit)
        highs.run()
        stop = self._status()
        if self._mip and stop is Stop.OPTIMAL and self._falls_short(gap):
            self._hand_over(gap, np.array(highs.getSolution().col_value))
            highs.run()
            stop = self._status()
        if stop in {Stop.UNKNOWN, Stop.FAILED}:
            stop = self._once_more()
        return self._solution(stop, primal=primal)

    def _falls_short(self, gap: float) -> bool:
        """Return whether a point that is called optimal has a bound that the gap does not allow.

        HiGHS 1.15 now and then ends so on an integral objective; asked again from that point, it proves the point.
        """
        info = self._highs.getInfo()
        return bool(info.objective_function_value - info.mip_dual_bound > gap + 1e-6)

    def _once_more(self) -> Stop:
        """Solve from nothing by the dual simplex method: the primal one now and then gives up on a tiny program."""
        self._highs.clearSolver()
        self._highs.setOptionValue("simplex_strategy", _DUAL_SIMPLEX)
        self._highs.run()
        self._highs.setOptionValue("simplex_strategy", _LP["simplex_strategy"])
        return self._status()

    def add_rows(self, matrix: Floats, lower: Floats, upper: Floats) -> None:
        """Add rows to the model; the basis stays, an incumbent that breaks them goes."""
        rows = sp.csr_array(matrix)
        self._highs.addRows(len(lower), lower, upper, rows.nnz, rows.indptr[:-1], rows.indices, rows.data)
        if self._incumbent is not None:
            activity = matrix @ self._incumbent
            if ((activity < lower - 1e-6) | (activity > upper + 1e-6)).any():
                self._incumbent = None

    def close(self) -> None:
        """Free the model."""
        self._highs.clear()

    def _hand_over(self, gap: float, start: Floats | None) -> None:
        self._highs.setOptionValue("mip_abs_gap", max(gap, 1e-9))
        if start is not None:
            solution = highspy.HighsSolution()
            solution.col_value = start
            self._highs.setSolution(solution)

    def _limit(self, time_limit: float | None) -> None:
        self._timed = time_limit is not None
        # The clock of the simplex method runs on between runs, that of the MIP solver starts again.
        now = 0.0 if self._mip else self._highs.getRunTime()
        self._highs.setOptionValue("time_limit", highspy.kHighsInf if time_limit is None else now + time_limit)

    def _status(self) -> Stop:
        status = self._highs.getModelStatus()
        if status == _S.kUnboundedOrInfeasible:
            return self._unbounded_or_infeasible()
        return STATUS.get(status, Stop.UNKNOWN)

    def _unbounded_or_infeasible(self) -> Stop:
        """Solve with no objective: what is feasible was unbounded."""
        self._highs.changeColsCost(len(self._columns), self._columns, np.zeros(len(self._columns)))
        self._highs.run()
        return Stop.UNBOUNDED if self._highs.getModelStatus() == _S.kOptimal else Stop.INFEASIBLE

    def _solution(self, stop: Stop, *, primal: bool) -> Solution:
        highs = self._highs
        if stop is Stop.OPTIMAL and not self._mip and not primal:  # the hot path of a value query
            value = highs.getObjectiveValue()
            return Solution(stop, value, value)
        info = highs.getInfo()
        held = stop in {Stop.OPTIMAL, Stop.TIME_LIMIT, Stop.INTERRUPTED}
        found = held and info.primal_solution_status == _HOLDS_POINT
        x = np.array(highs.getSolution().col_value) if found else None
        if self._mip and x is not None:
            self._incumbent = x
        value = info.objective_function_value if found else np.inf
        if stop is Stop.OPTIMAL:
            bound = info.mip_dual_bound if self._mip else value
        else:
            bound = info.mip_dual_bound if self._mip and held else -np.inf
        return Solution(stop, value, bound, x)


class Highs(NativeSolver):
    """The persistent HiGHS solver, which comes with milpcb."""

    name, package, module = "highs", "highspy", "highspy"
    session = HighsSession


def _options(program: Program, *, mip: bool) -> dict[str, Any]:
    if mip:
        return _NEARLY_INTEGRAL if program.nearly_integral else _MIP
    return _INTEGRAL if program.integral else _LP


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
