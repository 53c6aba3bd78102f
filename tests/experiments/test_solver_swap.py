"""Swapping the solver changes the time and nothing else."""

import tomllib
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import milpcb
from milpcb.experiments.results.store import RunDirectory
from milpcb.experiments.run.runner import run
from milpcb.experiments.study.config import parse_config
from milpcb.solvers import describe_all

CONFIG = Path(__file__).parents[2] / "scripts" / "experiments" / "regret_trees.toml"


def curves(solver: str, directory: Path) -> pl.DataFrame:
    """Return the curves, timings and names left out, of the shipped experiment at T = 20."""
    tables = tomllib.loads(CONFIG.read_text(encoding="utf-8"))
    tables["experiment"]["horizon"] = 20
    tables["oracle"]["solver"] = solver
    assert run(parse_config(tables), RunDirectory(directory), "serial") == []
    return milpcb.load(directory).drop("seconds", "oracle_seconds", "oracle", "key")


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> pl.DataFrame:
    """Return the curves with HiGHS."""
    return curves("highs", tmp_path_factory.mktemp("highs"))


@pytest.mark.parametrize("solver", ["pulp:PULP_CBC_CMD", "scip", "gurobi", "cplex", "xpress", "copt"])
def test_every_solver_writes_the_same_curves(solver: str, expected: pl.DataFrame, tmp_path: Path) -> None:
    """Each gives the curves of HiGHS, bit for bit up to timings, in 20 rounds of K + 1 questions each."""
    missing = {info.name: info.missing for info in describe_all()}[solver]
    if missing:
        pytest.skip(f"{solver}: {missing}")
    assert len(expected) > 30
    assert_frame_equal(expected, curves(solver, tmp_path), check_exact=True)
