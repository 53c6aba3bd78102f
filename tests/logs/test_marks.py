"""Marks of missing values that a log was learnt with are missing in what comes later, in every export."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pytest
from click.testing import CliRunner

from milpcb.cli import cli
from milpcb.errors import InputError
from milpcb.estimators import OptimalPolicyTree, from_json

RNG = np.random.default_rng(0)
N = 600
TOWN = RNG.choice(["north", "south", "?"], N)
AGE = np.where(RNG.random(N) < 0.2, -999, RNG.integers(18, 80, N))
TREAT = RNG.integers(0, 2, N)
EARNED = TREAT * np.where((TOWN == "?") | (AGE == -999), 1.0, -1.0) + 0.1 * RNG.normal(size=N)
LOG = pl.DataFrame({"town": TOWN, "age": AGE, "treat": TREAT, "earned": EARNED})
# Rows with a mark, and the same with nothing: among strings an empty one is missing too.
ASKED: list[tuple[Any, Any]] = [("?", 30), ("", 30), (None, 30), ("north", -999), ("north", None), ("north", 30)]


def in_duckdb(table: Any, sql: str) -> list[Any]:
    """Return what DuckDB answers for each row of a table."""
    with duckdb.connect() as base:
        return answers_of(base.register("t", table), sql)


def answers_of(base: Any, sql: str) -> list[Any]:
    """Return what a database answers for each row of t."""
    return [answer for (answer,) in base.execute(f"SELECT {sql} FROM t").fetchall()]  # noqa: S608 - ours


@pytest.mark.parametrize(("ending", "one_pass"), [("csv", False), ("parquet", False), ("parquet", True)])
def test_marks_are_missing_at_serving(ending, one_pass, tmp_path, monkeypatch):
    """By policy.json, policy.py and policy.sql, in SQLite and DuckDB; each export says what is missing."""
    monkeypatch.chdir(tmp_path)
    getattr(LOG, f"write_{ending}")(f"log.{ending}")
    options = ["--action", "treat", "--reward", "earned", "--randomised", "--missing", "?,-999", "--out", "found"]
    options += ["--one-pass"] if one_pass else ["--draws", "0", "--resamples", "0"]
    done = CliRunner().invoke(cli, ["learn", f"log.{ending}", *options], standalone_mode=False)
    assert done.exception is None, done.exception
    tree, module = from_json(Path("found/policy.json").read_text()), {}
    assert tree.schema_["town"].missing_as == tree.schema_["age"].missing_as == ("?", "-999")
    t = pl.DataFrame(ASKED, schema={"town": pl.String, "age": pl.Int64}, orient="row")
    wanted = [1, 1, 1, 1, 1, 0]
    assert tree.predict(t).tolist() == tree.policy_.predict([dict(row) for row in t.to_dicts()]).tolist() == wanted
    python, sql = Path("found/policy.py").read_text(), Path("found/policy.sql").read_text()
    exec(python, module)  # noqa: S102 - the file is what is tested
    assert [module["decide"](row) for row in t.to_dicts()] == wanted
    with closing(sqlite3.connect(":memory:")) as base:
        base.execute("CREATE TABLE t (town, age)")
        base.executemany("INSERT INTO t VALUES (?, ?)", ASKED)
        assert answers_of(base, sql) == wanted
    assert in_duckdb(t, sql) == wanted
    for text in (python, sql):
        assert 'town: category, north, south; may be missing; read as missing: "", ?, "-999"' in text
        assert "age: number, 18 to 79; may be missing; read as missing: ?, -999" in text


def test_a_mark_where_nothing_was_missing_is_refused():
    """By predict and Python with a line, by SQL with NULL; a string that was learnt as a value is none."""
    t = pd.DataFrame({"town": ["north", "south", "east"] * 20})
    tree = OptimalPolicyTree(max_depth=1).fit(t, ["a", "b", "b"] * 20)
    module: dict[str, Any] = {}
    exec(tree.to_python(), module)  # noqa: S102 - the export is what is tested
    t = pd.DataFrame({"town": [""]})
    for ask in (lambda: tree.predict(t), lambda: module["decide"]({"town": ""})):
        with pytest.raises(ValueError, match="column 'town' is"):
            ask()
    assert in_duckdb(t, tree.to_sql()) == [None]
    t = pd.DataFrame({"town": ["north", "", "east"] * 20})
    tree = OptimalPolicyTree(max_depth=1).fit(t, ["a", "b", "a"] * 20)
    assert tree.predict(t).tolist() == in_duckdb(t, tree.to_sql()) == ["a", "b", "a"] * 20


def test_comments_hold_no_line_of_their_own():
    """Whatever a column and its values are called, what follows the comment is read as it was written."""
    name = "a\nb\u2028 -- */ \r'"
    t = pd.DataFrame({name: ["x\ny", 'z"\r', "SELECT 1"] * 20})
    tree = OptimalPolicyTree(max_depth=1).fit(t, ["a", "b", "b"] * 20)
    module: dict[str, Any] = {}
    exec(tree.to_python(), module)  # noqa: S102 - the export is what is tested
    wanted = ["a", "b", "b"] * 20
    assert [module["decide"](row) for row in t.to_dict("records")] == in_duckdb(t, tree.to_sql()) == wanted
    with pytest.raises(InputError):
        tree.predict(pd.DataFrame({name: [5]}))
