"""The columns of a .csv or .parquet file: numbers, booleans and strings."""

from __future__ import annotations

import csv
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from milpcb.data.csv_pieces import MARK, Piece, Tick, pieces, separated
from milpcb.data.fields import Field
from milpcb.data.schema import Schema
from milpcb.data.tables import check_table, read_parquet
from milpcb.errors import InputError, clipped
from milpcb.logs.kinds import Counts, ReadColumn, as_text, typed


@dataclass(frozen=True, eq=False)
class Reading:
    """A file as it was read.

    Attributes
    ----------
    frame : its columns; one without a name is called "", see ``row_numbers``
    missing : of each column in how many rows which mark, "empty" for none, was read as missing; None if not counted
    notes : what was decided that somebody might not expect, a line each

    """

    frame: pl.DataFrame
    missing: Counts | None = None
    notes: tuple[str, ...] = ()


def read_file(
    path: Path, tick: Tick = lambda *_: None, known: Schema | None = None, marks: Collection[str] = ()
) -> Reading:
    """Read a .csv or .parquet file; raises InputError.

    A column of a CSV file is numbers where every value is one, or is missing, and none is written with a 0 before
    another digit: that is a code, such as the area 02, and the column is strings. What is missing is decided in
    ``milpcb.logs.kinds``; ``marks`` are missing everywhere. Columns that are ``known`` to be strings are.
    """
    check_table(path)
    if path.suffix == ".parquet":
        found = Reading(read_parquet(path))
    else:
        try:
            found = _read_csv(path, tick, known, marks)
        except OSError as error:
            raise InputError(f"cannot read {path}: {error.strerror or error}") from error
    if found.frame.is_empty():
        raise InputError(f"{path} has no rows; write a header and then a line for each decision")
    return found


def _read_csv(path: Path, tick: Tick, known: Schema | None, marks: Collection[str]) -> Reading:
    """Return the columns of a CSV file, which is read as strings first; ``tick`` gets bytes, each counted twice."""
    size = path.stat().st_size
    names: list[str] = []
    parts, notes = [], []
    for piece in pieces(path, lambda done, _: tick(done, 2 * size)):
        header = not names
        if header:
            names = _names(path, piece)
            notes = [*separated(path, piece.separator)]
        parts.append(_texts(path, piece, names, header=header))
    if not parts:
        raise InputError(f"{path} is empty; write a header and then a line for each decision")
    values = pl.concat(parts, rechunk=False)
    kinds: list[ReadColumn] = []
    fields = {field.name: field for field in known.fields} if known else {}
    for number, name in enumerate(names, 1):
        column = values.drop_in_place(name)
        field = fields.get(name, Field(name))
        read = as_text if field.texts and field.role == "feature" else typed
        kinds.append(read(column, {*marks, *field.missing_as}))
        tick(size + size * number // len(names), 2 * size)
    return Reading(
        pl.DataFrame({kind.column.name: kind.column for kind in kinds}),
        {kind.column.name: kind.missing for kind in kinds if kind.missing},
        (*notes, *(kind.note for kind in kinds if kind.note)),
    )


def _names(path: Path, piece: Piece) -> list[str]:
    """Return the names of the columns, which the first row holds; raises InputError.

    A blank that follows each separator is of no name. The first column may have none: so tables with row numbers begin.
    """
    try:
        names = next(values for _, values in piece.rows())
    except csv.Error as error:
        raise InputError(f"{path} has a name of more than {csv.field_size_limit():,} characters") from error
    if len(names) > 1 and all(name.startswith(" ") for name in names[1:]):
        names = [name.lstrip(" ") for name in names]
    for place, name in enumerate(names):
        if not name.strip() and (place or len(names) == 1):
            raise InputError(f"{path}: column {place + 1} has no name; give it one, or take it out")
        if name in names[:place]:
            raise InputError(f"{path}: two columns are called '{clipped(name)}'; give each its own name")
    return names


def _texts(path: Path, piece: Piece, names: list[str], *, header: bool) -> pl.DataFrame:
    """Return the values (rows, columns) of a piece as strings, None where one is empty."""
    schema, sign = dict.fromkeys(names, pl.String), piece.separator.decode()
    try:  # behind a mark polars takes no two bytes for those of a compressed file
        frame = pl.read_csv(MARK + piece.content, has_header=False, schema=schema, null_values=[""], separator=sign)
    except pl.exceptions.PolarsError as error:
        raise InputError(_unread(path, piece)) from error
    if len(frame) != len(piece.lines):
        raise InputError(_unread(path, piece))
    return frame.slice(int(header))


def _unread(path: Path, piece: Piece) -> str:
    return f"{path} cannot be read between the lines {piece.lines[0]} and {piece.lines[-1]}; save it anew as CSV"
