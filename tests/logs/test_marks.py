"""Files of ``milpcb learn`` return the actions of the log, and read its marks of missing values."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from milpcb.data.actions import action_name
from milpcb.errors import InputError
from milpcb.estimators import OptimalPolicyTree
from milpcb.policies import from_json
from tests.exported import exported, in_duckdb, in_python, in_sqlite
from tests.learned import NO_CLAIMS, command

RNG = np.random.default_rng(0)
N = 600
TOWN = RNG.choice(["north", "south", "?"], N)
AGE = np.where(RNG.random(N) < 0.2, -999, RNG.integers(18, 80, N))
DONE = RNG.integers(0, 2, N)
EARNED = DONE * np.where((TOWN == "?") | (AGE == -999), 1.0, -1.0) + 0.1 * RNG.normal(size=N)
NAMES = np.array(["wait", "treat"])[DONE]
# Rows with a mark, and the same with nothing: among strings an empty one is missing too.
ASKED: list[tuple[Any, Any]] = [("?", 30), ("", 30), (None, 30), ("north", -999), ("north", None), ("north", 30)]


def learnt(frame: pl.DataFrame, ending: str, *options: str) -> tuple[Any, str, str]:
    """Return the estimator that is learnt from a file in the current folder, and the policy in Python and SQL."""
    getattr(frame, f"write_{ending}")(f"log.{ending}")
    columns = ("--action", "done", "--reward", "earned", "--randomised", "--out", "found")
    command("learn", f"log.{ending}", *columns, *options, *(() if "--one-pass" in options else NO_CLAIMS))
    texts = (Path(f"found/policy.{name}").read_text() for name in ("json", "py", "sql"))
    tree, python, sql = texts
    return from_json(tree), python, sql


@pytest.mark.parametrize(
    ("actions", "ending", "how"),
    [
        (DONE, "csv", ()),
        (DONE.astype(bool), "csv", ()),
        (DONE.astype(float), "parquet", ()),
        (NAMES, "parquet", ()),
        (DONE + 1, "parquet", ("--one-pass",)),
        (NAMES, "parquet", ("--one-pass",)),
    ],
)
def test_exports_return_what_was_done(actions, how, ending, tmp_path, monkeypatch):
    """In Python, SQL and JSON, from files of both kinds, in memory and in one pass: the same values in each row."""
    monkeypatch.chdir(tmp_path)
    age = RNG.choice([20, 30, 40, 50, 60, 70], N)
    earned = np.where(age > 50, 1, -1) * DONE + 0.1 * RNG.normal(size=N)
    frame = pl.DataFrame({"age": age, "done": actions, "earned": earned})
    tree, python, sql = learnt(frame, ending, "--depth", "1", *how)
    best = np.where(age > 50, actions[DONE == 1][0], actions[DONE == 0][0]).tolist()
    plays = in_python(python, frame)
    assert plays == best
    assert {type(play) for play in plays} <= {str, bool, int}
    assert in_sqlite(sql, frame.select("age")) == best
    assert tree.predict_names(frame.select("age")) == [action_name(action) for action in best]


@pytest.mark.parametrize(("ending", "how"), [("csv", ()), ("parquet", ()), ("parquet", ("--one-pass",))])
def test_marks_are_missing_at_serving(ending, how, tmp_path, monkeypatch):
    """By policy.json, policy.py and policy.sql, in SQLite and DuckDB; each export says what is missing."""
    monkeypatch.chdir(tmp_path)
    frame = pl.DataFrame({"town": TOWN, "age": AGE, "done": DONE, "earned": EARNED})
    tree, python, sql = learnt(frame, ending, "--missing", "?,-999", *how)
    assert tree.schema["town"].missing_as == tree.schema["age"].missing_as == ("?", "-999")
    t = pl.DataFrame(ASKED, schema={"town": pl.String, "age": pl.Int64}, orient="row")
    wanted = [1, 1, 1, 1, 1, 0]
    assert tree.predict(t).tolist() == tree.predict([dict(row) for row in t.to_dicts()]).tolist() == wanted
    assert in_python(python, t) == in_sqlite(sql, t) == in_duckdb(sql, t) == wanted
    for text in (python, sql):
        assert 'town: category, north, south; may be missing; read as missing: "", ?, "-999"' in text
        assert "age: number, 18 to 79; may be missing; read as missing: ?, -999" in text


def test_a_mark_where_nothing_was_missing_is_refused():
    """By predict and Python with a line, by SQL with NULL; a string that was learnt as a value is none."""
    tree = OptimalPolicyTree(max_depth=1).fit(
        pd.DataFrame({"town": ["north", "south", "east"] * 20}), ["a", "b", "b"] * 20
    )
    t = pd.DataFrame({"town": [""]})
    for ask in (lambda: tree.predict(t), lambda: in_python(tree.to_python(), t)):
        with pytest.raises(ValueError, match="column 'town' is"):
            ask()
    assert in_duckdb(tree.to_sql(), t) == [None]
    t = pd.DataFrame({"town": ["north", "", "east"] * 20})
    tree = OptimalPolicyTree(max_depth=1).fit(t, ["a", "b", "a"] * 20)
    assert tree.predict(t).tolist() == exported(tree, t) == ["a", "b", "a"] * 20


def test_comments_hold_no_line_of_their_own():
    """Whatever a column and its values are called, what follows the comment is read as it was written."""
    name = "a\nb\u2028 -- */ \r'"
    t = pd.DataFrame({name: ["x\ny", 'z"\r', "SELECT 1"] * 20})
    tree = OptimalPolicyTree(max_depth=1).fit(t, ["a", "b", "b"] * 20)
    assert exported(tree, t) == ["a", "b", "b"] * 20
    with pytest.raises(InputError):
        tree.predict(pd.DataFrame({name: [5]}))
