"""One table of awkward columns: its rows get the same actions wherever a policy is asked, however handed over."""

# ruff: noqa: S608 - the SQL is ours, in databases of its own

import re
import sqlite3
from collections import namedtuple
from dataclasses import dataclass, field, make_dataclass
from decimal import Decimal
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pytest

import policies
from milpcb import Bandit, always
from milpcb.data.conditions import holds
from milpcb.data.schema import Schema
from milpcb.estimators import OptimalPolicyTree
from policies import DecisionTrees


@dataclass
class Case:
    """A column, the rows that need action B, its cut points, and what a bandit is told of it."""

    name: str
    column: Any
    needs_b: set[Any]
    kind: str
    cuts: list[float] = field(default_factory=list)
    declared: list[Any] | None = None


def case(name: str, values: list[Any], dtype: Any, needs_b: set[Any], kind: str, cuts: Any = (), declared: Any = None):
    """Return a case, of which each value stands in three rows, shuffled."""
    order = np.random.default_rng(0).permutation(np.repeat(np.arange(len(values)), 3))
    column = pd.Series([values[i] for i in order], dtype=dtype, name=name)
    return Case(name, column, needs_b, kind, list(cuts), declared)


LEVELS = ["least", "less", "middle", "more", "most"]
CASES = [
    case("age", [20.0, 35.0, 50.0, np.nan], float, {50.0, None}, "number", [40.0], [None]),
    case("visits", [1, 5, 9, None], "Int64", {1, None}, "number", [3.0], [None]),
    case("price", [Decimal("0.1"), Decimal("0.3")], object, {Decimal("0.3")}, "number", [0.2]),
    case("member", [True, False], bool, {True}, "boolean", declared=[True, False]),
    case("asked", [True, False, None], "boolean", {False}, "boolean", declared=[None, False, True]),
    case("town", ["north", "south", None], object, {"south"}, "category", declared=["south", "north", None]),
    case("store", ["12", "7", "30"], "string", {"7"}, "category", declared=["30", "7", "12"]),
    case("ward", ["01", "1", "001"], object, {"1"}, "category", declared=["01", "1", "001"]),
    case("code", [101, 205, 317], "category", {205}, "category", declared=[101, 205, 317]),
    case("level", LEVELS, pd.CategoricalDtype(LEVELS, ordered=True), {"least"}, "ordered category", declared=LEVELS),
    case("age ", [20, 50], int, {50}, "number", [40.0]),
    case("0", [3, 8], int, {8}, "number", [5.0]),
    case("said", ["NA", "None", "true", "x = 1"], object, {"NA"}, "category", declared=["NA", "None", "true", "x = 1"]),
]


@pytest.fixture(params=CASES, ids=[repr(each.name) for each in CASES])
def asked(request: pytest.FixtureRequest) -> Any:
    """A case, its rows, the action that each needs, and a tree that has learnt it."""
    own: Case = request.param
    frame = pd.DataFrame({own.name: own.column, "other": np.arange(len(own.column)) % 4})
    right = ["B" if _plain(value) in own.needs_b else "A" for value in own.column.tolist()]
    tree = OptimalPolicyTree(max_depth=1, features=[own.name], thresholds={own.name: own.cuts} if own.cuts else 3)
    return own, frame, right, tree.fit(frame, right)


def _plain(value: Any) -> Any:
    return None if pd.isna(value) else value


def as_rows(frame: Any) -> dict[str, list[Any]]:
    """Return the rows in every way in which a row carries names."""
    names = list(frame.columns)
    rows = [tuple(map(_plain, row)) for row in frame.astype(object).itertuples(index=False, name=None)]
    ways: dict[str, list[Any]] = {
        "mapping": [dict(zip(names, row, strict=True)) for row in rows],
        "Series": [row for _, row in frame.iterrows()],
        "numpy records": [np.array([row], dtype=[(name, object) for name in names])[0] for row in rows],
        "sqlite3.Row": in_sqlite(frame, "*", row=sqlite3.Row),
        "polars": list(pl.DataFrame(rows, schema=names, orient="row", strict=False).iter_rows(named=True))
        if not any(isinstance(value, Decimal) for row in rows for value in row)
        else [],
    }
    if all(name.isidentifier() for name in names):
        ways["namedtuple"] = [namedtuple("Row", names)(*row) for row in rows]
        ways["itertuples"] = list(frame.itertuples())
        ways["dataclass"] = [make_dataclass("Row", names)(*row) for row in rows]
    return ways


def in_sqlite(frame: Any, expression: str, row: Any = None) -> list[Any]:
    """Return the value of an expression in each row of a table of SQLite."""
    base = sqlite3.connect(":memory:")
    base.row_factory = row
    names = ", ".join(f'"{name}"' for name in frame.columns)
    base.execute(f"CREATE TABLE t ({names})")
    rows = frame.astype(object).itertuples(index=False, name=None)
    listed = [[float(v) if isinstance(v, Decimal) else _plain(v) for v in values] for values in rows]
    base.executemany(f"INSERT INTO t VALUES ({', '.join('?' * len(frame.columns))})", listed)
    return base.execute(f"SELECT {expression} FROM t").fetchall()


