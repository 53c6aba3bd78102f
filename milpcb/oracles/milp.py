"""The oracle as a mixed-integer program: one polytope, opened once in a solver; a query changes the objective only."""

from __future__ import annotations

import numpy as np

from milpcb.constraints import LabelConstraint
from milpcb.errors import InfeasibleError, OracleInexact, SolverFailedError
from milpcb.oracles.base import Oracle, whole_numbers
from milpcb.program import Program
from milpcb.protocols import PolicyClass, Session
from milpcb.solvers import load_solver
from milpcb.types import Floats, Solution, Stop

# With whole costs a proved gap below 1 leaves one whole number; 0.999 keeps clear of the solver's own rounding.
WHOLE_GAP = 0.999
REAL_GAP = 1e-6


class MilpOracle(Oracle):
    """Exact values from a solver (design: a policy class is a fixed polytope plus a linear cost map).

    Whole-number costs are proved by an absolute gap below 1 and rounding, so every correct solver returns the same
    value. Real costs are proved to within ``1e-6 * (1 + sum of the largest costs)``.
    """

    def __init__(
        self,
        policies: PolicyClass,
        contexts: Floats,
        *,
        solver: str = "highs",
        constraints: tuple[LabelConstraint, ...] = (),
        time_limit: float | None = None,
    ) -> None:
        self._encoding = policies.formulate(contexts, constrained=bool(constraints))
        super().__init__(len(contexts), policies.n_actions, policies.log_size(contexts), self._encoding.group)
        engine = load_solver(solver)
        program = self._encoding.program
        if constraints:
            rows = [self._row(constraint) for constraint in constraints]
            program = _constrained(program, rows)
        self._time_limit = time_limit
        self._linear = program.integral
        self.program = program
        self._session: Session = engine.open(program, relax=program.integral)
        self._rows = np.arange(len(self._encoding.contexts))
        if constraints:
            self._prove_feasible(constraints)

    def close(self) -> None:
        """Free the solver's model."""
        self._session.close()

    def _minimise(self, costs: Floats) -> tuple[float, float, object, Stop]:
        whole = whole_numbers(costs)
        solution, offset = self._solve(costs, whole=whole, primal=True)
        if solution.stop is Stop.INFEASIBLE:
            raise InfeasibleError("no policy of the class satisfies the side constraints")
        if solution.stop not in {Stop.OPTIMAL, Stop.TIME_LIMIT, Stop.INTERRUPTED}:
            raise SolverFailedError(
                f"the solver stopped with '{solution.stop}' on a bounded feasible program; report it"
            )
        policy, upper = None, np.inf
        if solution.x is not None:
            policy = self._encoding.decode(solution.x, costs)
            upper = float(costs[self._rows, policy.predict(self._encoding.contexts)].sum())
        tolerance = _tolerance(costs)
        lower = _lower(solution.bound + offset, tolerance, whole=whole)
        if solution.stop is Stop.OPTIMAL and lower < upper - (0.0 if whole else 2 * tolerance):
            raise OracleInexact(f"the solver claims an optimum of {lower:g}, but its policy costs {upper:g}")
        if lower >= upper:
            return upper, upper, policy, Stop.OPTIMAL
        return min(lower, upper), upper, policy, solution.stop

    def _value(self, costs: Floats) -> float:
        """Take the short way where the proof needs no policy: whole costs on an integral polytope."""
        if self._linear and whole_numbers(costs):
            solution, offset = self._solve(costs, whole=True, primal=False)
            value = solution.bound + offset
            if solution.stop is Stop.OPTIMAL and abs(value - round(value)) <= _tolerance(costs):
                return float(round(value))
        lower, upper, _, stop = self._minimise(costs)
        if stop is not Stop.OPTIMAL:
            raise OracleInexact(f"the solver stopped with '{stop}' between {lower:g} and {upper:g}: give it more time")
        return upper

    def _profile(self, costs: Floats, row: int) -> Floats:
        """K solves, each with the other actions of the row priced out."""
        highest = float(costs.max(axis=1).sum())
        price = 1.0 + np.ceil(highest - float(costs.min(axis=1).sum()))
        profile = np.empty(self.n_actions)
        for action in range(self.n_actions):
            priced = costs.copy()
            priced[row] += price
            priced[row, action] -= price
            value = self._value(priced)
            profile[action] = value if value < highest + 0.5 else np.inf
        return profile

    def _solve(self, costs: Floats, *, whole: bool, primal: bool) -> tuple[Solution, float]:
        objective = self._encoding.objective(costs)
        gap = WHOLE_GAP if whole else REAL_GAP
        solution = self._session.solve(objective.coefficients, gap=gap, time_limit=self._time_limit, primal=primal)
        return solution, objective.offset

    def _row(self, constraint: LabelConstraint) -> tuple[Floats, float]:
        weights = self._checked(constraint.matrix(self.n_contexts, self.n_actions))
        cost_map = self._encoding.objective(weights)
        return cost_map.coefficients, constraint.upper - cost_map.offset

    def _prove_feasible(self, constraints: tuple[LabelConstraint, ...]) -> None:
        if self._session.solve(np.zeros(self.program.n_columns)).stop is Stop.INFEASIBLE:
            names = ", ".join(constraint.label for constraint in constraints)
            raise InfeasibleError(f"no policy of the class satisfies the side constraints {names}; loosen one of them")


def _constrained(program: Program, rows: list[tuple[Floats, float]]) -> Program:
    matrix = np.array([coefficients for coefficients, _ in rows])
    upper = np.array([bound for _, bound in rows])
    return program.with_rows(matrix, np.full(len(rows), -np.inf), upper)


def _tolerance(costs: Floats) -> float:
    """What floating-point solvers may be off by on sums of these costs; never near 1/2 where whole numbers are told."""
    return min(0.25, REAL_GAP * (1.0 + float(np.abs(costs).max(axis=1).sum())))


def _lower(bound: float, tolerance: float, *, whole: bool) -> float:
    return float(np.ceil(bound - tolerance)) if whole and np.isfinite(bound) else bound - tolerance
