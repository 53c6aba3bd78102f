"""Messages on solvers, clocks, and solvers that end badly; the problems that every one must solve: tests/testing."""

import gc
import os
import re
import subprocess
from functools import partial
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import numpy as np
import pulp
import pytest
from pulp.apis.coin_api import COIN_CMD

from milpcb import open_oracle
from milpcb.errors import InputError, SolverFailedError, SolverLicenceError, SolverMissingError, UnknownNameError
from milpcb.plugins import registry
from milpcb.program import Program, ProgramBuilder
from milpcb.solvers import describe_all, load_solver
from milpcb.testing.solvers import known_problems
from milpcb.types import Floats, Stop
from policies import DecisionTrees
from tests.refused import refused
from tests.solvers.needs import needs

KNAPSACK = next(problem for problem in known_problems() if problem.name == "knapsack")
# What each extra installs.
PACKAGES = {"scip": "pyscipopt", "gurobi": "gurobipy", "cplex": "cplex", "xpress": "xpress", "copt": "coptpy"}
HOT = ["highs", *PACKAGES]


def hard_program() -> tuple[Program, Floats]:
    """A program that no machine solves in hours, and an objective for it."""
    rng = np.random.default_rng(5)
    b = ProgramBuilder()
    x = b.columns("x", (400,), 0.0, 1.0, integer=True)
    for _ in range(60):
        b.rows((x[None, :], rng.integers(5, 60, 400).astype(float)), upper=3500.0)
    return b.build(), -rng.integers(5, 60, 400).astype(float)


# ------------------------------------------------------------------- clocks


@pytest.mark.parametrize("solver", [*HOT, "scipy"])
def test_every_query_gets_the_time_limit_anew(solver: str) -> None:
    """In one session the third query does not stop at once; answers are no optima, and have bounds below them."""
    needs(solver)
    program, objective = hard_program()
    session = load_solver(solver).open(program)
    for _ in range(3):
        solution = session.solve(objective, time_limit=0.2)
        assert solution.stop is Stop.TIME_LIMIT
        assert solution.bound < solution.objective
        objective = np.roll(objective, 1)


