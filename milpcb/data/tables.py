"""Numeric tables from users' files: CSV, or Parquet by the ending .parquet."""

from __future__ import annotations

import csv
import os
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from milpcb.core.checks import check_file
from milpcb.core.extras import needs
from milpcb.data.csv_pieces import CODE, disguised, pieces
from milpcb.errors import InputError, UnknownNameError, clipped
from milpcb.types import Floats

if TYPE_CHECKING:
    import polars as pl

MOST_COLUMNS = 10_000
MOST_VALUES = 500_000_000  # of a Parquet file: 4 GB as numbers; a small file may hold any number of equal ones
DAMAGED = "is no Parquet file, or a damaged one; write it anew"
STDERR = 2  # the file descriptor: readers that are not Python write there
LONGEST_TEXT = 10_000  # bytes of a string in a Parquet file, which may hold one long text any number of times


def check_table(path: Path) -> None:
    """Raise InputError unless a file can be read as a table of bounded size: CSV, or Parquet by the ending .parquet.

    A CSV file takes memory in proportion to its size. A compressed one may unpack to any size, so it is refused; of a
    Parquet file, whose format compresses, the number of values is looked at before they are read.
    """
    check_file(path)
    try:
        with path.open("rb") as file:
            first = file.readline(2**24)
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from error
    if path.suffix == ".parquet":
        _check_parquet(path, first)
        return
    if other := disguised(path):
        raise InputError(f"{path} {other}")
    if first.count(b",") >= MOST_COLUMNS:
        raise InputError(f"{path} has more than {MOST_COLUMNS:,} columns; leave some out")


def _check_parquet(path: Path, first: bytes) -> None:
    with needs("studies", f"reading the Parquet file {path}"):
        import polars as pl

    if not first.startswith(b"PAR1"):
        raise InputError(f"{path} {DAMAGED}")
    with _whole(path):
        columns = pl.read_parquet_schema(path)
        rows = int(pl.scan_parquet(path).select(pl.len()).collect().item())
    if len(columns) > MOST_COLUMNS or rows * len(columns) > MOST_VALUES:
        raise InputError(
            f"{path} has {rows:,} rows and {len(columns):,} columns; at most {MOST_COLUMNS:,} columns and "
            f"{MOST_VALUES:,} values are read"
        )
    for name in (name for name, kind in columns.items() if kind == pl.String):
        with _whole(path):
            longest = pl.scan_parquet(path).select(pl.col(name).str.len_bytes().max()).collect().item()
        if longest is not None and longest > LONGEST_TEXT:
            raise InputError(_too_long(path, name, longest))


def _too_long(path: Path, name: str, longest: int) -> str:
    return f"{path}, column '{clipped(name)}' has a string of {longest:,} bytes; at most {LONGEST_TEXT:,}"


def read_table(path: Path) -> tuple[tuple[str, ...], Floats]:
    """Return column names (empty without a header) and numbers (rows, columns); raises InputError with the place."""
    check_table(path)
    names, numbers = _numbers_of_parquet(path) if path.suffix == ".parquet" else _read_csv(path)
    twice = next((name for name in names if names.count(name) > 1), None) if len(set(names)) < len(names) else None
    if twice is not None:
        raise InputError(f"{path} has two columns called '{clipped(twice)}'; give each its own name")
    return names, numbers


def read_parquet(path: Path) -> pl.DataFrame:
    """Return the columns of a Parquet file that ``check_table`` has let pass; raises InputError."""
    with needs("studies", f"reading the Parquet file {path}"):
        import polars as pl

    with _whole(path):
        return pl.read_parquet(path)


def parquet_rows(path: Path) -> tuple[int, tuple[str, ...]]:
    """Return how many rows a Parquet file has, and the names of its columns, without reading it; raises InputError."""
    with needs("studies", f"reading the Parquet file {path}"):
        import polars as pl

    check_file(path)
    try:
        with path.open("rb") as file:
            first = file.read(4)
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from error
    if first != b"PAR1":
        raise InputError(f"{path} {DAMAGED}")
    with _whole(path):
        columns = tuple(pl.read_parquet_schema(path))
        rows = int(pl.scan_parquet(path).select(pl.len()).collect().item())
    if len(columns) > MOST_COLUMNS:
        raise InputError(f"{path} has {len(columns):,} columns; at most {MOST_COLUMNS:,} are read")
    return rows, columns


