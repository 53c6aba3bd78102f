"""Tables and rows of every type that is accepted, as columns of raw values."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, cast

import numpy as np

from milpcb.core.checks import MOST
from milpcb.errors import InputError, clipped, needs, shown
from milpcb.types import Floats

NO_ROWS = (str, bytes, bytearray, memoryview, set, frozenset, type)  # their entries have no places, or are no values


@dataclass(frozen=True, eq=False)
class GivenColumn:
    """A column as it was handed in."""

    # (n,) floats, NaN being missing, where its type is one of numbers and floats distinguish them; else what it holds
    entries: Floats | list[Any]
    categories: tuple[Any, ...] | None = None  # of a type of categories, in its order; None for all other types
    ordered: bool = False  # whether that order means something


def names_of(labels: Iterable[Any]) -> tuple[str, ...]:
    """Return labels of columns as names; () where they are only numbered 0, 1, ..."""
    listed = list(labels)
    numbered = all(type(label) is not str for label in listed) and listed == list(range(len(listed)))
    return () if numbered else tuple(map(str, listed))


def table_names(table: Any) -> tuple[str, ...]:
    """Return the names of the columns of a data frame or of numpy's records; () of tables without names."""
    if isinstance(table, np.ma.MaskedArray):
        raise InputError("a table with masked entries was given: fill them in, as by .filled(np.nan)")
    if is_frame(table):
        return names_of(table.columns)
    return getattr(getattr(table, "dtype", None), "names", None) or ()


def is_frame(table: Any) -> bool:
    """Return whether a table is a data frame, with or without names; raises InputError on a lazy one."""
    if hasattr(type(table), "columns") and hasattr(type(table), "collect"):
        raise InputError("a lazy data frame was given: collect() it first")
    return hasattr(table, "columns")


def n_rows(table: Any) -> int:
    """Return the number of rows of a table; raises InputError on anything else."""
    try:
        return len(table)
    except TypeError as error:
        raise InputError(f"a table of rows is wanted, got {shown(table)}") from error


def given_columns(table: Any, names: Sequence[str], wanted: Iterable[str]) -> dict[str, GivenColumn]:
    """Return the ``wanted`` columns of a table; raises InputError.

    They are taken by name from a frame, numpy's records, and rows that carry names (see ``named``); else by position in
    ``names``.
    """
    if is_frame(table):
        labels, found = list(table.columns), table_names(table) or _positions(len(table.columns), n_rows(table), names)
        return {name: _of_frame(table, labels[_place(name, found)], name) for name in wanted}
    if found := table_names(table):
        return {name: _of_array(table[found[_place(name, found)]], name, own=True) for name in wanted}
    if rows := named_rows(table):
        return {name: GivenColumn([_entry(row, name, i) for i, row in enumerate(rows)]) for name in wanted}
    array = as_array(table)
    if array.ndim != 2:
        raise InputError(f"a table of rows and columns is wanted, got shape {array.shape}: give a list of rows")
    found = _positions(array.shape[1], len(array), names)
    return {name: _of_array(array[:, found.index(name)], name) for name in wanted}


def named(row: Any) -> Mapping[str, Any] | None:
    """Return the values of a row by name; None of a row without names, or with numbers 0, 1, ... for them.

    Names are carried by mappings, rows of databases, pandas' Series, namedtuples, numpy's records and dataclasses.
    """
    if type(row) is list or type(row) is tuple:
        return None
    if isinstance(row, Mapping) and all(type(key) is str for key in row):
        return row
    own = getattr(row, "_fields", None) or getattr(getattr(row, "dtype", None), "names", None)
    if own:
        keys, values = own, list(row)
    elif hasattr(row, "keys"):
        keys, values = row.keys(), [row[key] for key in row.keys()]  # noqa: SIM118 - sqlite3 lists values otherwise
    elif is_dataclass(row) and not isinstance(row, type):
        keys, values = [field.name for field in fields(row)], [getattr(row, field.name) for field in fields(row)]
    else:
        return None
    names = names_of(keys)
    check_once("the row has several values", names)
    return dict(zip(names, values, strict=True)) if names else None


def named_rows(table: Any) -> list[Mapping[str, Any]]:
    """Return the rows of a list by name, none if no row has names; raises InputError on others, or if some have."""
    if is_frame(table) or isinstance(table, np.ndarray):
        return []
    if hasattr(table, "keys") or isinstance(table, NO_ROWS) or not isinstance(table, Iterable):
        raise InputError(f"a table is a data frame, an array (n, d), or a list of rows; got {shown(table)}")
    rows = list(table)
    if not rows or named(rows[0]) is None:
        return []
    found = [named(row) for row in rows]
    if (lost := next((i for i, row in enumerate(found) if row is None), None)) is not None:
        raise InputError(f"row {lost} carries no names, and row 0 does: give them to all rows, or to none")
    return cast("list[Mapping[str, Any]]", found)