@pytest.mark.parametrize(
    ("time_limit", "stop"), [(None, Stop.INFEASIBLE), (0.0, Stop.TIME_LIMIT), (600.0, Stop.TIME_LIMIT)]
)
@pytest.mark.parametrize("no_solution", [pulp.LpSolutionInfeasible, pulp.LpSolutionNoSolutionFound])
def test_infeasible_under_a_clock_is_no_proof(
    time_limit: float | None, stop: Stop, no_solution: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """CBC stopped by the clock before it has a point says "infeasible": it proves nothing, without a clock it does."""
    session = load_solver("pulp:PULP_CBC_CMD").open(KNAPSACK.program)

    def says_infeasible(problem: pulp.LpProblem, _solver: object) -> None:
        problem.status, problem.sol_status = pulp.LpStatusInfeasible, no_solution

    monkeypatch.setattr(pulp.LpProblem, "solve", says_infeasible)
    solution = session.solve(KNAPSACK.objective, time_limit=time_limit)
    assert solution.stop is stop
    assert (solution.objective, solution.bound, solution.x) == (np.inf, -np.inf, None)


# ------------------------------------------------------------------- solvers that end badly


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # PuLP leaves its /dev/null open
@pytest.mark.parametrize("fate", ["killed", "not allowed to start"])
def test_a_solver_process_that_ends_badly_is_one_line(fate: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """CBC killed in the middle of a solve, or a binary that may not be run; the oracle can be asked again."""
    contexts, costs = np.eye(4), np.arange(12.0).reshape(4, 3) % 5
    oracle = open_oracle(DecisionTrees(3, depth=1), contexts, solver="pulp:PULP_CBC_CMD")
    right = oracle.value(costs)
    start = subprocess.Popen

    def spoilt(_command: object, **options: object) -> object:
        if fate == "killed":
            return start(["/bin/sh", "-c", "kill -KILL $$"], **options)  # type: ignore[call-overload]
        raise PermissionError(13, "Permission denied")

    with monkeypatch.context() as patch:
        patch.setattr("pulp.apis.coin_api.subprocess.Popen", spoilt)
        for question in (oracle.value, oracle.minimise):
            refused(partial(question, costs), "pulp:PULP_CBC_CMD ended without an answer", error=SolverFailedError)
    gc.collect()
    assert oracle.value(costs) == right


@pytest.mark.parametrize("left", [0, 1, 2, 3])
def test_a_truncated_answer_is_no_answer(monkeypatch: pytest.MonkeyPatch, left: int) -> None:
    """Of an output file cut short after a few lines no value is made up."""
    read = COIN_CMD.readsol_MPS

    def cut_short(self: object, filename: str, *arguments: object) -> object:
        with open(filename, encoding="utf-8") as file:  # noqa: PTH123 - PuLP's own name of the file
            lines = file.readlines()[:left]
        with open(filename, "w", encoding="utf-8") as file:  # noqa: PTH123 - as above
            file.writelines(lines)
        return read(self, filename, *arguments)

    b = ProgramBuilder()
    x = b.columns("x", (4,), 0.0, 1.0, integer=True)
    b.rows((x[None, :], 1.0), lower=3.0)
    monkeypatch.setattr(COIN_CMD, "readsol_MPS", cut_short)
    session = load_solver("pulp:PULP_CBC_CMD").open(b.build())
    refused(lambda: session.solve(np.ones(4)), error=SolverFailedError)


# ------------------------------------------------------------------- status tables


@pytest.mark.parametrize("solver", [*HOT, "scipy", "pulp:PULP_CBC_CMD"])
def test_a_code_that_is_not_listed_is_unknown(solver: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A solver stopping for a reason that was never asked for is no answer, and has no point."""
    needs(solver)
    session = load_solver(solver).open(KNAPSACK.program)
    assert Stop.UNKNOWN not in session.status.values()
    monkeypatch.setattr(session, "_run", lambda: "a code of the next version")
    solution = session.solve(KNAPSACK.objective)
    assert (solution.stop, solution.x, solution.objective, solution.bound) == (Stop.UNKNOWN, None, np.inf, -np.inf)


@pytest.mark.parametrize(("second", "stop"), [(Stop.OPTIMAL, Stop.UNBOUNDED), (None, Stop.INFEASIBLE)])
@pytest.mark.parametrize("solver", ["highs", "scipy"])
def test_an_unclear_end_is_made_clear_without_costs(
    solver: str, second: Stop | None, stop: Stop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Infeasible or unbounded: what has an optimum without costs was unbounded, and nothing else is unbounded then."""
    session = load_solver(solver).open(KNAPSACK.program)
    codes = iter(code for wanted in (None, second) for code, meaning in session.status.items() if meaning is wanted)
    costs: list[Floats] = []
    monkeypatch.setattr(session, "_change_costs", costs.append)
    monkeypatch.setattr(session, "_run", lambda: next(codes))
    assert session.solve(KNAPSACK.objective).stop is stop
    assert [each.any() for each in costs] == [True, False]


@pytest.mark.parametrize("solver", [name for name in PACKAGES if name != "scip"])
def test_a_vendor_that_stopped_at_ctrl_c_gives_it_back(solver: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A status "interrupted" is Python's KeyboardInterrupt, and the session can be asked again."""
    needs(solver)
    session = load_solver(solver).open(KNAPSACK.program)
    code = next(code for code, stop in session.status.items() if stop is Stop.INTERRUPTED)
    with monkeypatch.context() as patch:
        patch.setattr(session, "_run", lambda: code)
        with pytest.raises(KeyboardInterrupt):
            session.solve(KNAPSACK.objective)
    assert session.solve(KNAPSACK.objective).objective == KNAPSACK.optimum


LICENSED = [name for name in PACKAGES if name != "scip"]
THROUGH_PULP = ["pulp:COPT", "pulp:CPLEX_PY", "pulp:GUROBI", "pulp:XPRESS_PY"]


@pytest.mark.parametrize("solver", [*LICENSED, *THROUGH_PULP])
def test_a_program_beyond_the_free_licence_is_one_line(solver: str) -> None:
    """Where the licence is the free one, a large program is refused in the vendor's words, with the way out."""
    needs(solver)
    b = ProgramBuilder()
    x = b.columns("x", (12_000,), 0.0, 1.0, integer=True)
    b.rows((x[None, :], 1.0), lower=3.0)
    session = load_solver(solver).open(b.build())
    message = ""
    try:
        session.solve(np.ones(12_000))
    except SolverLicenceError as error:
        message = str(error)
    if not message:
        pytest.skip(f"{solver}: the licence here has no size limit")
    assert re.fullmatch(rf"{solver} refuses this program: .*; use highs, or get a licence from the vendor", message)


@pytest.mark.parametrize(
    ("solver", "file"),
    [
        *(("gurobi", "gurobi.env"), ("pulp:GUROBI", "gurobi.env"), ("xpress", "xpcalllog.cfg")),
        *(("pulp:XPRESS_PY", "xpcalllog.cfg"), ("copt", "client.ini"), ("copt", "license.dat")),
        ("pulp:COPT", "client.ini"),
    ],
)
@pytest.mark.parametrize("kind", ["file", "link", "pipe"])
def test_no_solver_takes_settings_from_the_current_folder(
    solver: str, file: str, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Settings may name servers to connect to and files to write: one line names the file, and nothing is opened."""
    needs(solver)
    engine = load_solver(solver)
    monkeypatch.chdir(tmp_path)
    make = {"file": Path.touch, "link": lambda path: path.symlink_to("nowhere"), "pipe": os.mkfifo}[kind]
    make(Path(file))  # type: ignore[operator]
    line = f"{solver} would take settings from the file {file} of the current folder"
    refused(lambda: engine.open(KNAPSACK.program).solve(KNAPSACK.objective), line)
    if solver.startswith("pulp:"):
        assert f"not asked: {file} lies in this folder" in {info.missing for info in describe_all()}
        refused(lambda: load_solver(solver), "move it away, start in another folder, or use highs")
    assert load_solver("pulp:PULP_CBC_CMD").open(KNAPSACK.program).solve(KNAPSACK.objective).stop is Stop.OPTIMAL
    monkeypatch.chdir("/")
    assert engine.open(KNAPSACK.program).solve(KNAPSACK.objective).objective == pytest.approx(KNAPSACK.optimum)


@pytest.mark.parametrize("solver", HOT)
def test_what_a_vendor_prints_goes_nowhere(solver: str, capfd: pytest.CaptureFixture[str]) -> None:
    """Opening, solving, asking again and closing print nothing, neither from Python nor from C."""
    needs(solver)
    session = load_solver(solver).open(KNAPSACK.program)
    for objective in (KNAPSACK.objective, KNAPSACK.objective[::-1].copy()):
        session.solve(objective)
    session.close()
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("solver", HOT)
def test_a_reached_gap_is_a_proof(solver: str) -> None:
    """A solver told that a gap of 500 will do stops there, and its bound is within the gap."""
    needs(solver)
    program, objective = hard_program()
    solution = load_solver(solver).open(program).solve(objective, gap=500.0)
    assert solution.stop is Stop.OPTIMAL
    assert solution.objective - 500.0 <= solution.bound < solution.objective


# ------------------------------------------------------------------- names


@pytest.mark.parametrize(
    ("spec", "error", "fragment"),
    [
        ("higs", UnknownNameError, "did you mean 'highs'"),
        ("highs:4", InputError, "takes no argument"),
        ("GUROBI", UnknownNameError, "did you mean 'gurobi'"),
        ("scipy:milp", InputError, "takes no argument"),
        ("pulp", InputError, "pulp:PULP_CBC_CMD"),
        ("pulp:PULP_CBC_CDM", UnknownNameError, "did you mean 'PULP_CBC_CMD'"),
    ],
)
def test_a_wrong_solver_name_is_explained(spec: str, error: type[Exception], fragment: str) -> None:
    """Each mistake in a solver's name says how to fix it."""
    refused(lambda: load_solver(spec), fragment, error=error)


def test_a_missing_solver_says_how_to_get_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """A solver that PuLP does not find is listed so, and refused by its name."""
    monkeypatch.setattr("milpcb.solvers.pulp._available", lambda _name: False)
    missing = {info.name: info.missing for info in describe_all() if info.name.startswith("pulp:")}
    assert set(missing.values()) == {"not found by PuLP"}
    for name in missing:
        refused(lambda name=name: load_solver(name), "install", error=SolverMissingError)


@pytest.mark.parametrize(("solver", "package"), PACKAGES.items())
def test_without_its_package_the_pip_line_is_given(solver: str, package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A solver whose package is absent is listed as missing, and naming it says what to type."""
    monkeypatch.setattr("milpcb.solvers.native.find_spec", lambda _name: None)
    monkeypatch.setattr("milpcb.solvers.native.version", Mock(side_effect=PackageNotFoundError))
    (info,) = registry.load("solver", solver).describe()
    assert (info.missing, info.extra) == (f"needs {package}", solver)
    refused(lambda: load_solver(solver), f"needs {package}: pip install '.[{solver}]'", error=SolverMissingError)


def test_highs_is_asked_again_where_its_bound_is_further_off_than_the_gap(monkeypatch: pytest.MonkeyPatch) -> None:
    """HiGHS 1.15 now and then calls a point optimal whose bound is lower: it goes on from that point."""
    session: Any = load_solver("highs").open(KNAPSACK.program)
    info = SimpleNamespace(objective_function_value=-12.0, mip_dual_bound=-14.0)
    short = [(mip_dual_bound, gap) for mip_dual_bound in (-14.0, -12.5) for gap in (0.9, 2.5)]
    with monkeypatch.context() as patch:
        patch.setattr(session, "_model", SimpleNamespace(getInfo=lambda: info))
        for info.mip_dual_bound, session._gap in short:
            assert session._falls_short() == ((info.mip_dual_bound, session._gap) == (-14.0, 0.9))
    starts: list[Floats] = []
    monkeypatch.setattr(session, "_falls_short", lambda: True)
    monkeypatch.setattr(session, "_start", starts.append)
    found = session.solve(KNAPSACK.objective, gap=0.9)
    assert (len(starts), found.objective, found.bound) == (1, KNAPSACK.optimum, KNAPSACK.optimum)
