"""User tables, column by column: numbers, or strings and booleans, with missing values."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import isnan
from typing import Any

import numpy as np

from milpcb.core.extras import needs
from milpcb.data.columns import Value, Values
from milpcb.errors import InputError, clipped, did_you_mean, shown


def frame_names(table: Any) -> tuple[str, ...]:
    """Return the names of a data frame's columns; () for arrays, lists, and frames whose columns are only numbered."""
    columns = getattr(table, "columns", ())
    return tuple(columns) if len(columns) and all(isinstance(name, str) for name in columns) else ()


def read_columns(table: Any, features: Sequence[str], wanted: Iterable[str]) -> dict[str, Values]:
    """Return some columns of a table by name.

    Parameters
    ----------
    table : pandas or polars frame, or an array (n, d) whose columns are ``features`` in this order
    features : names of the columns
    wanted : names of those to be read

    Returns
    -------
    name to (n,) : floats, NaN being missing; or objects, which are strings, booleans and numbers, None being missing

    Raises
    ------
    InputError (no such column, dates, other objects), ExtraMissingError (narwhals, for a data frame)

    """
    names = frame_names(table)
    if names:
        return {name: _of_frame(table, name, names) for name in wanted}
    array = np.asarray(table)
    if array.ndim != 2 or array.shape[1] != len(features):
        raise InputError(
            f"a table of shape {array.shape} was given, but the policy reads {len(features)} columns: "
            f"{clipped(', '.join(features))}; give these in this order, or a data frame"
        )
    return {name: _of_array(array[:, list(features).index(name)], name) for name in wanted}


def _of_frame(table: Any, name: str, names: tuple[str, ...]) -> Values:
    with needs("learn", "reading a data frame with strings or missing values"):
        import narwhals as nw
    if names.count(name) != 1:
        problem = f"has {names.count(name)} columns" if name in names else "has no column"
        hint = "" if name in names else did_you_mean(name, names)
        raise InputError(f"the data frame {problem} named '{clipped(name)}'{hint}")
    series = nw.from_native(table, eager_only=True).get_column(name)
    if series.dtype.is_numeric():
        return np.array(series.cast(nw.Float64).to_numpy(), dtype=float)
    if series.dtype.is_temporal():
        raise InputError(f"column '{clipped(name)}' holds dates or times; turn them into numbers, such as days")
    missing = series.is_null().to_list()
    listed = [None if lost else value for lost, value in zip(missing, series.to_list(), strict=True)]
    return _objects(listed, name)


def _of_array(column: Any, name: str) -> Values:
    if column.dtype.kind == "b":
        return np.asarray(column, dtype=float)  # an array has one type: its booleans are 0 and 1
    if column.dtype.kind in "iuf":
        return np.asarray(column, dtype=float)
    return _objects([None if _lost(value) else value for value in column.tolist()], name)


def _lost(value: Any) -> bool:
    return value is None or type(value).__name__ == "NAType" or (isinstance(value, float) and isnan(value))


def _objects(values: list[Any], name: str) -> Values:
    """Return numbers where all are numbers, else objects: strings, numbers and booleans; InputError on others."""
    plain = [_plain(value, name) for value in values]
    if all(value is None or type(value) in (int, float) for value in plain):
        return np.array([np.nan if value is None else float(value) for value in plain])
    column = np.empty(len(plain), dtype=object)
    column[:] = plain
    return column


def _plain(value: Any, name: str) -> Value:
    entry = value.item() if isinstance(value, np.generic) else value
    if entry is None or isinstance(entry, (bool, int, float, str)):
        return entry if not isinstance(entry, str) else str(entry)
    raise InputError(f"column '{clipped(name)}' holds {shown(value)}; give numbers, strings, booleans, or nothing")
