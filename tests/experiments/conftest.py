"""Fixtures of the tests of experiments: a tiny config, runs of configs, curves without their times."""

from __future__ import annotations

import shutil
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from matplotlib.figure import Figure

from milpcb.experiments.results.curves import SCHEMA
from milpcb.experiments.results.store import RunDirectory
from milpcb.experiments.run import runner
from milpcb.experiments.run.runner import Failed
from milpcb.experiments.study.cells import Task
from milpcb.experiments.study.config import parse_config
from tests.sketches import sketch

TINY = """\
[experiment]
name = "tiny"
horizon = 40
checkpoints = 4

[environment]
name = "planted"
n_contexts = 8
n_features = 3

[policies]
name = "decision_trees"
depth = 1

[oracle]
kind = "enumeration"

[[learners]]
name = "bistro_plus"
queries = "profile"
scale = 8
"""


@dataclass(frozen=True)
class Played:
    """Traces of a run: its directory, the tasks that were begun, those that failed, and remarks."""

    path: Path
    tasks: list[str]
    failed: Failed
    remarks: list[str]


def play(text: str, path: Path, backend: str = "serial") -> Played:
    """Run a config in this process."""
    config, begun, remarks = parse_config(tomllib.loads(text), text), [], []

    class Spy(runner._Rounds):
        def __init__(self, tasks: list[Task], tick: Any) -> None:
            begun.extend(f"{task.title}: {task.horizon}" for task in tasks)
            super().__init__(tasks, tick)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runner, "_Rounds", Spy)
        failed = runner.run(config, RunDirectory(path), backend, remark=remarks.append)
    return Played(path, begun, failed, remarks)


@pytest.fixture(scope="session")
def tiny() -> str:
    """Return the text of a config whose run takes a fraction of a second."""
    return TINY


@pytest.fixture
def play_into(sketches: None) -> Callable[..., Played]:
    """Return ``play_into(text, directory)``: run a config in this process; its result says which tasks were begun.

    Its pictures are sketches, but in tests with the mark ``drawn``.
    """
    del sketches
    return play


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Return ``finished(text)``: the run directory of a config, which is played once for all tests that read it."""

    @cache
    def run_of(text: str) -> Path:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Figure, "savefig", sketch)
            return play(text, tmp_path_factory.mktemp("finished") / "run").path

    return run_of


@pytest.fixture
def copied(finished: Callable[[str], Path], tmp_path: Path) -> Callable[[str], Path]:
    """Return ``copied(text)``: a copy of such a directory, for the test to change."""
    return lambda text: Path(shutil.copytree(finished(text), tmp_path / "run"))


@pytest.fixture
def untimed() -> Callable[..., list[str]]:
    """Return ``untimed(directory, start)``: the lines of curves.csv without seconds, perhaps of those that begin so."""

    def lines(path: Path, start: str = "") -> list[str]:
        whole = (path / "curves.csv").read_text(encoding="utf-8").splitlines()
        return [",".join((*line.split(",")[:-3], line.split(",")[-1])) for line in whole if line.startswith(start)]

    return lines


@pytest.fixture
def make_frame() -> Callable[..., pl.DataFrame]:
    """Return ``make_frame(learner, seed, regrets, ...)``: a curve with one checkpoint a round."""

    def frame(learner: str, seed: int, regrets: list[float], guarantee: float = 9.0, **labels: Any) -> pl.DataFrame:
        same = {"learner": learner, "environment": "e", "policies": "p", "oracle": "o", "seed": seed, **labels}
        same |= {"horizon": len(regrets), "best_cost": 1.0, "guarantee": guarantee, "certificate_error": 0.5}
        same |= {"oracle_error": 0.0, "rule_changes": float("nan"), "key": "k"}
        rows = [
            {"round": t, "cumulative_cost": regret + 1.0, "regret": regret, "certificate": regret + 2.0}
            | {"bound": regret + 3.0, "oracle_calls": 3 * t, "seconds": 0.5 * t, "oracle_seconds": 0.25 * t}
            for t, regret in enumerate(regrets, start=1)
        ]
        return pl.DataFrame([same | row for row in rows], schema=SCHEMA)

    return frame
