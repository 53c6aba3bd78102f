"""Requirements of every solver: the known problems, and the interface of a Session."""

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial

import numpy as np

from milpcb.errors import SolverLicenceError, SolverMissingError
from milpcb.program import Program, ProgramBuilder
from milpcb.protocols import Solver
from milpcb.solvers import load_solver
from milpcb.testing import Check, Unmet, laws
from milpcb.types import Floats, Ints, Solution, Stop

TOLERANCE = 1e-6
INF = np.inf
Column = tuple[float, float, bool]  # its lower and upper bound, and whether it is integer
Row = tuple[Sequence[float], float, float]  # its coefficients, lower and upper bound
UNIT: Column = (0.0, 1.0, False)
BINARY: Column = (0.0, 1.0, True)
FREE: Column = (-INF, INF, False)


@dataclass(frozen=True)
class KnownProblem:
    """A program and its known answer; ``optimum`` is None when ``stop`` is not optimal."""

    name: str
    program: Program
    objective: Floats
    optimum: float | None
    stop: Stop


def known_problems() -> list[KnownProblem]:
    """Return the problems, smallest first."""
    return [
        _problem("negative costs", [UNIT] * 3, (-2, 3, -1), -3.0, integral=True),
        _problem("zero objective", [UNIT] * 3, (0, 0, 0), 0.0, integral=True),
        _problem("empty row", [(0, 4, False)] * 2, (1, 2), 3.0, ((0, 0), -1, 1), ((1, 1), 3, INF)),
        _problem("ties", [BINARY] * 4, [-7] * 4, -7.0, ([1] * 4, 1, 1), integral=True),
        _problem("infeasible", [UNIT] * 2, (1, 1), Stop.INFEASIBLE, ((1, 1), 3, INF)),
        _problem("integer infeasible", [(0, 5, True)] * 2, (1, 1), Stop.INFEASIBLE, ((2, 2), 3, 3)),
        _problem("unbounded", [(0, INF, False)] * 2, (-1, 0), Stop.UNBOUNDED, ((1, -1), 0, INF)),
        _problem("rounded up", [(-INF, INF, True)], (1,), -3.0, ((2,), -7, INF)),
        _problem("equalities", [FREE] * 2, (5, 1), -2.0, ((1, 1), 2, 2), ((1, -1), -4, -4)),
        _problem("knapsack", [BINARY] * 4, (-9, -6, -5, -3), -12.0, ((5, 4, 3, 2), -INF, 7)),
        _problem("big M", [(0, 1000, False), BINARY], (0, 1), 1.0, ((1, -1000), -INF, 0), ((1, 0), 0.5, INF)),
    ]


def _problem(
    name: str,
    columns: Sequence[Column],
    objective: Sequence[float],
    known: float | Stop,
    *rows: Row,
    integral: bool = False,
) -> KnownProblem:
    b = ProgramBuilder()
    x = np.concatenate(
        [b.columns(f"x{i}", (1,), lower, upper, integer=integer) for i, (lower, upper, integer) in enumerate(columns)]
    )
    for coefficients, lower, upper in rows:
        b.rows((x[None, :], np.array(coefficients, dtype=float)), lower=lower, upper=upper)
    optimum, stop = (None, known) if isinstance(known, Stop) else (known, Stop.OPTIMAL)
    return KnownProblem(name, b.build(integral=integral), np.array(objective, dtype=float), optimum, stop)


def violation(program: Program, x: Floats, *, relax: bool = False) -> float:
    """Return the largest amount by which ``x`` breaks rows, bounds or integrality."""
    activity = program.matrix @ x
    parts = [
        program.row_lower - activity,
        activity - program.row_upper,
        program.column_lower - x,
        x - program.column_upper,
        np.zeros(1) if relax else np.abs(x - np.rint(x))[program.integer],
    ]
    return float(max((part.max() for part in parts if part.size), default=0.0))


def battery(entry: str | Solver) -> list[Check]:
    """Return every check of a solver, named as in ``solver = "pulp:PULP_CBC_CMD"`` or given."""
    checks: dict[str, Callable[[Solver], None]] = dict(CHECKS)
    for problem in known_problems():
        checks[problem.name] = partial(_known_problem, problem=problem)
    return [Check(name, partial(_run, check, entry)) for name, check in checks.items()]


def _known_problem(solver: Solver, problem: KnownProblem) -> None:
    """Twice in a row the solver finds the optimum with a feasible integral point, or reports why there is none."""
    with closing(solver.open(problem.program)) as session:
        for _ in range(2):
            solution = session.solve(problem.objective)
            assert solution.stop == problem.stop, (problem.name, solution)
            if problem.optimum is not None:
                x = _check_optimal(solution, problem.objective, problem.optimum, problem.name)
                assert violation(problem.program, x) <= TOLERANCE, (problem.name, x)


def check_many_objectives(solver: Solver) -> None:
    """Thirty objectives in one session, each to the gap asked for: bounds hold, the point has the value reported."""
    program, points = _packing()
    with closing(solver.open(program)) as session:
        rng = np.random.default_rng(0)
        for number in range(30):
            gap = 0.999 if number % 3 == 0 else 0.0
            whole = rng.integers(-9, 10, program.n_columns).astype(float)
            objective = whole if number % 2 else rng.normal(size=program.n_columns)
            solution, least = session.solve(objective, gap=gap), float((points @ objective).min())
            assert solution.stop is Stop.OPTIMAL, solution
            assert solution.x is not None, solution
            assert violation(program, solution.x) <= TOLERANCE, solution
            assert abs(objective @ solution.x - solution.objective) <= TOLERANCE, solution
            assert least - TOLERANCE <= solution.objective <= solution.bound + gap + TOLERANCE, (solution, gap, least)
            assert solution.bound <= least + TOLERANCE, (solution, least)


