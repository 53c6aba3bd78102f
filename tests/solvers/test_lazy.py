"""Rows added as they are needed: the session, and ``add_rows`` of every solver."""

from itertools import product

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

from milpcb.errors import SolverFailedError
from milpcb.program import Program, ProgramBuilder
from milpcb.protocols import Cuts
from milpcb.solvers import lazy, load_solver
from milpcb.solvers.highs import Highs
from milpcb.solvers.lazy import LazySession
from milpcb.types import Floats, Solution, Stop
from tests.solvers.needs import needs

EDGES = ((0, 1), (1, 2), (2, 3), (3, 4), (4, 0), (0, 2), (3, 5))
POINTS = np.array([p for p in product((0.0, 1.0), repeat=6) if not any(p[i] and p[j] for i, j in EDGES)])
SOLVERS = pytest.mark.parametrize(
    "solver", ["highs", "scipy", "scip", "gurobi", "cplex", "xpress", "copt", "pulp:PULP_CBC_CMD"]
)


class StableSets:
    """Sets of nodes without an edge inside; the row of an edge is x_i + x_j <= 1."""

    def cuts(self, x: Floats, objective: Floats) -> Cuts:
        """Return the rows of all edges that ``x`` breaks, and the best single node or none."""
        rows = [np.eye(6)[i] + np.eye(6)[j] for i, j in EDGES if x[i] + x[j] > 1.0 + 1e-3]
        point = np.eye(6)[objective.argmin()] * (objective.min() < 0)
        return Cuts(np.array(rows).reshape(-1, 6), np.full(len(rows), -np.inf), np.ones(len(rows)), point)


class KeptRows(StableSets):
    """A separator that is wrong: its only row, that of the first edge, comes whether a point breaks it or not."""

    def cuts(self, x: Floats, objective: Floats) -> Cuts:
        """Return the row."""
        row = np.eye(6)[:1] + np.eye(6)[1:2]
        return Cuts(row, np.full(1, -np.inf), np.ones(1), super().cuts(x, objective).point)


def cube() -> Program:
    """Six 0/1 columns without a row."""
    b = ProgramBuilder()
    b.columns("x", (6,), upper=1.0, integer=True)
    return b.build()


@SOLVERS
@settings(max_examples=4)
@given(data=st.data())
def test_the_optimum_is_that_of_all_rows(solver: str, data: st.DataObject) -> None:
    """One session answers whole and real objectives as the list of all points does."""
    needs(solver)
    session = LazySession(load_solver(solver), cube(), StableSets())
    for _ in range(3):
        whole = data.draw(st.booleans())
        each = st.integers(-5, 5) if whole else st.floats(-5.0, 5.0).map(lambda v: round(v, 3))
        objective = np.array([float(data.draw(each)) for _ in range(6)])
        solution = session.solve(objective, gap=0.999 if whole else 1e-6)
        least = (POINTS @ objective).min()
        assert solution.stop is Stop.OPTIMAL
        assert solution.objective == pytest.approx(least, abs=1e-6)
        bound = np.ceil(solution.bound - 1e-6) if whole else solution.bound  # a gap below 1 leaves one integer
        assert bound == pytest.approx(least, abs=2e-6)
        assert (solution.x == POINTS).all(axis=1).any()
        assert objective @ solution.x == pytest.approx(solution.objective, abs=1e-9)


@SOLVERS
def test_rows_of_the_program_itself_hold(solver: str) -> None:
    """With one row of the program itself, two and three, the optimum is the best point that keeps all."""
    needs(solver)
    program = cube().with_rows(np.array([[1.0, 0, 0, 0, 0, 1]]), np.array([-np.inf]), np.array([1.0]))
    session = LazySession(load_solver(solver), program, StableSets())
    objective = np.array([-3.0, -1, -2, -2, -2, -3])
    first = POINTS[(POINTS[:, 0] + POINTS[:, 5] <= 1)]
    assert session.solve(objective, gap=0.999).objective == (first @ objective).min()
    program = program.with_rows(np.ones((1, 6)), np.array([-np.inf]), np.array([1.0]))
    session = LazySession(load_solver(solver), program, StableSets())
    second = first[first.sum(axis=1) <= 1]
    assert session.solve(objective, gap=0.999).objective == (second @ objective).min()
    program = program.with_rows(np.ones((1, 6)), np.array([2.0]), np.array([np.inf]))
    session = LazySession(load_solver(solver), program, StableSets())
    assert session.solve(objective, gap=0.999).stop is Stop.INFEASIBLE


def test_a_point_that_breaks_a_row_of_the_program_is_no_answer() -> None:
    """The separator's own point, of one node at most, is not taken where the program asks for two."""
    program = cube().with_rows(np.ones((1, 6)), np.array([2.0]), np.array([np.inf]))
    costs = np.arange(1.0, 7.0)
    solution = LazySession(load_solver("highs"), program, StableSets()).solve(costs, gap=0.999)
    assert solution.objective == (POINTS[POINTS.sum(axis=1) >= 2] @ costs).min()


def test_more_rows_than_help_are_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    """Then both models are opened anew, and answers stay right; until then the rows found serve the next query."""
    opened: list[bool] = []
    closed: list[None] = []

    class Counted(Highs):
        def open(self, program, *, relax=False):
            opened.append(relax)
            return super().open(program, relax=relax)

        def close(self):
            closed.append(super().close())

    session = LazySession(Counted(), cube(), StableSets())
    for most, models in ((4, 2), (0, 4), (0, 6)):
        monkeypatch.setattr(lazy, "MOST_ROWS", most)
        assert session.solve(np.full(6, -1.0), gap=0.999).objective == (POINTS @ -np.ones(6)).min()
        assert opened == [True, False] * (models // 2)
        assert len(closed) == models - 2


def test_no_time_is_no_proof() -> None:
    """Without time the session reports a time limit and a bound that is none, never an optimum."""
    solution = LazySession(Highs(), cube(), StableSets()).solve(-np.ones(6), time_limit=0.0)
    assert solution.stop is Stop.TIME_LIMIT
    assert solution.bound <= (POINTS @ -np.ones(6)).min()


def test_a_solver_that_breaks_its_rows_is_found_out() -> None:
    """A point that breaks rows handed over before raises instead of asking for ever."""

    class Deaf(Highs):
        def open(self, program, *, relax=False):
            del relax
            session = super().open(program, relax=False)
            session.add_rows = lambda *_: None
            session.solve = lambda *_, **__: Solution(Stop.OPTIMAL, -np.inf, -np.inf, np.ones(6))
            return session

    with pytest.raises(SolverFailedError, match="violates rows of its program"):
        LazySession(Deaf(), cube(), StableSets()).solve(-np.array([1.0, 1, 1, 1, 1, 0.5]))


def test_a_separator_that_returns_what_a_point_keeps_is_named() -> None:
    """Such rows would change nothing, and the same point would come back in every round."""
    session = LazySession(load_solver("highs"), cube(), KeptRows())
    with pytest.raises(SolverFailedError, match="breaks none of them"):
        session.solve(np.full(6, -1.0))
    assert session.solve(np.ones(6)).objective == 0.0  # a point that needs no row is an answer
