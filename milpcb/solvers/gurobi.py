"""Gurobi through gurobipy: the model is built once, then only the objective coefficients of its columns change."""

from typing import Any

import numpy as np

from milpcb.program import Program
from milpcb.solvers.guards import GUROBI_READS
from milpcb.solvers.native import UNCLEAR, NativeSolver, finite, one_sided
from milpcb.types import Floats, Stop

# https://docs.gurobi.com/projects/optimizer/en/current/reference/numericcodes/statuscodes.html ; a status not listed is
# UNKNOWN. A reached gap is OPTIMAL, and only the absolute gap that the caller asked for is ever set.
STATUS = {
    2: Stop.OPTIMAL,
    3: Stop.INFEASIBLE,
    4: UNCLEAR,
    5: Stop.UNBOUNDED,
    9: Stop.TIME_LIMIT,
    11: Stop.INTERRUPTED,
    12: Stop.FAILED,  # numerical trouble
    17: Stop.FAILED,  # memory limit
}
_COMMON = {"OutputFlag": 0, "Threads": 1, "Seed": 0, "MIPGap": 0.0, "OptimalityTol": 1e-9, "FeasibilityTol": 1e-9}
_MIP = {"IntFeasTol": 1e-9}
# The polytope is fixed, so the last basis stays primal feasible: primal simplex goes on from it, and ends at a vertex.
_LP = {"Method": 0, "Presolve": 0}


class Gurobi(NativeSolver):
    """The Gurobi solver, kept open between queries."""

    name, package, extra, status, reads = "gurobi", "gurobipy", "gurobi", STATUS, GUROBI_READS

    def _build(self, program: Program) -> None:
        import gurobipy

        self._environment = gurobipy.Env(params=_COMMON | (_MIP if self.mip else _LP))
        self._model = gurobipy.Model(env=self._environment)
        kinds = np.where(program.integer & self.mip, "I", "C")
        lower, upper = finite(program.column_lower), finite(program.column_upper)
        self._x = self._model.addMVar(program.n_columns, lb=lower, ub=upper, vtype=kinds)
        self._add(program.matrix, program.row_lower, program.row_upper)

    def close(self) -> None:
        """Free the model, and its share of the licence."""
        self._model.dispose()
        self._environment.dispose()

    def _limit(self, gap: float, seconds: float) -> None:
        self._model.Params.MIPGapAbs, self._model.Params.TimeLimit = gap, seconds

    def _change_costs(self, objective: Floats) -> None:
        self._x.Obj = objective

    def _start(self, x: Floats) -> None:
        self._x.Start = x

    def _run(self) -> int:
        self._model.optimize()
        return int(self._model.Status)

    def _point(self) -> Floats | None:
        return np.asarray(self._x.X) if self._model.SolCount else None

    def _bound(self) -> float:
        return float(self._model.ObjBound)

    def _add(self, matrix: Any, lower: Floats, upper: Floats) -> None:
        rows = one_sided(matrix, lower, upper)
        senses = np.array([{"L": "<", "G": ">", "E": "="}[sense] for sense in rows.senses])
        if len(senses):
            self._model.addMConstr(rows.matrix, self._x, senses, rows.sides)