def check_vertices(solver: Solver) -> None:
    """A relaxed session ends at a vertex, also where objectives tie: on an integral polytope that is a whole point."""
    program = _assignment(4)
    with closing(solver.open(program, relax=True)) as session:
        rng = np.random.default_rng(0)
        ties = [rng.integers(0, 2, program.n_columns).astype(float) for _ in range(8)]
        for objective in [np.zeros(program.n_columns), *ties, *rng.normal(size=(8, program.n_columns))]:
            solution = session.solve(objective)
            assert solution.stop is Stop.OPTIMAL, solution
            assert solution.x is not None, solution
            assert np.abs(solution.x - np.rint(solution.x)).max() <= TOLERANCE, (objective, solution.x)


def check_no_time(solver: Solver) -> None:
    """Without time the solver reports the best it has, and nothing false; with time again it finishes."""
    program, points = _packing()
    objective = np.array([-9.0, -6.0, -5.0, -3.0, -7.0, -2.0])
    least = float((points @ objective).min())
    for relax in (False, True):
        session = solver.open(program, relax=relax)
        hurried = session.solve(objective, time_limit=0.0)
        assert hurried.stop in {Stop.TIME_LIMIT, Stop.OPTIMAL}, hurried
        assert hurried.bound <= least + TOLERANCE, hurried
        if hurried.x is not None:
            assert violation(program, hurried.x, relax=relax) <= TOLERANCE, hurried
            assert abs(objective @ hurried.x - hurried.objective) <= TOLERANCE, hurried
        finished = session.solve(objective)
        assert finished.stop is Stop.OPTIMAL, finished
        assert relax or abs(finished.objective - least) <= TOLERANCE, finished
        session.close()


def check_added_rows(solver: Solver) -> None:
    """Rows of every kind that are added between queries count: answers equal those of a session opened with them."""
    program, points = _packing()
    rows = np.array([[1.0, 0, 0, 0, 1, 0], [0, 1, 1, 1, 0, 0], [1, 1, 1, 1, 1, 1], [0, 0, 1, -1, 0, 0]])
    lower, upper = np.array([-np.inf, 1.0, 2.0, 0.0]), np.array([1.0, np.inf, 3.0, 0.0])
    rng = np.random.default_rng(1)
    for relax in (False, True):
        session, left = solver.open(program, relax=relax), points
        for r in range(len(rows)):
            session.add_rows(rows[r : r + 1], lower[r : r + 1], upper[r : r + 1])
            left = left[(left @ rows[r] >= lower[r]) & (left @ rows[r] <= upper[r])]
            whole = program.with_rows(rows[: r + 1], lower[: r + 1], upper[: r + 1])
            for objective in (*rng.integers(-9, 10, (2, 6)).astype(float), *rng.normal(size=(2, 6))):
                solution = session.solve(objective)
                expected = solver.open(whole, relax=True).solve(objective).objective if relax else left @ objective
                x = _check_optimal(solution, objective, float(np.min(expected)))
                assert violation(whole, x, relax=relax) <= TOLERANCE, (r, solution)
        session.close()


def check_optimum_cut_off(solver: Solver) -> None:
    """Each optimum is cut off by a row, so the session returns points in order of cost, then reports infeasible."""
    program, points = _packing()
    objective = np.array([-9.0, -6.0, -5.0, -3.0, -7.0, -2.0])
    with closing(solver.open(program)) as session:
        for least in np.sort(points @ objective):
            solution = session.solve(objective)
            x = np.rint(_check_optimal(solution, objective, float(least)))
            session.add_rows((2.0 * x - 1.0)[None, :], np.array([-np.inf]), np.array([x.sum() - 1.0]))
        assert session.solve(objective).stop is Stop.INFEASIBLE, "all points are cut off"


def _run(check: Callable[[Solver], None], entry: str | Solver) -> None:
    try:
        check(load_solver(entry) if isinstance(entry, str) else entry)
    except (SolverMissingError, SolverLicenceError) as error:
        raise Unmet(str(error)) from error


def _check_optimal(solution: Solution, objective: Floats, least: float, name: str = "") -> Floats:
    assert solution.stop is Stop.OPTIMAL, (name, solution)
    assert solution.x is not None, (name, solution)
    for value in (solution.objective, solution.bound, float(objective @ solution.x)):
        assert abs(value - least) <= TOLERANCE, (name, solution, value, least)
    return solution.x


def _packing() -> tuple[Program, Ints]:
    """Return two knapsack rows on six 0/1 columns, and all feasible points (n, 6)."""
    sizes = np.array([[5.0, 4.0, 3.0, 2.0, 6.0, 1.0], [1.0, 6.0, 2.0, 5.0, 2.0, 3.0]])
    b = ProgramBuilder()
    x = b.columns("x", (6,), 0.0, 1.0, integer=True)
    b.rows((np.tile(x, (2, 1)), sizes), upper=9.0)
    points = np.indices((2,) * 6).reshape(6, -1).T
    return b.build(), points[(points @ sizes.T <= 9.0).all(axis=1)]


def _assignment(n: int) -> Program:
    """Return the assignment polytope (n, n), whose vertices are whole."""
    b = ProgramBuilder()
    x = b.columns("x", (n, n), 0.0, 1.0, integer=True)
    for lines in (x, x.T):
        b.rows((lines, 1.0), lower=1.0, upper=1.0)
    return b.build(integral=True)


CHECKS = laws(__name__)
