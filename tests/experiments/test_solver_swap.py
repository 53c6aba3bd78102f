"""Swapping the solver changes the time and nothing else."""

from __future__ import annotations

import tomllib
from pathlib import Path

import polars as pl
from polars.testing import assert_frame_equal
from rich.console import Console

import milpcb
from milpcb.experiments.results.store import RunDirectory
from milpcb.experiments.run.progress import open_progress
from milpcb.experiments.run.runner import run
from milpcb.experiments.study.config import parse_config

CONFIG = Path(__file__).parents[2] / "scripts" / "experiments" / "regret_trees.toml"


def curves(solver: str, directory: Path) -> pl.DataFrame:
    """Return the curves, timings and names left out, of the shipped experiment at T = 300."""
    tables = tomllib.loads(CONFIG.read_text(encoding="utf-8"))
    tables["experiment"]["horizon"] = 300
    tables["oracle"]["solver"] = solver
    with open_progress("quiet", Console(), directory / "live") as progress:
        assert run(parse_config(tables), RunDirectory(directory), progress, "serial") == []
    return milpcb.load(directory).drop("seconds", "oracle_seconds", "oracle", "key")


def test_highs_and_cbc_write_the_same_curves(tmp_path: Path) -> None:
    """HiGHS and CBC give bit-identical curves up to timings, 300 rounds of K + 1 queries each."""
    highs = curves("highs", tmp_path / "highs")
    cbc = curves("pulp:PULP_CBC_CMD", tmp_path / "cbc")
    assert len(highs) > 50
    assert_frame_equal(highs, cbc, check_exact=True)
