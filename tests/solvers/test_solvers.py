"""Every solver on every known problem, and what a user is told of solvers."""

from __future__ import annotations

import numpy as np
import pytest

from milpcb.errors import InputError, SolverMissingError, UnknownNameError
from milpcb.program import ProgramBuilder
from milpcb.solvers import describe_all, load_solver
from milpcb.solvers.highs import STATUS as HIGHS_STATUS
from milpcb.solvers.pulp import STATUS as PULP_STATUS
from milpcb.testing.problems import known_problems
from milpcb.testing.solvers import check_known_problem, check_objectives_in_a_row
from milpcb.types import Stop

HERE = [info.name for info in describe_all() if not info.missing]
PROBLEMS = {problem.name: problem for problem in known_problems()}


def test_the_solvers_of_the_core_run_here() -> None:
    """HiGHS and CBC come with the dependencies, so they may not be missing anywhere."""
    assert {"highs", "pulp:PULP_CBC_CMD"} <= set(HERE)


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("solver", HERE)
def test_known_problem(solver: str, name: str) -> None:
    """Every solver solves every known problem, twice in one session."""
    check_known_problem(load_solver(solver), PROBLEMS[name])


@pytest.mark.parametrize("name", ["negative costs", "knapsack", "equalities", "big M", "ties"])
@pytest.mark.parametrize("solver", HERE)
def test_objectives_in_a_row(solver: str, name: str) -> None:
    """A kept session answers as a fresh one does."""
    check_objectives_in_a_row(load_solver(solver), PROBLEMS[name])


@pytest.mark.parametrize("solver", HERE)
def test_a_relaxed_session_drops_integrality(solver: str) -> None:
    """The knapsack's relaxation is below its integer optimum."""
    knapsack = PROBLEMS["knapsack"]
    relaxed = load_solver(solver).open(knapsack.program, relax=True).solve(knapsack.objective)
    assert relaxed.stop is Stop.OPTIMAL
    assert relaxed.objective < -12.3


def test_a_time_limited_answer_is_no_proof() -> None:
    """HiGHS stopped by the clock reports a time limit and a bound below the incumbent, never an optimum."""
    rng = np.random.default_rng(5)
    b = ProgramBuilder()
    x = b.columns("x", (80,), 0.0, 1.0, integer=True)
    for _ in range(40):
        b.rows((x[None, :], rng.integers(5, 60, 80).astype(float)), upper=700.0)
    objective = -rng.integers(5, 60, 80).astype(float)
    solution = load_solver("highs").open(b.build()).solve(objective, time_limit=0.2)
    assert solution.stop is Stop.TIME_LIMIT
    assert solution.bound < solution.objective


@pytest.mark.parametrize("table", [HIGHS_STATUS, PULP_STATUS])
def test_only_listed_codes_mean_success(table: dict[object, Stop]) -> None:
    """A status that no table lists is UNKNOWN."""
    assert table.get("a code of the next version", Stop.UNKNOWN) is Stop.UNKNOWN
    assert Stop.UNKNOWN not in table.values()


@pytest.mark.parametrize(
    ("spec", "error", "fragment"),
    [
        ("higs", UnknownNameError, "did you mean 'highs'"),
        ("highs:4", InputError, "takes no argument"),
        ("pulp", InputError, "pulp:PULP_CBC_CMD"),
        ("pulp:PULP_CBC_CDM", UnknownNameError, "did you mean 'PULP_CBC_CMD'"),
    ],
)
def test_a_wrong_solver_name_is_explained(spec: str, error: type[Exception], fragment: str) -> None:
    """Each mistake in a solver's name says how to mend it."""
    with pytest.raises(error, match=fragment):
        load_solver(spec)


def test_a_missing_solver_says_how_to_get_one() -> None:
    """A PuLP solver that is not installed is refused when it is named, with the way out."""
    missing = next(info for info in describe_all() if info.missing and info.name.startswith("pulp:"))
    with pytest.raises(SolverMissingError, match="install"):
        load_solver(missing.name)
