"""A policy file and its exports return the actions of the log: numbers where it has numbers."""

import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

from milpcb.cli import cli
from milpcb.estimators import from_json

RNG = np.random.default_rng(0)
AGE = RNG.integers(18, 80, 400)
DONE = RNG.integers(0, 2, 400)
EARNED = np.where(AGE > 50, 1, -1) * DONE + 0.1 * RNG.normal(size=400)


NAMES = np.array(["wait", "treat"])[DONE]


@pytest.mark.parametrize(
    ("actions", "ending", "one_pass"),
    [
        (DONE, "csv", False),
        (DONE.astype(bool), "csv", False),
        (DONE.astype(float), "parquet", False),
        (NAMES, "parquet", False),
        (DONE + 1, "parquet", True),
        (NAMES, "parquet", True),
    ],
)
def test_exports_return_what_was_done(actions, one_pass, ending, tmp_path, monkeypatch):
    """In Python, SQL and JSON, from files of both kinds, in memory and in one pass: the same values in each row."""
    monkeypatch.chdir(tmp_path)
    frame = pl.DataFrame({"age": AGE, "done": actions, "earned": EARNED})
    getattr(frame, f"write_{ending}")(f"log.{ending}")
    options = ["--action", "done", "--reward", "earned", "--randomised", "--depth", "1", "--out", "found"]
    options += ["--one-pass"] if one_pass else ["--draws", "0", "--resamples", "0"]
    done = CliRunner().invoke(cli, ["learn", f"log.{ending}", *options], standalone_mode=False)
    assert done.exception is None, done.exception
    best = np.where(AGE > 50, actions[DONE == 1][0], actions[DONE == 0][0]).tolist()
    module: dict[str, object] = {}
    exec(Path("found/policy.py").read_text(), module)  # noqa: S102 - the file is what is tested
    plays = [module["decide"](row) for row in frame.to_dicts()]
    assert plays == best
    assert {type(play) for play in plays} <= {str, bool, int}
    assert from_json(Path("found/policy.json").read_text()).predict(frame.select("age")).tolist() == best
    with closing(sqlite3.connect(":memory:")) as base:
        base.execute("CREATE TABLE log (age)")
        base.executemany("INSERT INTO log VALUES (?)", [(age,) for age in AGE.tolist()])
        answers = base.execute(f"SELECT {Path('found/policy.sql').read_text()} FROM log").fetchall()  # noqa: S608 - ours
    assert [answer for (answer,) in answers] == best
