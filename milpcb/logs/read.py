"""The columns of a .csv or .parquet file: numbers, booleans and strings."""

from __future__ import annotations

import csv
from collections.abc import Container
from pathlib import Path

import polars as pl

from milpcb.data.csv_pieces import CODE, MARK, Piece, Tick, pieces
from milpcb.data.tables import check_table, read_parquet
from milpcb.errors import InputError, clipped

MISSING = ["", "NA", "NaN", "nan", "null", "None"]  # what a CSV file writes for a missing value
SOME = 1000  # values that show, nearly always, that a column holds no numbers
KINDS = (pl.Int64, pl.Int128, pl.Float64)


def read_frame(path: Path, tick: Tick = lambda *_: None, texts: Container[str] = ()) -> pl.DataFrame:
    """Read a .csv or .parquet file; raises InputError.

    A column of a CSV file is numbers where every value is one, or is missing, and none is written with a 0 before
    another digit: that is a code, such as the area 02, and the column is strings. So are the columns called ``texts``.
    """
    check_table(path)
    if path.suffix == ".parquet":
        frame = read_parquet(path)
    else:
        try:
            frame = _read_csv(path, tick, texts)
        except OSError as error:
            raise InputError(f"cannot read {path}: {error.strerror or error}") from error
    if frame.is_empty():
        raise InputError(f"{path} has no rows; write a header and then a line for each decision")
    return frame


def _read_csv(path: Path, tick: Tick, texts: Container[str]) -> pl.DataFrame:
    """Return the columns of a CSV file, which is read as strings first; ``tick`` gets bytes, each counted twice."""
    size = path.stat().st_size
    names: list[str] = []
    parts = []
    for piece in pieces(path, lambda done, _: tick(done, 2 * size)):
        header = not names
        names = names or _names(path, piece)
        parts.append(_texts(path, piece, names, header=header))
    if not parts:
        raise InputError(f"{path} is empty; write a header and then a line for each decision")
    values = pl.concat(parts, rechunk=False)
    columns = []
    for number, name in enumerate(names, 1):
        column = values.drop_in_place(name)
        columns.append(column if name in texts else typed(column))
        tick(size + size * number // len(names), 2 * size)
    return pl.DataFrame(columns)


def _names(path: Path, piece: Piece) -> list[str]:
    """Return the names of the columns, which the first row holds; raises InputError."""
    try:
        names = next(values for _, values in piece.rows())
    except csv.Error as error:
        raise InputError(f"{path} has a name of more than {csv.field_size_limit():,} characters") from error
    for place, name in enumerate(names):
        if not name.strip():
            raise InputError(f"{path}: column {place + 1} has no name; give it one, or take it out")
        if name in names[:place]:
            raise InputError(f"{path}: two columns are called '{clipped(name)}'; give each its own name")
    return names


def _texts(path: Path, piece: Piece, names: list[str], *, header: bool) -> pl.DataFrame:
    """Return the values (rows, columns) of a piece as strings, None where one is missing."""
    schema = dict.fromkeys(names, pl.String)
    try:  # behind a mark polars takes no two bytes for those of a compressed file
        frame = pl.read_csv(MARK + piece.content, has_header=header, schema=schema, null_values=MISSING)
    except pl.exceptions.PolarsError as error:
        raise InputError(_unread(path, piece)) from error
    if len(frame) != len(piece.lines) - header:
        raise InputError(_unread(path, piece))
    return frame


def _unread(path: Path, piece: Piece) -> str:
    return f"{path} cannot be read between the lines {piece.lines[0]} and {piece.lines[-1]}; save it anew as CSV"


def typed(column: pl.Series) -> pl.Series:
    """Return a column of strings as numbers or booleans where every string is one of these, else as it is."""
    some = column.drop_nulls().head(SOME)
    if not len(some):
        return column
    for kind in KINDS:
        if some.cast(kind, strict=False).null_count():
            continue
        numbers = column.cast(kind, strict=False)
        if numbers.null_count() == column.null_count():
            return column if column.str.contains(f"^{CODE.pattern}").any() else numbers
    if not some.str.to_lowercase().is_in(["true", "false"]).all():
        return column
    lower = column.str.to_lowercase()
    return column if not lower.drop_nulls().is_in(["true", "false"]).all() else lower == "true"
