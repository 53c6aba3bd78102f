"""The oracle as a mixed-integer program: one polytope, opened once in a solver; a query changes the objective only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from milpcb.checks import check_gap, check_time_limit
from milpcb.constraints import LabelConstraint, conflict
from milpcb.errors import InfeasibleError, InputError, OracleInexact, SolverFailedError
from milpcb.oracles.base import Oracle, whole_numbers
from milpcb.program import Program
from milpcb.protocols import Encoding, Opened, Policy, Session
from milpcb.solvers import load_solver
from milpcb.solvers.lazy import open_session
from milpcb.types import Floats, Ints, Solution, Stop

# With whole costs a proved gap below 1 leaves one whole number; 0.999 keeps clear of the solver's own rounding.
WHOLE_GAP = 0.999
REAL_GAP = 1e-6
# Solvers let a row be broken by about 1e-6, and HiGHS 1.15's presolve loses solutions where numbers in a row differ by
# less; side constraints allow 1e-9. So their rows are widened to this grid, and labelings in between cut off one by one.
GRID = 2.0**-16
MOST_CUT_OFF = 100
NO_ANSWER = {Stop.FAILED, Stop.UNKNOWN, Stop.UNBOUNDED}


class MilpOracle(Oracle):
    """Exact values from a solver (design: a policy class is a fixed polytope plus a linear cost map).

    Whole-number costs are proved by an absolute gap below 1 and rounding, so every correct solver returns the same
    value. Real costs are proved to within ``1e-6 * (1 + sum of the largest costs)``. Side constraints mean the same in
    every solver: a policy is returned only if it keeps them by their definition (see LabelConstraint).

    Parameters
    ----------
    opened, contexts, constraints : see milpcb.open_oracle
    solver : ``"highs"``, or any other that ``milpcb solvers`` lists
    time_limit : seconds for one solve, None for no limit; an answer that ran into it carries bounds, and asking for its
        value raises. 0 asks for what is known at once
    gap : an absolute gap between the bounds, in the units of the costs, at which the solver may stop; such an answer carries
        bounds too

    """

    def __init__(
        self,
        opened: Opened,
        contexts: Floats,
        *,
        solver: str = "highs",
        constraints: tuple[LabelConstraint, ...] = (),
        time_limit: float | None = None,
        gap: float = 0.0,
    ) -> None:
        super().__init__(opened, contexts)
        opened.require("program")
        self._encoding = opened.program(constrained=bool(constraints))
        self._distinct, self._rows = opened.contexts, np.arange(len(opened.contexts))
        self._time_limit, self._gap = check_time_limit(time_limit), check_gap(gap)
        self._solver, self._engine = solver, load_solver(solver)
        self._constraints = constraints
        self._sides = [self._side(constraint) for constraint in constraints]
        self._hold(self._sides)
        if constraints and not self._feasible():
            raise InfeasibleError(self._conflict())

    def close(self) -> None:
        """Free the solver's model."""
        self._session.close()

    def _minimise(self, costs: Floats) -> tuple[float, float, Policy | None, Stop]:
        whole = whole_numbers(costs)
        found = self._admissible(costs, whole=whole)
        if found.stop is Stop.INFEASIBLE:
            raise InfeasibleError(self._conflict())
        tolerance = _tolerance(costs)
        lower = max(_lower(found.bound, tolerance, whole=whole), float(costs.min(axis=1).sum()))
        upper = np.inf if found.labels is None else float(costs[self._rows, found.labels].sum())
        slack = 0.0 if whole else 2 * tolerance
        if found.stop is Stop.OPTIMAL and lower < upper - max(slack, self._gap + tolerance):
            raise OracleInexact(f"the solver claims an optimum of {lower:g}, but its policy costs {upper:g}")
        if lower > upper + slack:
            raise OracleInexact(f"the solver claims a lower bound of {lower:g}, but its policy costs {upper:g}")
        if lower >= upper:
            return upper, upper, found.policy, Stop.OPTIMAL
        stopped_early = found.stop is Stop.OPTIMAL and lower < upper - slack
        return lower, upper, found.policy, Stop.GAP_LIMIT if stopped_early else found.stop

    def _value(self, costs: Floats) -> float:
        """Take the short way where the proof needs no policy: whole costs on an integral polytope."""
        if self.program.integral and whole_numbers(costs):
            solution, offset = self._solve(costs, whole=True, primal=False)
            value = solution.bound + offset
            if solution.stop is Stop.OPTIMAL and abs(value - round(value)) <= _tolerance(costs):
                return float(round(value))
        lower, upper, _, stop = self._minimise(costs)
        if stop is not Stop.OPTIMAL:
            raise OracleInexact(
                f"the solver stopped with '{stop}' between {lower:g} and {upper:g}: give it more time, or no gap"
            )
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

    def _admissible(self, costs: Floats, *, whole: bool) -> _Found:
        """Return the solver's answer; labelings that keep a side constraint only by its tolerance are cut off."""
        while True:
            solution, offset = self._solve(costs, whole=whole, primal=True)
            if solution.stop in NO_ANSWER or (solution.stop is Stop.INFEASIBLE and not self._held):
                raise SolverFailedError(
                    f"the solver stopped with '{solution.stop}' on a bounded feasible program; report it"
                )
            bound = solution.bound + offset
            if solution.x is None:
                return _Found(solution.stop, bound)
            policy = self._encoding.decode(solution.x, costs)
            labels = policy.predict(self._distinct)
            if all(side.weights[self._rows, labels].sum() <= side.largest for side in self._held):
                return _Found(solution.stop, bound, policy, labels)
            self._cut_off(labels)

    def _solve(self, costs: Floats, *, whole: bool, primal: bool) -> tuple[Solution, float]:
        objective = self._encoding.objective(costs)
        gap = max(self._gap, WHOLE_GAP if whole else REAL_GAP)
        solution = self._session.solve(objective.coefficients, gap=gap, time_limit=self._time_limit, primal=primal)
        return solution, objective.offset

    # ----------------------------------------------------------------- side constraints

    def _side(self, constraint: LabelConstraint) -> _Side:
        weights = constraint.matrix(self.n_contexts, self.n_actions)
        return _Side(self._checked(weights), constraint.largest(weights))

    def _hold(self, sides: Sequence[_Side]) -> None:
        """Open the solver on the polytope and the rows of ``sides``."""
        self._held = sides
        self._n_cut_off = 0
        self._open(_with_rows(self._encoding, self._encoding.program, sides))

    def _open(self, program: Program) -> None:
        self.program = program
        self._session: Session = open_session(self._engine, program, self._encoding.separator)

    def _cut_off(self, labels: Ints) -> None:
        """Add the row that not every context is labelled by ``labels`` (g,)."""
        self._n_cut_off += 1
        if self._n_cut_off > MOST_CUT_OFF:
            raise InputError(
                "the totals of a side constraint come closer to its bound than solvers can resolve, 1e-6 of the "
                "largest weight; round its weights"
            )
        same = np.zeros((len(self._rows), self.n_actions))
        same[self._rows, labels] = 1.0
        self._session.close()
        self._open(_with_rows(self._encoding, self.program, [_Side(same, len(labels) - 1.0)]))

    def _feasible(self) -> bool:
        """Return whether some policy keeps all side constraints; where the time limit ends the search first, True."""
        nothing = np.zeros((len(self._rows), self.n_actions))
        return self._admissible(nothing, whole=True).stop is not Stop.INFEASIBLE

    def _conflict(self) -> str:
        def feasible(numbers: list[int]) -> bool:
            self._session.close()
            self._hold([self._sides[number] for number in numbers])
            return self._feasible()

        message = conflict(self._constraints, feasible)
        self._session.close()
        self._hold(self._sides)
        return message