def parquet_pieces(path: Path, columns: Sequence[str], size: int) -> Iterator[pl.DataFrame]:
    """Yield some columns of a Parquet file that ``parquet_rows`` has let pass, ``size`` rows at a time.

    Raises InputError where it is damaged, or lacks one of the columns.
    """
    import polars as pl

    rows, there = parquet_rows(path)
    for name in columns:
        if name not in there:
            raise UnknownNameError(f"column of {path}", name, there)
    for start in range(0, rows, size):
        with _whole(path):
            piece = _collected(pl.scan_parquet(path).select(columns).slice(start, size))
        for name in (name for name, kind in piece.schema.items() if kind == pl.String):
            longest = piece.select(pl.col(name).str.len_bytes().max()).item()
            if longest is not None and longest > LONGEST_TEXT:
                raise InputError(_too_long(path, name, longest))
        yield piece


def _collected(rows: pl.LazyFrame) -> pl.DataFrame:
    try:
        return rows.collect()
    except KeyboardInterrupt:
        time.sleep(0)  # polars raises it, and then Python's own handler does: here, and in nobody's __exit__
        raise


@contextmanager
def _whole(path: Path) -> Iterator[None]:
    """Raise InputError where a Parquet file turns out to be damaged; what its reader writes about that is not shown."""
    try:
        with _held_back():
            yield
    except (GeneratorExit, KeyboardInterrupt, MemoryError):
        raise
    except BaseException as error:  # the reader panics at some broken files, which is no Exception
        reason = error.strerror if isinstance(error, OSError) else None
        raise InputError(f"cannot read {path}: {reason}" if reason else f"{path} {DAMAGED}") from error


@contextmanager
def _held_back() -> Iterator[None]:
    """Keep what goes to standard error until the body is over, and drop it where the body fails."""
    try:
        shown = os.dup(STDERR)
    except OSError:  # a service may have closed it
        yield
        return
    with tempfile.TemporaryFile() as kept:
        try:
            os.dup2(kept.fileno(), STDERR)
            yield
            kept.seek(0)
            os.write(shown, kept.read())
        finally:
            os.dup2(shown, STDERR)
            os.close(shown)


def _numbers_of_parquet(path: Path) -> tuple[tuple[str, ...], Floats]:
    import polars as pl

    frame = read_parquet(path)
    for name, kind in frame.schema.items():
        if not (kind.is_numeric() or kind == pl.Boolean):
            raise InputError(f"{path}, column '{clipped(name)}' holds {kind}; every column must hold numbers")
    if frame.is_empty():
        raise InputError(f"{path} has no rows; write one row per context")
    return tuple(frame.columns), frame.cast(pl.Float64).fill_null(float("nan")).to_numpy()


def _read_csv(path: Path) -> tuple[tuple[str, ...], Floats]:
    """Read CSV; a first line without any number is the header."""
    try:
        rows = [row for piece in pieces(path) for row in piece.rows()]
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from error
    except csv.Error as error:
        raise InputError(f"{path} has a value of more than {csv.field_size_limit():,} characters") from error
    if not rows:
        raise InputError(f"{path} is empty; write one line per context")
    first = rows[0][1]
    header = () if any(map(_is_number, first)) else tuple(first)
    body = rows[1:] if header else rows
    if not body:
        raise InputError(f"{path} has a header but no rows; write one line per context")
    return header, np.array([_numbers(path, line, values) for line, values in body])


def _numbers(path: Path, line: int, values: list[str]) -> list[float]:
    for column, value in enumerate(values):
        if not _is_number(value):
            place = f"{path}, line {line}, column {column + 1}: '{clipped(value)}'"
            if CODE.match(value.strip()):
                raise InputError(
                    f"{place} begins with 0 as codes do; write a number without it, and codes as one column of 0 and 1 "
                    "for each"
                )
            raise InputError(f"{place} is not a number; write numbers with commas between")
    return [float(value) for value in values]


def _is_number(value: str) -> bool:
    try:
        float(value)
    except ValueError:
        return False
    return "_" not in value and not CODE.match(value.strip())  # Python reads 1_2 as 12, and nobody else does
