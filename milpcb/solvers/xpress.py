"""FICO Xpress through its Python package: the model is loaded once, then only its objective coefficients change."""

import warnings
from functools import cache
from typing import Any

import numpy as np
import scipy.sparse as sp

from milpcb.program import Program
from milpcb.solvers.guards import XPRESS_READS, same_arithmetic
from milpcb.solvers.native import NativeSolver, finite, one_sided
from milpcb.types import Floats, Stop

# (SolveStatus, SolStatus, StopType) as numbers, the last 0 where the solve is complete:
# https://www.fico.com/fico-xpress-optimization/docs/latest/solver/optimizer/HTML/SOLVESTATUS.html and SOLSTATUS.html,
# STOPSTATUS.html beside it; what is not listed is UNKNOWN. A reached gap counts as complete: only the absolute gap that
# the caller asked for is ever set.
_STOPPED, _COMPLETED = 1, 3
_NOT_FOUND, _OPTIMAL, _FEASIBLE, _INFEASIBLE, _UNBOUNDED = range(5)
_TIME, _CTRL_C = 1, 2
STATUS = {
    (_COMPLETED, _OPTIMAL, 0): Stop.OPTIMAL,
    (_COMPLETED, _INFEASIBLE, 0): Stop.INFEASIBLE,
    (_COMPLETED, _UNBOUNDED, 0): Stop.UNBOUNDED,
    (_STOPPED, _NOT_FOUND, _TIME): Stop.TIME_LIMIT,
    (_STOPPED, _FEASIBLE, _TIME): Stop.TIME_LIMIT,
    (_STOPPED, _NOT_FOUND, _CTRL_C): Stop.INTERRUPTED,
    (_STOPPED, _FEASIBLE, _CTRL_C): Stop.INTERRUPTED,
}
_COMMON = {"outputlog": 0, "threads": 1, "randomseed": 0, "miprelstop": 0.0, "optimalitytol": 1e-9, "feastol": 1e-9}
# Xpress would cut off, by default, what is better than the incumbent by less than 1e-5.
_MIP = {"miptol": 1e-9, "mipaddcutoff": 0.0}
_NO_LP_SOLVED = {0, 1}  # MIPSTATUS, under which there is no bound
# The polytope is fixed, so the last basis stays primal feasible: primal simplex goes on from it, and ends at a vertex.
_PRIMAL_SIMPLEX = 3
_LP = {"defaultalg": _PRIMAL_SIMPLEX, "presolve": 0}


class Xpress(NativeSolver):
    """The Xpress solver, kept open between queries."""

    name, package, extra, status, reads = "xpress", "xpress", "xpress", STATUS, XPRESS_READS

    def _build(self, program: Program) -> None:
        self._columns = np.arange(program.n_columns)
        self._model = _library().problem()
        self._model.setControl(_COMMON | (_MIP if self.mip else _LP))
        rows = one_sided(program.matrix, program.row_lower, program.row_upper)
        matrix, lower, upper = sp.csc_array(rows.matrix), finite(program.column_lower), finite(program.column_upper)
        whole = np.flatnonzero(program.integer & self.mip)
        columns = (matrix.indptr, None, matrix.indices, matrix.data, lower, upper)
        arrays = ("", rows.senses, rows.sides, None, np.zeros(program.n_columns), *columns)
        if self.mip:
            self._model.loadMIP(*arrays, ["I"] * len(whole), whole)
        else:
            self._model.loadLP(*arrays)

    def _limit(self, gap: float, seconds: float) -> None:
        self._model.setControl({"mipabsstop": gap, "timelimit": seconds})

    def _change_costs(self, objective: Floats) -> None:
        self._model.chgObj(self._columns, objective)

    def _start(self, x: Floats) -> None:
        self._model.addMipSol(x)

    def _run(self) -> tuple[int, int, int]:
        solve, found = (int(status) for status in self._model.optimize())
        if solve != _STOPPED:
            return solve, found, 0
        reason = int(self._model.attributes.stopstatus)
        self._model.postSolve()  # or Xpress lets nobody change the model
        return solve, found, reason

    def _point(self) -> Floats | None:
        found = self._model.attributes.solstatus in {_OPTIMAL, _FEASIBLE}
        return np.array(self._model.getSolution()) if found else None

    def _bound(self) -> float:
        attributes = self._model.attributes
        return -np.inf if attributes.mipstatus in _NO_LP_SOLVED else float(attributes.bestbound)

    def _add(self, matrix: Any, lower: Floats, upper: Floats) -> None:
        rows = one_sided(matrix, lower, upper)
        self._model.addRows(rows.senses, rows.sides, None, rows.matrix.indptr, rows.matrix.indices, rows.matrix.data)


@cache
def _library() -> Any:
    """Return the package with the licence it finds; ``init`` leaves the processor computing with 53 digits."""
    import xpress

    with same_arithmetic(), warnings.catch_warnings():
        warnings.simplefilter("ignore", xpress.LicenseWarning)
        xpress.init()
    return xpress
