"""The MILP oracle: one polytope, opened once in a solver; a query changes the objective only.

Side constraints are rows of the program, wide enough for the tolerances of every solver. That any two of G rates are
close takes G (G - 1) constraints, and a program two rows a rate with one column more: each rate is between the least,
the column, and the least plus the difference allowed. Rates are counted from the first one.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from milpcb.constraints import LabelConstraint, SideConstraint, conflict
from milpcb.core.checks import check_gap, check_time_limit
from milpcb.core.decimals import spaced
from milpcb.core.long_search import waiting
from milpcb.errors import InfeasibleError, InputError, OracleInexact, SolverFailedError
from milpcb.oracles.base import Oracle
from milpcb.oracles.query import Query
from milpcb.oracles.totals import ProgramTable
from milpcb.program import Program
from milpcb.protocols import Encoding, Objective, Opened, Policy, Table
from milpcb.solvers import load_solver
from milpcb.solvers.lazy import LazySession
from milpcb.types import Floats, Ints, Solution, Stop

# Solvers let a row be broken by about 1e-6, and HiGHS 1.15's presolve loses solutions where numbers in a row differ by
# less; side constraints allow 1e-9. So their rows are widened to this grid, and labelings in between cut off one by
# one.
GRID = 2.0**-16
FEWEST_RATES = 4  # of three rates or fewer there are no more pairs than rows


@dataclass(frozen=True, eq=False)
class Family:
    """A family of rates any two of which are close: constraints on the difference of each to the first one."""

    name: object
    from_first: tuple[SideConstraint, ...]

    def rows(self) -> list[SideConstraint]:
        """Return the upper and the lower bounds of each rate, counted from the least of them."""
        return [*self.from_first, *(SideConstraint(-side.weights, upper=0.0) for side in self.from_first)]

    def signs(self) -> Floats:
        """Return the coefficient of the least rate in each of the rows."""
        return np.repeat([-1.0, 1.0], len(self.from_first))


def split(sides: Sequence[SideConstraint]) -> tuple[list[Family], list[SideConstraint]]:
    """Return the families whose pairs are all among the constraints, and the constraints in no family."""
    found: dict[object, dict[tuple[int, int], SideConstraint]] = {}
    for side in sides:
        if side.pair is not None:
            found.setdefault(side.pair.family, {})[side.pair.one, side.pair.other] = side
    families = []
    for name, pairs in found.items():
        n = 1 + max(pairs)[0]
        if n >= FEWEST_RATES and len(pairs) == n * (n - 1):
            families.append(Family(name, tuple(pairs[i, 0] for i in range(1, n))))
    names = {family.name for family in families}
    return families, [side for side in sides if side.pair is None or side.pair.family not in names]


class WithLeastRates(Encoding):
    """An ``encoding`` with a last column for the least rate of each family; costs do not concern these columns."""

    def __init__(self, encoding: Encoding, families: Sequence[Family]) -> None:
        self._encoding, self._families = encoding, families
        self.columns = {family.name: encoding.program.n_columns + i for i, family in enumerate(families)}
        lower = -GRID - np.array([max(side.upper for side in family.from_first) for family in families])
        self.program = encoding.program.with_columns("least_rate", lower, np.full(len(families), GRID))
        self.separator, self.noisy_columns = encoding.separator, encoding.noisy_columns

    def objective(self, costs: Floats) -> Objective:
        found = self._encoding.objective(costs)
        return replace(found, coefficients=np.append(found.coefficients, np.zeros(len(self._families))))

    def decode(self, x: Floats, costs: Floats) -> Policy:
        return self._encoding.decode(x[: self._encoding.program.n_columns], costs)


def with_side_constraints(encoding: Encoding, program: Program, sides: Sequence[SideConstraint]) -> Program:
    """Return the program with a row for each side constraint, none bounded below, a little wider than the constraint.

    With the largest weight brought to between 1 and 2, coefficients are rounded down to multiples of GRID; the most
    that this takes away, and half of GRID, is added to the bound. No solver's tolerance loses a labeling. In a program
    WithLeastRates, families of rates have the two rows for each rate instead.
    """
    if not sides:
        return program
    columns = encoding.columns if isinstance(encoding, WithLeastRates) else {}
    families, sides = split(sides) if columns else ([], sides)
    sides = [*sides, *(row for family in families for row in family.rows())]
    maps = [encoding.objective(side.weights) for side in sides]
    scales = np.array([_scale(side.weights) for side in sides])
    matrix = scales[:, None] * np.array([cost_map.coefficients for cost_map in maps])
    offsets = scales * np.array([cost_map.offset for cost_map in maps])
    reach = 1.0 + scales * np.array([np.abs(side.weights).max(axis=1).sum() for side in sides])
    # No total is beyond the reach; a bound far beyond it is more than solvers take for a number.
    upper = np.clip(scales * np.array([side.upper for side in sides]), -reach, reach) - offsets
    least = np.where(np.isfinite(program.column_lower), program.column_lower, 0.0)
    rounded = np.where(np.isfinite(program.column_lower), np.floor(matrix / GRID) * GRID, matrix)
    upper = upper - (matrix - rounded) @ least + GRID / 2
    first = len(sides) - sum(len(family.signs()) for family in families)
    for family in families:
        rows = slice(first, first + len(family.signs()))
        rounded[rows, columns[family.name]] = scales[rows] * family.signs()
        first = rows.stop
    return program.with_rows(rounded, np.full(len(sides), -np.inf), upper)


def _scale(weights: Floats) -> float:
    """Return a power of 2, which leaves the digits of the weights as they are."""
    largest = float(np.abs(weights).max())
    return float(np.exp2(np.clip(-np.floor(np.log2(largest)), -1000.0, 1000.0))) if largest else 1.0


# With integer costs a proved gap below 1 leaves one integer; 0.999 keeps clear of the solver's own rounding.
WHOLE_GAP = 0.999
# With real costs a solver may stop at this share of what it may be off by.
REAL_GAP = 0.5
MOST_CUT_OFF = 100
NO_ANSWER = {Stop.FAILED, Stop.UNKNOWN, Stop.UNBOUNDED}


class MilpOracle(Oracle):
    """Exact values from a solver (design: a policy class is a fixed polytope plus a linear cost map).

    Integer costs are proved by an absolute gap below 1 and rounding, real ones as Answer states. Side constraints mean
    the same in every solver: a policy is returned only if it keeps them by their definition (see LabelConstraint).

    Parameters
    ----------
    opened, contexts, constraints : see milpcb.open_oracle
    solver : ``"highs"``, or any other that ``milpcb solvers`` lists
    time_limit : seconds for one solve, None for no limit; an answer that ran into it carries bounds, not a value
    gap : an absolute gap, in the units of the costs, at which the solver may stop; such an answer carries bounds too

    """

    capabilities = Oracle.capabilities | {"columns"}
    encoding: Encoding
    _linear = False  # whether the cost map must be linear without side constraints too

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
        self.encoding = opened.program(constrained=self._linear or bool(constraints))
        self._distinct, self._rows = opened.contexts, np.arange(len(opened.contexts))
        self._time_limit, self._gap = check_time_limit(time_limit), check_gap(gap)
        self._solver, self._engine = solver, load_solver(solver)
        self._constraints = constraints
        self._sides = self._bound(constraints)
        families, _ = split(self._sides)
        if families:
            self.encoding = WithLeastRates(self.encoding, families)
        self._hold(self._sides)
        if constraints and not self._feasible():
            raise InfeasibleError(self._conflict())

    def route(self) -> list[str]:
        program = self.program
        kind = "a linear program, as its vertices are policies," if program.integral else "a mixed-integer program"
        more = " and rows that are found when they are needed" if self.encoding.separator else ""
        size = f"{spaced(program.n_columns)} columns, {spaced(program.n_rows)} rows{more}"
        lines = [f"answers: by solver {self._solver}, {kind} of {size}; a query changes its objective only"]
        if self._sides:
            families, others = split(self._sides)
            n_rows = len(others) + sum(len(family.rows()) for family in families)
            lines.append(f"constraints: {n_rows} rows of the program")
        return [*lines, "start: the last answer, where the solver can use it"]

    @property
    def settles_ties(self) -> bool:
        """See Oracle; a program with much branching has no time for it."""
        return self.program.integral or self.program.nearly_integral

    def close(self) -> None:
        if not self._closed:
            super().close()
            self._session.close()

    def _column_table(self) -> Table:
        own: dict[str, Any] = {"solver": self._solver, "time_limit": self._time_limit, "gap": self._gap}
        linear = self if self._constraints else _LinearMilp(self._opened_class, self.contexts, **own)
        return ProgramTable(self, linear)

    def _answer(self, costs: Floats, noise: Floats | None = None) -> tuple[float, float, Policy | None, Stop]:
        query = Query(costs, noise)
        stop, bound, policy, upper = self._admissible(query)
        if stop is Stop.INFEASIBLE:
            raise InfeasibleError(self._conflict())
        lower = max(_lower(bound, query), query.lowest)
        slack = 0.0 if query.whole else 2 * query.tolerance
        if stop is Stop.OPTIMAL and lower < upper - max(slack, self._gap + query.tolerance):
            raise OracleInexact(f"the solver claims an optimum of {lower:g}, but a policy costs {upper:g}")
        if lower > upper + slack:
            raise OracleInexact(f"the solver claims a lower bound of {lower:g}, but a policy costs {upper:g}")
        if lower >= upper:
            return upper, upper, policy, Stop.OPTIMAL
        stopped_early = stop is Stop.OPTIMAL and lower < upper - slack
        return lower, upper, policy, Stop.GAP_LIMIT if stopped_early else stop

    def _value(self, costs: Floats, noise: Floats | None = None) -> float:
        lower, upper, _, stop = self._answer(costs, noise)
        if stop is not Stop.OPTIMAL:
            raise OracleInexact(
                f"the solver stopped with '{stop}' between {lower:g} and {upper:g}: give it more time, or no gap"
            )
        return upper

    def _profile(self, costs: Floats, row: int, noise: Floats | None = None) -> Floats:
        """K solves, each with the other actions of the row priced out."""
        query = Query(costs, noise)
        price = query.highest - query.lowest + query.step
        profile = np.empty(self.n_actions)
        for action in range(self.n_actions):
            priced = costs.copy()
            priced[row, np.arange(self.n_actions) != action] += price
            value = self._value(priced, noise)
            profile[action] = value if value < query.highest + query.step / 2 else np.inf
        return profile

    def _admissible(self, query: Query) -> tuple[Stop, float, Policy | None, float]:
        """Return why the solver stopped, a lower bound, a policy that keeps all constraints or None, and its total."""
        while True:
            solution, offset = self._solve(query)
            if solution.stop in NO_ANSWER or (solution.stop is Stop.INFEASIBLE and not self._held):
                raise SolverFailedError(
                    f"the solver stopped with '{solution.stop}' on a bounded feasible program; report it"
                )
            bound = solution.bound + offset
            if solution.x is None:
                return solution.stop, bound, None, np.inf
            policy = self.encoding.decode(solution.x, query.costs)
            labels = policy.predict(self._distinct)
            if all(side.keeps(labels) for side in self._held):
                noise = 0.0 if query.noise is None else float(query.noise @ np.rint(solution.x))
                return solution.stop, bound, policy, float(query.costs[self._rows, labels].sum()) + noise
            self._cut_off(labels)

    def _solve(self, query: Query) -> tuple[Solution, float]:
        costs, everyone = query.costs, 0.0
        if not query.whole:  # what all policies pay hides how they differ
            least = costs.min(axis=1)
            costs, everyone = costs - least[:, None], float(least.sum())
        objective = self.encoding.objective(costs)
        coefficients = objective.coefficients if query.noise is None else objective.coefficients + query.noise
        gap = max(self._gap, WHOLE_GAP if query.whole else REAL_GAP * query.tolerance)
        with nullcontext() if self.program.integral else waiting(f"a query to solver {self._solver}"):
            solution = self._session.solve(coefficients, gap=gap, time_limit=self._time_limit)
        return solution, objective.offset + everyone

    def _hold(self, sides: Sequence[SideConstraint]) -> None:
        self._held = sides
        self._n_cut_off = 0
        self._open(with_side_constraints(self.encoding, self.encoding.program, sides))

    def _open(self, program: Program) -> None:
        self.program = program
        self._session = LazySession(self._engine, program, self.encoding.separator)

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
        self._open(with_side_constraints(self.encoding, self.program, [SideConstraint(same, upper=len(labels) - 1.0)]))

    def _feasible(self) -> bool:
        """Return whether some policy keeps all side constraints; where the time limit ends the search first, True."""
        nothing = np.zeros((len(self._rows), self.n_actions))
        return self._admissible(Query(nothing))[0] is not Stop.INFEASIBLE

    def _conflict(self) -> str:
        def feasible(numbers: list[int]) -> bool:
            self._session.close()
            self._hold([self._sides[number] for number in numbers])
            return self._feasible()

        message = conflict(self._constraints, feasible)
        self._session.close()
        self._hold(self._sides)
        return message


class _LinearMilp(MilpOracle):
    """The same in an encoding whose cost map is linear, so noise on a column means the same whatever the costs are."""

    _linear = True


def _lower(bound: float, query: Query) -> float:
    return float(np.ceil(bound - query.tolerance)) if query.whole and np.isfinite(bound) else bound - query.tolerance