@dataclass(frozen=True)
class _Side:
    """A side constraint on the distinct contexts: ``sum_j weights[j, pi(x_j)] <= largest``, ``weights`` (g, K)."""

    weights: Floats
    largest: float


@dataclass(frozen=True)
class _Found:
    """What the solver holds: why it stopped, a lower bound, a policy and its labels (g,), or None."""

    stop: Stop
    bound: float
    policy: Policy | None = None
    labels: Ints | None = None


def _with_rows(encoding: Encoding, program: Program, sides: Sequence[_Side]) -> Program:
    """Return the program with a row for each side constraint, a little wider than the constraint.

    With the largest weight brought to between 1 and 2, coefficients are rounded down to multiples of GRID; what that
    takes away at most is added to the bound, and half of GRID. So no solver's tolerance loses a labeling.
    """
    if not sides:
        return program
    maps = [encoding.objective(side.weights) for side in sides]
    scales = np.array([_scale(side.weights) for side in sides])
    matrix = scales[:, None] * np.array([cost_map.coefficients for cost_map in maps])
    offsets = scales * np.array([cost_map.offset for cost_map in maps])
    reach = 1.0 + scales * np.array([np.abs(side.weights).max(axis=1).sum() for side in sides])
    # No total is beyond the reach; a bound far beyond it is more than solvers take for a number.
    upper = np.clip(scales * np.array([side.largest for side in sides]), -reach, reach) - offsets
    least = np.where(np.isfinite(program.column_lower), program.column_lower, 0.0)
    rounded = np.where(np.isfinite(program.column_lower), np.floor(matrix / GRID) * GRID, matrix)
    upper = upper - (matrix - rounded) @ least + GRID / 2
    return program.with_rows(rounded, np.full(len(sides), -np.inf), upper)


def _scale(weights: Floats) -> float:
    """Return a power of 2, which leaves the digits of the weights as they are."""
    largest = float(np.abs(weights).max())
    return float(np.exp2(-np.floor(np.log2(largest)))) if largest else 1.0


def _tolerance(costs: Floats) -> float:
    """Return how far a floating-point solver may be off on sums of these costs; below 1/2, so that rounding finds whole sums."""
    return min(0.25, REAL_GAP * (1.0 + float(np.abs(costs).max(axis=1).sum())))


def _lower(bound: float, tolerance: float, *, whole: bool) -> float:
    return float(np.ceil(bound - tolerance)) if whole and np.isfinite(bound) else bound - tolerance
