"""SCIP through PySCIPOpt: the model is built once, then the transformed problem is freed and the objective swapped."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from milpcb.program import Program
from milpcb.solvers.guards import one_line
from milpcb.solvers.native import NativeSolver
from milpcb.types import Floats, Solution, Stop

# https://scipopt.org/doc/html/type__stat_8h.php (SCIP_Status), spelt as PySCIPOpt's Model.getStatus spells them; a
# status not listed is UNKNOWN. A reached gap is a proof: only the absolute gap that the caller asked for is ever set.
STATUS = {
    "optimal": Stop.OPTIMAL,
    "gaplimit": Stop.OPTIMAL,
    "infeasible": Stop.INFEASIBLE,
    "unbounded": Stop.UNBOUNDED,
    "timelimit": Stop.TIME_LIMIT,
    "userinterrupt": Stop.INTERRUPTED,
    "memlimit": Stop.FAILED,
}
_HELD = {Stop.OPTIMAL, Stop.TIME_LIMIT, Stop.INTERRUPTED}
_INFINITE = 1e20
_COMMON = {
    "limits/gap": 0.0,
    "parallel/maxnthreads": 1,
    "lp/threads": 1,
    "misc/catchctrlc": False,  # Ctrl-C is Python's
}


class Scip(NativeSolver):
    """The SCIP solver, kept open between queries."""

    name, package, module = "scip", "pyscipopt", "pyscipopt"

    def open(self, program: Program, *, relax: bool = False) -> ScipSession:
        """Build the model once.

        SCIP may end an LP inside a face. Where all vertices are integral, integer columns make it a vertex and change
        nothing else.
        """
        with one_line("scip"):
            return ScipSession(program, relax=relax and not program.integral)


class ScipSession:
    """One model inside SCIP; the solution of a query is the start of the next one."""

    def __init__(self, program: Program, *, relax: bool) -> None:
        self._model, self._x = _model(program, relax=relax)
        self._incumbent: Floats | None = None

    def solve(
        self,
        objective: Floats,
        *,
        gap: float = 0.0,
        time_limit: float | None = None,
        primal: bool = True,
        start: Floats | None = None,
    ) -> Solution:
        """Go back to the original problem, change its objective, start from the last solution, or from ``start``."""
        del primal  # reading x costs next to nothing here
        with one_line("scip"):
            self._model.freeTransform()
            self._model.setParam("limits/absgap", gap)
            self._model.setParam("limits/time", _INFINITE if time_limit is None else time_limit)
            self._change(objective, self._incumbent if start is None else start)
            self._model.optimize()
            return self._solution(objective, self._status())

    def add_rows(self, matrix: Floats, lower: Floats, upper: Floats) -> None:
        """Go back to the original problem and add rows to it."""
        with one_line("scip"):
            self._model.freeTransform()
            _add_rows(self._model, self._x, sp.csr_array(matrix), lower, upper)

    def close(self) -> None:
        """Free the model."""
        if self._model is not None:
            self._model.freeProb()
            self._model = None

    def _change(self, objective: Floats, start: Floats | None) -> None:
        from pyscipopt import quicksum

        used = np.flatnonzero(objective)
        self._model.setObjective(quicksum(float(objective[j]) * self._x[j] for j in used), "minimize")
        if start is not None:
            point = self._model.createSol()
            for j in np.flatnonzero(start):
                self._model.setSolVal(point, self._x[j], float(start[j]))
            self._model.addSol(point)

    def _status(self) -> Stop:
        status = self._model.getStatus()
        if status == "inforunbd":
            return self._unbounded_or_infeasible()
        return STATUS.get(status, Stop.UNKNOWN)

    def _unbounded_or_infeasible(self) -> Stop:
        """Solve with no objective: what is feasible was unbounded."""
        self._model.freeTransform()
        self._model.setObjective(0.0, "minimize")
        self._model.optimize()
        return Stop.UNBOUNDED if STATUS.get(self._model.getStatus()) is Stop.OPTIMAL else Stop.INFEASIBLE

    def _solution(self, objective: Floats, stop: Stop) -> Solution:
        if stop not in _HELD:
            return Solution(stop, np.inf, -np.inf)
        bound = float(self._model.getDualbound())
        bound = -np.inf if bound <= -_INFINITE else bound
        if not self._model.getNSols():
            return Solution(stop, np.inf, bound)
        best = self._model.getBestSol()
        x = np.array([self._model.getSolVal(best, column) for column in self._x])
        self._incumbent = x
        return Solution(stop, float(objective @ x), bound, x)


def _model(program: Program, *, relax: bool) -> tuple[Any, list[Any]]:
    """Return the model without an objective, and its variables in the order of the program's columns."""
    from pyscipopt import Model

    model = Model("milpcb")
    model.hideOutput()
    model.setParams(_COMMON)
    kinds = ["I" if whole and not relax else "C" for whole in program.integer]
    x = [
        model.addVar(f"x{j}", kinds[j], _finite(lower), _finite(upper))
        for j, (lower, upper) in enumerate(zip(program.column_lower, program.column_upper, strict=True))
    ]
    _add_rows(model, x, program.matrix, program.row_lower, program.row_upper)
    return model, x


def _add_rows(model: Any, x: list[Any], matrix: Any, lower: Floats, upper: Floats) -> None:
    from pyscipopt import ExprCons, quicksum

    for r, bounds in enumerate(zip(lower, upper, strict=True)):
        span = slice(matrix.indptr[r], matrix.indptr[r + 1])
        pairs = zip(matrix.indices[span], matrix.data[span], strict=True)
        row = quicksum(float(value) * x[j] for j, value in pairs)
        model.addCons(ExprCons(row, *map(_finite, bounds)))


def _finite(bound: float) -> float | None:
    """Return None for no bound, as PySCIPOpt takes it."""
    return float(bound) if np.isfinite(bound) else None