def test_the_kind_is_shown_and_tables_get_what_they_need(asked: Any) -> None:
    """As pandas, as polars, in another order of columns, as an array of objects, and by the policy's JSON."""
    own, frame, right, tree = asked
    assert tree.schema_[own.name].kind == own.kind
    assert tree.predict(frame).tolist() == right
    tables = {"reversed": frame[["other", own.name]].assign(more=1), "array": frame.astype(object).to_numpy()}
    if own.kind != "category" or own.column.dtype != "category":  # polars has categories of strings only
        tables["polars"] = pl.from_pandas(frame)
    for policy in (tree.policy_, policies.from_json(tree.policy_.to_json()), policies.from_json(tree.to_json())):
        for way, table in tables.items():
            assert policy.predict_names(table) == right, way
        assert policy.schema == tree.schema_


def test_rows_that_carry_names_get_what_they_need(asked: Any) -> None:
    """Whatever a row is, it is read by name: by the policy, and by the exported function where it can be asked so."""
    _, frame, right, tree = asked
    scope: dict[str, Any] = {}
    exec(tree.to_python(), scope)  # noqa: S102 - ours
    for way, rows in as_rows(frame).items():
        assert not rows or tree.policy_.predict_names(rows) == right, way
        if way in ("mapping", "Series", "sqlite3.Row", "numpy records", "polars"):
            assert not rows or [scope["decide"](row) for row in rows] == right, way


def test_databases_give_what_they_need(asked: Any) -> None:
    """SQLite, which has five types, and DuckDB, which has them all."""
    own, frame, right, tree = asked
    assert [answer for (answer,) in in_sqlite(frame, tree.to_sql())] == right
    if own.name == "code":
        frame = frame.astype({"code": int})  # DuckDB has no categories of numbers
    assert [answer for (answer,) in duckdb.sql(f"SELECT {tree.to_sql()} FROM frame").fetchall()] == right


def test_a_condition_says_what_the_rule_says(asked: Any) -> None:
    """The printed test holds for the rows, as a constraint reads them, that the rule says it holds for."""
    _, frame, right, tree = asked
    condition, there, elsewhere = parts(tree)
    here = holds(condition, tree.schema_.read(frame))
    assert np.where(here, there, elsewhere).tolist() == right
    kept = OptimalPolicyTree(max_depth=1, constraints=[always(there, where=condition)]).fit(frame, right)
    assert kept.predict(frame).tolist() == right


def parts(tree: Any) -> tuple[str, str, str]:
    """Return the test of a printed tree of depth 1, and the actions where it holds and elsewhere."""
    found = re.fullmatch(r"if (.+):\n    play (\w)\nelse:\n    play (\w)", str(tree.policy_))
    assert found is not None
    return found[1], found[2], found[3]


def test_a_bandit_gives_what_they_need(asked: Any) -> None:
    """Guard-rails by the printed test leave one action for each row: every way to hand it over ends in that."""
    own, frame, right, tree = asked
    condition, there, elsewhere = parts(tree)
    trees = DecisionTrees(
        2, depth=1, thresholds=[own.cuts, [1.5]], feature_names=[own.name, "other"], action_names=["A", "B"]
    )
    rails = [always(there, where=condition), always(elsewhere, where=opposite(condition))]
    values = None if own.declared is None else {own.name: own.declared}
    bandit = Bandit(trees, seed=0, values=values, constraints=rails)
    assert bandit.schema[own.name].kind == own.kind.removeprefix("ordered ")
    for way, rows in as_rows(frame).items():
        assert not rows or [bandit.act(row).action for row in rows[:6]] == right[:6], way
    assert bandit.policy().predict_names(frame) == right


def opposite(condition: str) -> str:
    """Return the opposite of a printed test."""
    changes = {
        " = ": " is not ",
        " not in ": " in ",
        " in ": " not in ",
        " <= ": " > ",
        " is missing": " is not missing",
    }
    for old, new in changes.items():
        if old in condition.partition("(")[0]:
            words, side = condition.replace(old, new, 1), condition.endswith("(or missing)")
            return re.sub(r"\((or|not) missing\)$", "(not missing)" if side else "(or missing)", words)
    raise AssertionError(condition)


def test_the_table_can_be_read_aloud() -> None:
    """A line for each column, and a line for each decision that somebody might not expect."""
    frame = pd.DataFrame({own.name: own.column for own in CASES})
    frame = frame.dropna(how="all").assign(member=True, price=1.0)
    schema = Schema.infer(frame)
    lines = str(schema).split("\n")
    assert lines[1 + len(CASES) :] == schema.lines()
    assert lines[1].split() == ["age", "feature", "number", "20", "to", "50", "may", "be"]
    assert any(line.split()[:4] == ['"0"', "feature", "number", "3"] for line in lines)
    notes = "\n".join(schema.lines())
    for text in (
        "'store' holds text that spells numbers, such as '12'",
        "'code' is a category of numbers: its values are looked up, and not compared",
        "'age ' has a blank before or after its name",
        "'said' has the value 'NA', which is kept as a string, and not read as missing",
    ):
        assert text in notes
    assert Schema.of_document(schema.document()) == schema
