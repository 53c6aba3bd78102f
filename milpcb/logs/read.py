"""The columns of a .csv or .parquet file: numbers, booleans, dates and strings, and the marks of missing values."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from milpcb.core.checks import MOST
from milpcb.data.columns import as_number
from milpcb.data.fields import MARKS, Field
from milpcb.data.schema import Schema
from milpcb.data.tables import CODE, MARK, CsvText, check_table, csv_text, read_parquet
from milpcb.errors import InputError, clipped


@dataclass(frozen=True, eq=False)
class Reading:
    """A file as it was read."""

    frame: pl.DataFrame  # its columns; one without a name is called "", see ``row_numbers``
    # of each column in how many rows which mark, "empty" for none, was read as missing; None if not counted
    missing: Counts | None = None
    notes: tuple[str, ...] = ()  # what was decided that somebody might not expect, a line each


def read_file(path: Path, known: Schema | None = None, marks: Collection[str] = ()) -> Reading:
    """Read a .csv or .parquet file, in which columns ``known`` to be strings are, and ``marks`` missing; InputError."""
    check_table(path)  # that it can be opened, too
    found = Reading(read_parquet(path)) if path.suffix == ".parquet" else _read_csv(path, known, marks)
    if found.frame.is_empty():
        raise InputError(f"{path} has no rows; write a header and then a line for each decision")
    return found


def _read_csv(path: Path, known: Schema | None, marks: Collection[str]) -> Reading:
    """Return the columns of a CSV file, which is read as strings first."""
    text = csv_text(path)
    names, notes = _names(text), [*text.notes()]
    values = _texts(text, names)
    kinds: list[ReadColumn] = []
    fields = {field.name: field for field in known.fields} if known else {}
    for name in names:
        column = values.drop_in_place(name)
        field = fields.get(name, Field(name))
        named, text_only = {*marks, *field.missing_as}, field.texts and field.role == "feature"
        kinds.append(as_text(column, named) if text_only else typed(column, named, commas=text.separator != b","))
    points = [kind.points for kind in kinds if kind.points and notes]  # between commas a point is a decimal one
    commas = [kind.commas for kind in kinds if kind.commas]
    if points and commas:
        raise InputError(f"{path}: {points[0].removesuffix('.')}, but {commas[0]} Write all numbers as in 1234.5")
    return Reading(
        pl.DataFrame({kind.column.name: kind.column for kind in kinds}),
        {kind.column.name: kind.missing for kind in kinds if kind.missing},
        (*notes, *points, *commas),
    )


def _names(text: CsvText) -> list[str]:
    """Return the names of the columns, without a blank behind each separator; that of row numbers may be empty."""
    names = next((values for _, values in text.rows()), [])
    if not names:
        raise InputError(f"{text.path} is empty; write a header and then a line for each decision")
    if len(names) > 1 and all(name.startswith(" ") for name in names[1:]):
        names = [name.lstrip(" ") for name in names]
    for place, name in enumerate(names):
        if not name.strip() and (place or len(names) == 1):
            raise InputError(f"{text.path}: column {place + 1} has no name; give it one, or take it out")
        if name in names[:place]:
            raise InputError(f"{text.path}: two columns are called '{clipped(name)}'; give each its own name")
    return names


def _texts(text: CsvText, names: list[str]) -> pl.DataFrame:
    """Return the values (rows, columns) as strings, None where one is empty."""
    schema, sign = dict.fromkeys(names, pl.String), text.separator.decode()
    content = MARK + text.without_blanks  # behind a mark it takes no two bytes for those of a compressed file
    try:
        return pl.read_csv(content, has_header=False, schema=schema, null_values=[""], separator=sign).slice(1)
    except pl.exceptions.PolarsError as error:
        raise InputError(f"{text.path} cannot be read; save it anew as CSV") from error


DATE = r"^\s*(\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.](\d{4}|\d{2}))([T ,]+\d{1,2}:\d{2}.*)?\s*$"
POINTS = r"^[-+]?(0|[1-9]\d{0,2}(\.\d{3})*)$"  # integers in which a point may stand behind the thousands
COMMAS = r"^[-+]?\d+(,\d+)?$"  # numbers in which a comma may be the decimal one
THOUSANDS = r"^[-+]?(0|[1-9]\d{0,2}(,\d{3})*)$"  # integers in which it may stand behind the thousands
EMPTY = "empty"  # what a missing value without any mark is called
Counts = Mapping[str, Mapping[str, int]]  # of each column: mark to rows


@dataclass(frozen=True, eq=False)
class ReadColumn:
    """A column, the number of rows with each mark of missing values, and notes on points or commas read as decimal."""

    column: pl.Series
    missing: Mapping[str, int]
    points: str = ""
    commas: str = ""


def typed(column: pl.Series, named: Collection[str] = (), *, commas: bool = False) -> ReadColumn:
    """Return a column of strings as numbers, booleans or dates if it can be; the marks ``named`` are always missing.

    With ``commas`` it may be numbers with decimal commas, where no comma can stand behind thousands.
    """
    text = column.str.strip_chars()
    known = text.set(text == "", None)
    named_mark = among(known, named)
    usual = among(known.str.to_lowercase(), MARKS) & ~named_mark
    others = known.set(named_mark | usual, None)
    if others.null_count() < len(others):
        for read in (_numbers, _booleans, _dates):
            if (values := read(others)) is not None:
                return ReadColumn(values, _counts(known, others), _on_points(others))
        if commas and (values := _with_commas(others)) is not None:
            return ReadColumn(values, _counts(known, others), commas=_on_commas(others))
    kept = known.set(named_mark, None)
    text = column.str.strip_chars_start() if column.str.starts_with(" ").all() else column  # one behind each comma
    return ReadColumn(text.set(kept.is_null(), None), _counts(known, kept))


def as_text(column: pl.Series, named: Collection[str]) -> ReadColumn:
    """Return a column of strings as strings, in which only empty ones and the marks ``named`` are missing."""
    known = column.set(column == "", None)
    kept = known.set(among(known, named), None)
    return ReadColumn(kept, _counts(known, kept))


def cleaned(frame: pl.DataFrame, named: Collection[str]) -> tuple[pl.DataFrame, dict[str, dict[str, int]]]:
    """Return a frame without the marks ``named``, integers beyond 2^53 as strings, and the count of each mark."""
    numbers = {mark: float(mark) for mark in named if as_number(mark) is not None}
    missing: dict[str, dict[str, int]] = {}
    for column in frame.get_columns():
        lost = column.null_count() + (int(column.is_nan().sum()) if column.dtype.is_float() else 0)
        own, counts = column, {EMPTY: lost} if lost else {}
        if column.dtype.is_integer():
            ends = column.min(), column.max()
            if any(isinstance(end, int) and abs(end) > MOST for end in ends):
                own = own.cast(pl.String)
        marks = {mark: own == mark for mark in named} if own.dtype == pl.String else {}
        if own.dtype.is_numeric():
            marks = {mark: own.cast(pl.Float64) == number for mark, number in numbers.items()}
        for mark, there in marks.items():
            if there.any():
                counts[mark], own = int(there.sum()), own.set(there.fill_null(value=False), None)
        if own is not column:
            frame = frame.with_columns(own)
        if counts:
            missing[column.name] = counts
    return frame, missing


def among(column: pl.Series, values: Collection[str]) -> pl.Series:
    """Return the rows in which a column of strings holds one of some values."""
    return column.is_in(list(values)).fill_null(value=False)


def _counts(known: pl.Series, kept: pl.Series) -> dict[str, int]:
    gone = known.filter(kept.is_null() & known.is_not_null()).value_counts(sort=True)
    empty = {EMPTY: known.null_count()} if known.null_count() else {}
    return {**empty, **dict(gone.iter_rows())}


def _numbers(text: pl.Series) -> pl.Series | None:
    """Return a column as numbers; None where one value is none, or is a code or too long for a number."""
    for kind in (pl.Int64, pl.Float64):
        numbers = text.cast(kind, strict=False)
        if numbers.null_count() == text.null_count():
            long = (numbers.abs() > MOST) & text.str.contains(r"^[-+]?\d+$")
            return None if text.str.contains(f"^{CODE.pattern}").any() or long.any() else numbers
    return None


def _with_commas(text: pl.Series) -> pl.Series | None:
    known = text.drop_nulls()
    if not known.str.contains(COMMAS).all() or known.str.contains(THOUSANDS).all():
        return None
    return _numbers(text.str.replace(",", ".", literal=True))


def _on_commas(text: pl.Series) -> str:
    number = str(text.filter(text.str.contains(",", literal=True))[0])
    return f"'{clipped(text.name)}' is written with decimal commas: '{number}' is read as {number.replace(',', '.')}."


def _on_points(text: pl.Series) -> str:
    known = text.drop_nulls()
    pointed = known.filter(known.str.contains(".", literal=True))
    if not len(pointed) or not known.str.contains(POINTS).all():
        return ""
    number = str(pointed[0])
    read = f"'{number}' is read as {float(number)}, and not as {number.replace('.', '')}"
    return f"'{clipped(text.name)}' is written with a point: {read}."


def _booleans(text: pl.Series) -> pl.Series | None:
    lower = text.str.to_lowercase()
    return lower == "true" if lower.drop_nulls().is_in(["true", "false"]).all() else None


def _dates(text: pl.Series) -> pl.Series | None:
    return text if text.drop_nulls().str.contains(DATE).all() else None
