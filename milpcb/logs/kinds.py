"""Of which kind a column of a CSV file is: numbers, booleans, dates or strings, and what is missing in it.

An empty value is missing. A mark such as NULL or N/A is missing where all other values are numbers, booleans or dates;
among strings it is a string like any other, unless it was named as a mark. A number that can be read in two ways stays
the string that it is written as.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import polars as pl

from milpcb.core.checks import MOST
from milpcb.data.columns import as_number
from milpcb.data.csv_pieces import CODE
from milpcb.data.spellings import MARKS
from milpcb.errors import clipped

DATE = r"^\s*(\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.](\d{4}|\d{2}))([T ,]+\d{1,2}:\d{2}.*)?\s*$"
COMMAS = r"^[-+]?\d+(,\d+)?$"  # numbers in which a comma may be the decimal point
THOUSANDS = r"^[-+]?[1-9]\d{0,2}(,\d{3})*$"  # integers in which it may stand behind the thousands
EMPTY = "empty"  # what a missing value without any mark is called
Counts = Mapping[str, Mapping[str, int]]  # of each column: mark to rows
SOME = 1000  # values that show, nearly always, that a column holds no numbers


@dataclass(frozen=True, eq=False)
class ReadColumn:
    """A column as it was read, in how many rows which mark was read as missing, and a note, "" for none."""

    column: pl.Series
    missing: Mapping[str, int]
    note: str = ""


def typed(column: pl.Series, named: Collection[str] = ()) -> ReadColumn:
    """Return a column of strings as what it holds; the marks ``named`` are missing in a column of any kind."""
    text = column.str.strip_chars()
    known = text.set(text == "", None)
    named_mark = among(known, named)
    usual = among(known.str.to_lowercase(), MARKS) & ~named_mark
    others = known.set(named_mark | usual, None)
    if others.null_count() < len(others):
        for read in (_numbers, _booleans, _dates, _with_commas):
            if (values := read(others)) is not None:
                return ReadColumn(values, _counts(known, others), _on_commas(others) if read is _with_commas else "")
    kept = known.set(named_mark, None)
    text = _without_first_blanks(column)
    return ReadColumn(text.set(kept.is_null(), None), _counts(known, kept))


def as_text(column: pl.Series, named: Collection[str]) -> ReadColumn:
    """Return a column of strings as strings, in which only what is empty and the marks ``named`` are missing."""
    known = column.set(column == "", None)
    kept = known.set(among(known, named), None)
    return ReadColumn(kept, _counts(known, kept))


def cleaned(frame: pl.DataFrame, named: Collection[str]) -> tuple[pl.DataFrame, dict[str, dict[str, int]]]:
    """Return a frame of any kinds without the marks ``named``, and of each column how often which was missing.

    A column of integers that floats do not distinguish becomes strings of digits.
    """
    numbers = {mark: float(mark) for mark in named if as_number(mark) is not None}
    missing: dict[str, dict[str, int]] = {}
    for column in frame.get_columns():
        own, counts = column, {EMPTY: lost} if (lost := _lost(column)) else {}
        if column.dtype.is_integer() and _beyond(column):
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


def _beyond(column: pl.Series) -> bool:
    """Return whether a column of integers holds some that floats do not distinguish."""
    least, most = column.min(), column.max()
    return isinstance(least, int) and isinstance(most, int) and max(-least, most) > MOST


def _lost(column: pl.Series) -> int:
    """Return how many entries of a column are nothing, or not a number."""
    return column.null_count() + (int(column.is_nan().sum()) if column.dtype.is_float() else 0)


def among(column: pl.Series, values: Collection[str]) -> pl.Series:
    """Return in which rows a column of strings holds one of some values."""
    return column.is_in(list(values)).fill_null(value=False)


def _counts(known: pl.Series, kept: pl.Series) -> dict[str, int]:
    """Return how often which value of ``known`` is missing from ``kept``, empty ones first."""
    gone = known.filter(kept.is_null() & known.is_not_null()).value_counts(sort=True)
    empty = {EMPTY: known.null_count()} if known.null_count() else {}
    return {**empty, **dict(gone.iter_rows())}


def _numbers(text: pl.Series) -> pl.Series | None:
    """Return a column as numbers; None where one value is none, or is a code or too long for a number."""
    for kind in (pl.Int64, pl.Float64):
        if text.drop_nulls().head(SOME).cast(kind, strict=False).null_count():
            continue
        numbers = text.cast(kind, strict=False)
        if numbers.null_count() == text.null_count():
            return None if text.str.contains(f"^{CODE.pattern}").any() or _long(text, numbers) else numbers
    return None


def _long(text: pl.Series, numbers: pl.Series) -> bool:
    """Return whether an integer is beyond those that policies distinguish."""
    return bool(((numbers.abs() > MOST) & text.str.contains(r"^[-+]?\d+$")).any())


def _with_commas(text: pl.Series) -> pl.Series | None:
    """Return a column with decimal commas as numbers; None where they may as well stand behind the thousands."""
    known = text.drop_nulls()
    if not known.str.contains(COMMAS).all() or known.str.contains(THOUSANDS).all():
        return None
    return _numbers(text.str.replace(",", ".")) if known.str.contains(",").any() else None


def _on_commas(text: pl.Series) -> str:
    first = text.filter(text.str.contains(","))[0]
    return (
        f"'{clipped(text.name)}' is written with a comma for the decimal point: '{first}' is read as "
        f"{first.replace(',', '.')}."
    )


def _booleans(text: pl.Series) -> pl.Series | None:
    lower = text.str.to_lowercase()
    return lower == "true" if lower.drop_nulls().is_in(["true", "false"]).all() else None


def _dates(text: pl.Series) -> pl.Series | None:
    """Return a column of dates as the strings that they are."""
    return text if text.drop_nulls().str.contains(DATE).all() else None


def _without_first_blanks(column: pl.Series) -> pl.Series:
    """Return a column without the blanks that stand before every value, as where a blank follows each comma."""
    return column.str.strip_chars_start() if column.str.starts_with(" ").all() else column
