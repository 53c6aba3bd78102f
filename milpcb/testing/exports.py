"""Exported policies do what ``predict`` does: JSON, SQL, Python and the printed rule, on, beside and off their cuts."""

# ruff: noqa: S608 - the SQL is ours, in databases of its own

import json
import sqlite3
from collections.abc import Iterator, Sequence
from functools import cache
from importlib.util import find_spec
from typing import Any

import numpy as np

from milpcb.data.columns import Number
from milpcb.data.conditions import holds
from milpcb.data.fields import Field
from milpcb.data.schema import Schema
from milpcb.testing import Unmet
from milpcb.testing.instances import Case
from milpcb.types import Floats

BELOW = -1e6  # what a missing number of an even column counts as
FEATURES = ('a "b"\n  <= 3', "c", "it's and not", "1", "missing", "play x", "")
ACTIONS = ("it's\n    'one'", '"two"', "play", "4", "", "None")


def check_json(case: Case) -> None:
    """A policy comes back from its JSON: it prints as before and labels every context as before."""
    policy, table = _drawn(case)
    if not hasattr(policy, "document"):
        raise Unmet("policies of this class have no JSON")
    again = type(policy).from_document(json.loads(policy.to_json()))
    assert str(again) == str(policy)
    assert (again.predict(table) == policy.predict(table)).all(), (policy, again)


def check_source_code(case: Case) -> None:
    """SQL (SQLite, and DuckDB where it is installed) and Python source give each context the action of ``predict``."""
    policy, table = _drawn(case)
    if getattr(policy, "decision", lambda: None)() is None:
        raise Unmet("policies of this class cannot be written as SQL or Python")
    expected = policy.predict_names(table)
    features = policy.names.features
    rows = [[None if value != value else value for value in row] for row in table.tolist()]  # noqa: PLR0124 - NaN
    scope: dict[str, Any] = {}
    exec(policy.to_python(), scope)  # noqa: S102 - it is what is checked
    assert [scope["decide"](dict(zip(features, row, strict=True))) for row in rows] == expected, policy.to_python()
    for name, answers in _of_databases(policy.to_sql(), features, rows):
        assert answers == expected, (name, policy.to_sql())


def check_printed_rules(case: Case) -> None:
    """The printed rule, read line by line, gives each context the action of ``predict``."""
    policy, table = _drawn(case)
    text = str(policy)
    if getattr(policy, "decision", lambda: None)() is None or not text.startswith(("if ", "play ")):
        raise Unmet("policies of this class do not print as tests with an action each")
    values = dict(zip(policy.names.features, table.T, strict=True))
    played, rest = _followed(text.split("\n"), values)
    assert not rest, text
    expected = [policy.names.action(action) for action in policy.predict(table).tolist()]
    assert played.tolist() == expected, text


def _drawn(case: Case) -> tuple[Any, Floats]:
    """Return a policy with odd names, where it takes names, and contexts for it."""
    contexts = case.contexts
    policy: Any = case.policies.on(contexts).draw(np.random.default_rng(case.row))
    if getattr(policy, "decision", lambda: None)() is None:
        return policy, contexts
    features = [FEATURES[i] if i < len(FEATURES) else f"x{i}" for i in range(contexts.shape[1])]
    binary = np.asarray(np.isin(contexts, (0.0, 1.0)).all(axis=0))
    columns = [Number(name, None if i % 2 or binary[i] else BELOW) for i, name in enumerate(features)]
    table = _beside_cuts(policy, contexts, ~binary)
    lost = table[:2].copy()
    lost[:, [column.missing is not None for column in columns]] = np.nan
    schema = Schema(tuple(Field(column.name, missing=column.missing is not None) for column in columns))
    return policy.with_columns(schema, columns, ACTIONS[: case.policies.n_actions]), np.vstack([table, lost])


def _beside_cuts(policy: Any, contexts: Floats, real: Any) -> Floats:
    """Return contexts, and more of them with a number on a cut, or next to one, of the features that are not 0 or 1."""
    moved = [contexts]
    for feature, cuts in policy.cut_points().items():
        for cut in filter(np.isfinite, cuts or ()) if real[feature] else ():
            for value in (cut, np.nextafter(cut, np.inf), np.nextafter(cut, -np.inf)):
                there = contexts.copy()
                there[:, feature] = value
                moved.append(there)
    return np.unique(np.vstack(moved), axis=0)


def _of_databases(sql: str, features: Sequence[str], rows: list[list[Any]]) -> Iterator[tuple[str, list[Any]]]:
    """Yield the name of a database and what it answers in each row."""
    quoted = ['"' + name.replace('"', '""') + '"' for name in features]
    line = f"({', '.join('?' * len(quoted))}, ?)"
    for name, base in _databases():
        base.execute("DROP TABLE IF EXISTS t")
        base.execute(f"CREATE TABLE t ({', '.join(f'{column} DOUBLE' for column in quoted)}, place INTEGER)")
        for start in range(0, len(rows), 100):  # several a statement: each takes a millisecond
            part = [value for i, row in enumerate(rows[start : start + 100], start) for value in (*row, i)]
            base.execute(f"INSERT INTO t VALUES {', '.join([line] * (len(part) // (len(quoted) + 1)))}", part)
        yield name, [answer for (answer,) in base.execute(f"SELECT {sql} FROM t ORDER BY place").fetchall()]


@cache
def _databases() -> list[tuple[str, Any]]:
    """Return each database with its name; they are opened once, which takes longer than most checks."""
    opened: list[tuple[str, Any]] = [("SQLite", sqlite3.connect(":memory:", check_same_thread=False))]
    if find_spec("duckdb"):
        import duckdb

        opened.append(("DuckDB", duckdb.connect()))
    return opened


def _followed(lines: list[str], values: dict[str, Any], indent: str = "") -> tuple[Any, list[str]]:
    """Return what printed rules play in each row, and the lines after them."""
    n_rows = len(next(iter(values.values())))
    if lines[0].startswith(f"{indent}play "):
        return np.full(n_rows, lines[0].removeprefix(f"{indent}play "), dtype=object), lines[1:]
    played, open_ = np.full(n_rows, None, dtype=object), np.ones(n_rows, dtype=bool)
    head = ""
    while head != "else:":
        end = next(i for i, line in enumerate(lines) if line.endswith(":")) + 1
        head, lines = "\n".join(lines[:end]).removeprefix(indent), lines[end:]
        condition = head.removeprefix("el").removeprefix("if ").removesuffix(":")
        here = open_.copy()
        if head != "else:":
            here &= np.any([holds(part, values) for part in condition.split("\nor ")], axis=0)
        inner, lines = _followed(lines, values, f"{indent}    ")
        played[here] = inner[here]
        open_ &= ~here
    return played, lines
