"""Swapping the solver changes the time and nothing else."""

from __future__ import annotations

import csv
import tomllib
from pathlib import Path

from rich.console import Console

from milpcb.experiments.config import parse_config
from milpcb.experiments.progress import Bars
from milpcb.experiments.runner import run
from milpcb.experiments.store import RunDirectory

CONFIG = Path(__file__).parents[2] / "scripts" / "experiments" / "regret_trees.toml"


def curves(solver: str, directory: Path) -> list[dict[str, str]]:
    """Return the rows of curves.csv, timings left out, of the shipped experiment at T = 300."""
    tables = tomllib.loads(CONFIG.read_text(encoding="utf-8"))
    tables["experiment"]["horizon"] = 300
    tables["oracle"]["solver"] = solver
    config = parse_config(tables)
    with Bars(Console(quiet=True)) as bars:
        run(config, RunDirectory(directory, config), bars)
    with (directory / "curves.csv").open(newline="", encoding="utf-8") as file:
        return [{k: v for k, v in row.items() if not k.endswith("seconds")} for row in csv.DictReader(file)]


def test_highs_and_cbc_write_the_same_curves(tmp_path: Path) -> None:
    """HiGHS and CBC give bit-identical curves.csv up to timings, 300 rounds of K + 1 queries each."""
    highs = curves("highs", tmp_path / "highs")
    cbc = curves("pulp:PULP_CBC_CMD", tmp_path / "cbc")
    assert len(highs) > 50
    assert highs == cbc
