"""IBM CPLEX through its Python package: the model is built once, then only its linear objective changes."""

from typing import Any

import numpy as np

from milpcb.program import Program
from milpcb.solvers.native import UNCLEAR, NativeSolver, finite, one_sided
from milpcb.types import Floats, Stop

# https://www.ibm.com/docs/en/icos/22.2.0?topic=micclcarm-solution-status-codes-by-number-in-cplex-callable-library-c-api
# ; a status not listed is UNKNOWN. A reached gap is a proof: only the absolute gap that the caller asked for is set.
STATUS = {
    1: Stop.OPTIMAL,
    2: Stop.UNBOUNDED,
    3: Stop.INFEASIBLE,
    4: UNCLEAR,
    11: Stop.TIME_LIMIT,
    13: Stop.INTERRUPTED,
    101: Stop.OPTIMAL,
    102: Stop.OPTIMAL,  # within the gap
    103: Stop.INFEASIBLE,
    107: Stop.TIME_LIMIT,  # with a point
    108: Stop.TIME_LIMIT,  # without one
    109: Stop.FAILED,  # an error, with a point
    110: Stop.FAILED,
    111: Stop.FAILED,  # memory limit, with a point
    112: Stop.FAILED,
    113: Stop.INTERRUPTED,  # with a point
    114: Stop.INTERRUPTED,
    118: Stop.UNBOUNDED,
    119: UNCLEAR,
}
_PRIMAL_SIMPLEX = 1


class Cplex(NativeSolver):
    """The CPLEX solver, kept open between queries."""

    name, package, extra, status = "cplex", "cplex", "cplex", STATUS

    def _build(self, program: Program) -> None:
        import cplex

        self._columns = list(range(program.n_columns))
        self._pair = cplex.SparsePair
        self._model = cplex.Cplex()
        _silence(self._model)
        _set_parameters(self._model.parameters, mip=self.mip)
        kinds = "".join(np.where(program.integer, "I", "C")) if self.mip else ""  # any kinds make it a MIP
        lower, upper = finite(program.column_lower), finite(program.column_upper)
        self._model.variables.add(lb=lower.tolist(), ub=upper.tolist(), types=kinds)
        self._add(program.matrix, program.row_lower, program.row_upper)

    def close(self) -> None:
        """Free the model."""
        self._model.end()

    def _limit(self, gap: float, seconds: float) -> None:
        self._model.parameters.mip.tolerances.absmipgap.set(gap)
        self._model.parameters.timelimit.set(seconds)

    def _change_costs(self, objective: Floats) -> None:
        self._model.objective.set_linear(list(zip(self._columns, objective.tolist(), strict=True)))

    def _start(self, x: Floats) -> None:
        starts = self._model.MIP_starts
        starts.delete()
        starts.add(self._pair(self._columns, x.tolist()), starts.effort_level.check_feasibility)

    def _run(self) -> int:
        self._model.solve()
        return int(self._model.solution.get_status())

    def _point(self) -> Floats | None:
        solution = self._model.solution
        return np.array(solution.get_values()) if solution.is_primal_feasible() else None

    def _bound(self) -> float:
        return float(self._model.solution.MIP.get_best_objective())

    def _add(self, matrix: Any, lower: Floats, upper: Floats) -> None:
        rows = one_sided(matrix, lower, upper)
        spans = zip(rows.matrix.indptr[:-1], rows.matrix.indptr[1:], strict=True)
        pairs = [self._pair(rows.matrix.indices[i:j].tolist(), rows.matrix.data[i:j].tolist()) for i, j in spans]
        self._model.linear_constraints.add(lin_expr=pairs, senses=rows.senses, rhs=rows.sides.tolist())


def _silence(model: Any) -> None:
    for stream in (model.set_log_stream, model.set_results_stream, model.set_warning_stream, model.set_error_stream):
        stream(None)


def _set_parameters(parameters: Any, *, mip: bool) -> None:
    parameters.threads.set(1)
    parameters.randomseed.set(0)
    parameters.simplex.tolerances.optimality.set(1e-9)
    parameters.simplex.tolerances.feasibility.set(1e-9)
    parameters.mip.tolerances.mipgap.set(0.0)
    parameters.mip.tolerances.integrality.set(0.0)
    if not mip:  # the last basis stays primal feasible: primal simplex goes on from it, and ends at a vertex
        parameters.lpmethod.set(_PRIMAL_SIMPLEX)
        parameters.preprocessing.presolve.set(0)
