"""Answers of the exports of a rule to the rows of a table: a function of Python, and SQL in two databases."""

import sqlite3
from contextlib import closing
from typing import Any

import duckdb
import pandas as pd
import polars as pl


def in_python(source: str, rows: Any) -> list[Any]:
    """Return what the function ``decide`` answers to rows, each a mapping, or to those of a data frame."""
    scope: dict[str, Any] = {}
    exec(source, scope)  # noqa: S102 - the export is what is tested
    listed = rows.to_dict("records") if isinstance(rows, pd.DataFrame) else rows
    return [scope["decide"](row) for row in (listed.to_dicts() if isinstance(listed, pl.DataFrame) else listed)]


def in_sqlite(sql: str, table: Any, kind: str = "") -> list[Any]:
    """Return what SQLite answers to the rows of a data frame, whose columns have a type if one is given."""
    frame = pl.from_pandas(table) if isinstance(table, pd.DataFrame) else table
    names = ['"' + name.replace('"', '""') + '"' for name in frame.columns]
    with closing(sqlite3.connect(":memory:")) as base:
        base.execute(f"CREATE TABLE t ({', '.join(f'{name} {kind}' for name in names)})")
        base.executemany(f"INSERT INTO t VALUES ({', '.join('?' * len(names))})", frame.fill_nan(None).rows())  # noqa: S608
        return [answer for (answer,) in base.execute(f"SELECT {sql} FROM t")]  # noqa: S608 - ours


def in_duckdb(sql: str, table: Any) -> list[Any]:
    """Return what DuckDB, which is strict with types, answers to the rows of a data frame."""
    with duckdb.connect() as base:
        base.register("t", table)
        return [answer for (answer,) in base.execute(f"SELECT {sql} FROM t").fetchall()]  # noqa: S608 - ours


def exported(rule: Any, table: Any) -> list[Any]:
    """Return what every export of a rule answers to a table: all the same."""
    sql, found = rule.to_sql(), in_python(rule.to_python(), table)
    assert in_sqlite(sql, table) == in_duckdb(sql, table) == found
    return found