def in_order(row: Any) -> list[Any]:
    """Return the values of a row without names; raises InputError on sets, text and all else that has no order."""
    if type(row) is list or type(row) is tuple:
        return list(row)
    if hasattr(row, "keys"):
        return [row[key] for key in row.keys()]  # noqa: SIM118 - of a Series whose values are only numbered
    wrong = isinstance(row, NO_ROWS) or getattr(row, "ndim", 1) != 1
    if wrong or not hasattr(row, "__getitem__") or not hasattr(row, "__len__"):
        raise InputError(f"a context is a list of values, a mapping by names, or a row of a frame; got {shown(row)}")
    return row.tolist() if isinstance(row, np.ndarray) else list(row)


def records(table: Any) -> list[Any]:
    """Return the rows of a data frame, each by name; raises InputError where two columns have one name."""
    check_once("the data frame has several columns", list(table.columns))
    found: list[Any] = table.to_dicts() if hasattr(table, "to_dicts") else table.to_dict("records")
    return found


def check_once(what: str, names: Sequence[Any]) -> None:
    """Raise InputError where a name occurs twice; ``what`` begins the message."""
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InputError(f"{what} named '{clipped(str(twice))}': give each a name of its own")


def no_such(what: str, name: str, there: Iterable[str]) -> InputError:
    """Return the error on a missing name: it lists the names there are, and guesses none."""
    own, others = clipped(name), clipped(", ".join(map(str, there)), 200) or "nothing"
    return InputError(f"{what} '{own}', but {others}: add it, or rename one of these to '{own}'")


def _place(name: str, there: Sequence[str]) -> int:
    if name not in there:
        raise no_such("the table has no column named", name, there)
    if there.count(name) > 1:
        raise InputError(f"the table has {there.count(name)} columns named '{clipped(name)}'")
    return there.index(name)


def _positions(width: int, rows: int, names: Sequence[str]) -> Sequence[str]:
    if width != len(names):
        wanted = f"the policy reads {len(names)} columns: {clipped(', '.join(names))}"
        raise InputError(f"a table of shape {(rows, width)} was given, but {wanted}; give these, or a data frame")
    return list(names)


def _entry(row: Mapping[str, Any], name: str, i: int) -> Any:
    if name not in row:
        raise no_such(f"row {i} has no value named", name, row)
    return row[name]


def as_array(table: Any) -> Any:
    """Return rows as an array of unchanged entries (12 beside "a" stays 12); rows with names as records.

    Integers beyond 2^53 keep their digits. Raises InputError where rows differ in length or names.
    """
    if rows := named_rows(table):
        found = np.empty(len(rows), dtype=[(name, object) for name in rows[0]])
        for name in rows[0]:
            for i, row in enumerate(rows):
                found[name][i] = _entry(row, name, i)
        return found
    try:
        array = np.asarray(table)
        rounded = array.dtype == float and (np.abs(array) >= MOST).any()  # among these integers may have lost digits
        if not isinstance(table, np.ndarray) and (array.dtype.kind in "US" or rounded):
            array = np.array(table, dtype=object)
    except ValueError as error:
        raise InputError(f"a table must have rows of one length: {error}") from error
    return array


def _of_array(column: Any, name: str, *, own: bool = False) -> GivenColumn:
    """Return a column of an array, or of numpy's records, which has a type of its ``own``."""
    if column.ndim != 1:
        raise InputError(f"column '{clipped(name)}' has shape {column.shape}: give a table with a value in each row")
    if own and column.dtype.kind == "b":
        column = column.astype(object)
    if column.dtype.kind in "Mm":
        raise _no_dates(name)
    if column.dtype.kind in "biuf":  # an array has one type: its booleans are 0 and 1
        return _of_numbers(column)
    return GivenColumn(column.tolist())


def _of_numbers(column: Any) -> GivenColumn:
    """Return numbers as floats; integers as they are where floats do not distinguish all."""
    array = np.asarray(column)
    exact = array.dtype.kind in "iu" and len(array) and max(-int(array.min()), int(array.max())) > MOST
    return GivenColumn(array.tolist() if exact else np.asarray(array, dtype=float))


def _of_frame(table: Any, label: Any, name: str) -> GivenColumn:
    column = table[label]
    if isinstance(column.dtype, np.dtype) and column.dtype.kind in "iuf":
        return _of_numbers(column)
    with needs("learn", "reading a data frame with strings or missing values"):
        import narwhals as nw
    series = nw.from_native(column, series_only=True)
    if series.dtype.is_temporal():
        raise _no_dates(name)
    known = series.drop_nulls()
    exact = series.dtype.is_integer() and len(known) and max(-int(known.min()), int(known.max())) > MOST
    if series.dtype.is_numeric() and not exact:
        return GivenColumn(np.array(series.cast(nw.Float64).to_numpy(), dtype=float))
    missing = series.is_null().to_list()
    entries = [None if lost else value for lost, value in zip(missing, series.to_list(), strict=True)]
    if series.dtype not in (nw.Categorical, nw.Enum):
        return GivenColumn(entries)
    of_pandas = getattr(getattr(column, "cat", None), "categories", None)
    if of_pandas is None:  # a type of polars, whose categories are strings
        return GivenColumn(entries, getattr(series.dtype, "categories", None), ordered=True)
    return GivenColumn(entries, tuple(of_pandas.tolist()), bool(column.cat.ordered))


def _no_dates(name: str) -> InputError:
    return InputError(f"column '{clipped(name)}' holds dates or times; turn them into numbers, such as days")
