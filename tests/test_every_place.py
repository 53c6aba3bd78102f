"""The awkward columns of test_one_schema.py wherever else rows come in: each row gets its action, or one line says why.

There they go through estimators, JSON, Python, SQL and Bandit; here through files, logs, environments and coba.
"""

import re
import sqlite3
from contextlib import closing
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pytest

import policies
from milpcb import open_oracle, play
from milpcb.adapters.coba import numbers
from milpcb.environments.recorded import Replay
from milpcb.errors import InputError
from milpcb.offline import LoggedRounds, read_log
from policies import DecisionTrees
from tests.learned import command
from tests.test_one_schema import CASES, Case, _plain

TREES = DecisionTrees(2, depth=2, thresholds="all")
WAYS = ["--action", "done", "--reward", "y", "--randomised", "--leave-out", "other"]
# The columns that a table of numbers without names of values takes: nothing is missing, and nothing is looked up.
NUMBERS = {"price", "age ", "0", "code", "member"}


@pytest.fixture(params=CASES, ids=[repr(each.name) for each in CASES])
def asked(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A case, its rows, each of which was given A and B, and the action that each needs; in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    own: Case = request.param
    column = pd.concat([own.column] * 12, ignore_index=True)
    right = ["B" if _plain(value) in own.needs_b else "A" for value in column.tolist()]
    done = ["AB"[row // len(own.column) % 2] for row in range(len(column))]
    frame = pd.DataFrame({own.name: column, "other": np.arange(len(column)) % 7})
    return own, frame, done, right


def in_file(frame: Any, ending: str, **more: Any) -> str:
    """Write rows with more columns into a file, and return its name."""
    entries = {
        name: [float(value) if isinstance(value, Decimal) else _plain(value) for value in column.tolist()]
        for name, column in frame.items()
    }
    table = pl.DataFrame({**entries, **more})
    getattr(table, f"write_{ending}")(f"log.{ending}")
    return f"log.{ending}"


def earned(done: list[str], right: list[str]) -> list[float]:
    """Return 1 where what was done is what a row needs."""
    return [float(own == needed) for own, needed in zip(done, right, strict=True)]


@pytest.mark.usefixtures("sketches")
@pytest.mark.parametrize(("ending", "way"), [("csv", ()), ("parquet", ()), ("parquet", ("--one-pass",))])
def test_learn_and_evaluate_give_what_they_need(asked: Any, ending: str, way: tuple[str, ...]) -> None:
    """In memory and in one pass; the file is read by its policy as it was, and so are its rows in every export."""
    own, frame, done, right = asked
    name = in_file(frame, ending, done=done, y=earned(done, right))
    quick = [] if way else ["--draws", "0", "--resamples", "0"]
    command("learn", name, *WAYS, *quick, *way, "--depth", "2", "--thresholds", "7", "--out", "found")
    said = command("evaluate", name, "found/policy.json", *WAYS, "--method", "snips").output
    assert re.search("this policy +│ 100 +│", said), said
    rows = (pl.read_parquet(name) if ending == "parquet" else pl.read_csv(name, infer_schema=False)).select(own.name)
    tree = policies.from_json(Path("found/policy.json").read_text())
    if ending == "csv" and not tree.schema[own.name].texts:
        return  # a file of text has no types: its reader has them, as evaluate has shown
    assert tree.predict_names(rows) == right
    module: dict[str, Any] = {}
    exec(Path("found/policy.py").read_text(), module)  # noqa: S102 - the file is what is tested
    assert [module["decide"](row) for row in rows.to_dicts()] == right
    sql = f"SELECT {Path('found/policy.sql').read_text()} FROM t"  # noqa: S608 - ours
    with duckdb.connect() as base:
        assert [answer for (answer,) in base.register("t", rows).execute(sql).fetchall()] == right
    with closing(sqlite3.connect(":memory:")) as base:
        base.execute(f'CREATE TABLE t ("{own.name}")')
        base.executemany("INSERT INTO t VALUES (?)", rows.rows())
        assert [answer for (answer,) in base.execute(sql).fetchall()] == right


def best_on(contexts: Any, right: list[str]) -> list[str]:
    """Return the actions of the best tree on contexts, by costs of what each row needs."""
    costs = np.array([[float(needed != own) for own in "AB"] for needed in right])
    answer = open_oracle(TREES, contexts, kind="search").minimise(costs)
    return ["AB"[action] for action in answer.policy.predict(contexts)]


def test_rounds_of_a_log_are_told_apart(asked: Any) -> None:
    """Live play shows learners enough to give each row its action; a missing number is refused."""
    own, frame, done, right = asked
    log = read_log(frame, done, reward=earned(done, right), propensity=[0.5, 0.5])
    if own.kind == "number" and frame[own.name].isna().any():
        with pytest.raises(InputError, match="nan"):
            LoggedRounds(log)
        return
    rounds = LoggedRounds(log)
    assert best_on(rounds.contexts, right) == right
    found = play(rounds, "exp4", 20, policies=TREES, contexts=rounds.contexts, seeds=(0,))
    assert found.live


def test_tables_of_numbers_are_replayed_solved_and_certified(asked: Any) -> None:
    """``replay``, ``play``, ``solve`` and ``certify`` read numbers, and name line and column of anything else."""
    own, frame, done, right = asked
    if own.name == "code":
        frame = frame.astype({"code": int})
    wrong = [float(needed != own) for own, needed in zip(done, right, strict=True)]
    for ending in ("csv", "parquet"):
        table = in_file(frame, ending)
        costs = pl.DataFrame({name: [float(needed != name) for needed in right] for name in "AB"})
        costs.write_csv("costs.csv")
        solve = ["solve", table, "costs.csv", "--depth", "2", "--thresholds", "all", "--kind", "search"]
        known = own.name in (NUMBERS if ending == "parquet" else NUMBERS - {"member", "0"} | {"store"})
        if known:
            command(*solve, "--out", "answer.json")
            answer = policies.from_json(Path("answer.json").read_text())
            assert answer.predict_names(frame.astype(float)) == right
            world = Replay(contexts=table, costs="costs.csv")
            found = play(world, "uniform", len(right), policies=TREES)
            assert found.rows[-1]["best_cost"] == 0
            log = in_file(frame, ending, action=done, cost=wrong, probability=[0.5] * len(right))
            assert str(answer) in command("certify", log, "--depth", "2", "--thresholds", "all").output
        else:
            for ask in (partial(command, *solve), partial(Replay, contexts=table, costs="costs.csv")):
                with pytest.raises(InputError, match=r"line [12]|column|missing|nan") as caught:
                    ask()
                assert "\n" not in str(caught.value)


def test_contexts_of_coba_are_told_apart(asked: Any) -> None:
    """Numbers as they are, categories one by one; text that is no category is refused, and so is nothing."""
    own, frame, _, right = asked
    categorical = pytest.importorskip("coba").primitives.Categorical
    values = [_plain(value) for value in frame[own.name].tolist()]
    levels = [str(value) for value in dict.fromkeys(values)]
    if own.kind in ("category", "ordered category"):
        values = [categorical(str(value), levels) for value in values]
    if None in values or isinstance(values[0], Decimal):
        with pytest.raises(InputError, match="contexts must be numbers, categories or lists"):
            [numbers([value, 1.0]) for value in values]
    else:
        assert best_on(np.array([numbers([value, 1.0]) for value in values]), right) == right
