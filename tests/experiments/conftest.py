"""What the tests of experiments share: a tiny config, a run of it, curves without their times."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from milpcb.experiments.config import parse_config
from milpcb.experiments.curves import Row
from milpcb.experiments.runner import run
from milpcb.experiments.store import RunDirectory

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


class Heard:
    """Progress that writes down which tasks were started."""

    def __init__(self) -> None:
        self.tasks: list[str] = []

    def start(self, description: str, total: int) -> Callable[[int], None]:
        """Note the task."""
        self.tasks.append(f"{description}: {total}")
        return lambda _: None


@pytest.fixture
def tiny() -> str:
    """Return the text of a config whose run takes a fraction of a second."""
    return TINY


@pytest.fixture
def play_into() -> Callable[[str, Path], tuple[RunDirectory, list[str]]]:
    """Return ``play_into(text, directory)``: run a config, return the directory and the tasks that were started."""

    def play(text: str, path: Path) -> tuple[RunDirectory, list[str]]:
        config, heard = parse_config(tomllib.loads(text), text), Heard()
        directory = RunDirectory(path, config)
        run(config, directory, heard)
        return directory, heard.tasks

    return play


@pytest.fixture
def untimed() -> Callable[..., list[str]]:
    """Return ``untimed(directory, learner)``: the lines of curves.csv without seconds, perhaps of one learner only."""

    def lines(path: Path, learner: str = "") -> list[str]:
        whole = (path / "curves.csv").read_text(encoding="utf-8").splitlines()
        return [line.rsplit(",", 2)[0] for line in whole if line.startswith(learner)]

    return lines


@pytest.fixture
def make_rows() -> Callable[..., list[Row]]:
    """Return ``make_rows(learner, seed, regrets)``: a curve with one checkpoint a round."""

    def rows(learner: str, seed: int, regrets: list[float], guarantee: float = 9.0) -> Iterator[Row]:
        for t, regret in enumerate(regrets, start=1):
            yield Row(learner, seed, len(regrets), t, regret + 1.0, 1.0, regret, guarantee, 3 * t, 0.5 * t, 0.25 * t)

    return lambda *arguments, **options: list(rows(*arguments, **options))
