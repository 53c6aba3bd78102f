"""Logs that are added up in one pass: a damaged file ends in one line that names it."""

import random
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from tests.stress.damages import flipped

OPTIONS = ["--action", "done", "--reward", "y", "--propensity", "p", "--thresholds", "9", "--one-pass"]


def log(n: int, seed: int) -> pl.DataFrame:
    """Return a log of two actions whose best rule is a tree of depth 2."""
    rng = np.random.default_rng(seed)
    features = {f"x{i}": rng.normal(size=n) for i in range(4)}
    done, p = rng.integers(0, 2, n), rng.choice([0.25, 0.5], n)
    y = np.where((features["x3"] > 0.2) & (features["x1"] < 0.5), done, 1 - done) + rng.normal(size=n)
    return pl.DataFrame({**features, "done": done, "y": y, "p": p})


@pytest.mark.cases(1)
def test_a_damaged_file_is_named(runs: int, tmp_path: Path, forks: Any) -> None:
    """But one byte of a number is another number."""
    whole = tmp_path / "logs"
    whole.mkdir()
    for number in range(4):
        log(4_000, number).write_parquet(whole / f"part{number:03d}.parquet")
    dice, path = random.Random(0), whole / "part003.parquet"  # noqa: S311 - dice
    content = path.read_bytes()
    changes = [content[: len(content) // 2], b"", b"x" * 100, b"PAR1" + content[4:-8] + b"\0" * 8]
    changes += [flipped(content, dice, 20) for _ in range(runs)]
    for number, change in enumerate(changes):
        path.write_bytes(change)
        done = forks.run(tmp_path, ("learn", str(whole), *OPTIONS, "--out", str(tmp_path / f"{number}")), {})
        if done.returncode == 0 and number >= 4:
            continue
        assert done.returncode == 2
        assert "part003.parquet" in done.stderr.strip().splitlines()[-1]
        assert "Traceback" not in done.stderr
