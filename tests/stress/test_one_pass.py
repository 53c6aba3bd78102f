"""Logs that are added up in one pass: by Dask workers, killed, interrupted, damaged.

Files with whole scores: sums by two Dask workers, of which one is killed in the middle, are those of one process to the
last bit. `milpcb learn` gets SIGINT at random moments, half of them in the middle of the pass: it ends in one line, and
the same command then writes the policy of an undisturbed run. A damaged file ends in one line that names it.
"""

import json
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import psutil
import pytest

from milpcb.estimators import LoggedPolicyTree
from milpcb.experiments.run.backends import Serial
from milpcb.experiments.run.backends.dask import Dask
from milpcb.logs.files import Parts, count, log_files
from milpcb.logs.findings import Asked
from milpcb.logs.learning import counter_of, sample_of
from milpcb.logs.source import Columns
from tests.stress.damages import flipped

OPTIONS = ["--action", "done", "--reward", "y", "--propensity", "p", "--thresholds", "9", "--one-pass"]
COLUMNS = Columns("done", "y", maximise=True, propensity=("p",))


def log(n: int, seed: int) -> pl.DataFrame:
    """Return a log of three actions, with whole scores, whose best rule is a tree of depth 2."""
    rng = np.random.default_rng(seed)
    features = {f"x{i}": rng.normal(size=n) for i in range(10)}
    done, p = rng.integers(0, 3, n), rng.choice([0.25, 0.5], n)
    y = 0.3 * np.where((features["x3"] > 0.2) & (features["x7"] < 0.5), done == 1, done == 2) + rng.normal(size=n)
    names = np.array(["call", "mail", "none"])
    return pl.DataFrame({**features, "done": names[done], "y": np.round(4 * y), "p": p})


def sums(folder: Path, backend: object, keep: Callable[[int, object], None] | None = None) -> Parts:
    files = log_files(folder)
    sample, learner = sample_of(files, COLUMNS, lambda *_: None), LoggedPolicyTree(method="ips", thresholds=9)
    layout = learner.layout(sample.source.frame, sample.source.log.actions)
    counter = counter_of(files, sample, layout, learner, Asked(holdout=0.3))
    kept = keep and SimpleNamespace(counted=lambda: (0, counter.empty()), keep=keep)
    return count(counter, files, backend, kept, lambda *_: None)  # type: ignore[arg-type]


def same(one: Parts, other: Parts) -> bool:
    return all(a.cells.tobytes() == b.cells.tobytes() for a, b in zip(one, other, strict=True))


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory, pytestconfig: pytest.Config) -> Path:
    """Return a folder of eight files with whole scores."""
    folder = tmp_path_factory.mktemp("logs")
    for number in range(8):
        rows = log(200_000 if pytestconfig.option.stress else 4_000, number)
        rows.write_parquet(folder / f"part{number:03d}.parquet")
    return folder


def test_sums_by_workers_are_those_of_one_process(whole: Path) -> None:
    """To the last bit, though a worker is killed in the middle."""
    killed: list[int] = []

    def kill_a_worker(number: int, _: object) -> None:
        """Kill one of the two workers once a file is counted: both are at the next ones."""
        if number == 1:
            workers = [child for child in psutil.Process().children(recursive=True) if _is_worker(child)]
            busiest = max(workers, key=lambda child: child.cpu_times().user)
            busiest.kill()
            killed.append(busiest.pid)

    assert same(sums(whole, Serial()), sums(whole, Dask(workers=2), kill_a_worker))
    assert killed


def _is_worker(child: psutil.Process) -> bool:
    return "spawn_main" in " ".join(child.cmdline())


def learn(folder: Path, out: Path, *more: str) -> tuple[str, ...]:
    return ("learn", str(folder), *OPTIONS, *more, "--out", str(out))


@pytest.mark.cases(1)
def test_an_interrupted_command_ends_in_one_line_and_can_be_run_again(
    runs: int, whole: Path, tmp_path: Path, forks: Any
) -> None:
    """At drawn moments, half of them in the middle of the pass; the policy is that of an undisturbed run."""
    draw, wanted = np.random.default_rng(0), tmp_path / "whole"
    began = time.monotonic()
    assert forks.run(tmp_path, learn(whole, wanted, "--holdout", "0.3"), {}).returncode == 0
    took, policy = time.monotonic() - began, json.loads((wanted / "policy.json").read_text())
    for number in range(runs):
        out = tmp_path / f"out{number}"
        command = learn(whole, out, "--holdout", "0.3")
        process = [sys.executable, "-m", "milpcb", *command]
        running = subprocess.Popen(process, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        if number % 2 == 0:  # in the middle of the pass
            _await(out / "counted.json", running)
            time.sleep(float(draw.uniform(0.0, 0.05)) * took)
        else:
            time.sleep(float(draw.uniform(0.1, 1.0)) * took)
        running.send_signal(signal.SIGINT)
        _, printed = running.communicate(timeout=600)
        assert running.returncode in (0, 2, -signal.SIGINT), printed
        assert "Traceback" not in printed or "Exception ignored" in printed  # in a callback of the compiler
        again = forks.run(tmp_path, command, {})
        assert again.returncode == 0, again.stderr
        assert json.loads((out / "policy.json").read_text()) == policy


def _await(path: Path, running: subprocess.Popen[str]) -> None:
    while not path.exists() and running.poll() is None:
        time.sleep(0.005)


@pytest.mark.cases(1)
def test_a_damaged_file_is_named(runs: int, whole: Path, tmp_path: Path, forks: Any) -> None:
    """In one line; but one byte of a number is another number."""
    dice, path = random.Random(0), whole / "part003.parquet"  # noqa: S311 - dice
    content = path.read_bytes()
    changes = [content[: len(content) // 2], b"", b"x" * 100, b"PAR1" + content[4:-8] + b"\0" * 8]
    changes += [flipped(content, dice, 20) for _ in range(runs)]
    for number, change in enumerate(changes):
        path.write_bytes(change)
        done = forks.run(tmp_path, learn(whole, tmp_path / f"{number}"), {})
        if done.returncode == 0 and number >= 4:
            continue
        assert done.returncode == 2
        assert "part003.parquet" in done.stderr.strip().splitlines()[-1]
        assert "Traceback" not in done.stderr
    path.write_bytes(content)
