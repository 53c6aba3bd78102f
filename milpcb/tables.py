"""Tables of numbers that users hand in: CSV, or Parquet by the ending .parquet."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

from milpcb.checks import check_file
from milpcb.csv_faults import disguised
from milpcb.errors import InputError, clipped
from milpcb.extras import needs
from milpcb.types import Floats

MOST_COLUMNS = 10_000
MOST_CELLS = 500_000_000  # of a Parquet file: 4 GB as numbers; a small file may hold any number of equal ones
DAMAGED = "is no Parquet file, or a damaged one; write it anew"
LONGEST_TEXT = 10_000  # bytes of a text in a Parquet file, which may hold one long text any number of times


def check_table(path: Path) -> None:
    """Raise InputError unless a file can be read as a table of bounded size: CSV, or Parquet by the ending .parquet.

    A CSV file takes memory in proportion to its size. A compressed one may unpack to any size, so it is refused; of a
    Parquet file, whose format compresses, the number of cells is looked at before they are read.
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
    try:
        columns = pl.read_parquet_schema(path)
        rows = int(pl.scan_parquet(path).select(pl.len()).collect().item())
    except (KeyboardInterrupt, MemoryError):
        raise
    except BaseException as error:  # the reader panics at some broken files, which is no Exception
        raise InputError(f"{path} {DAMAGED}") from error
    if len(columns) > MOST_COLUMNS or rows * len(columns) > MOST_CELLS:
        raise InputError(
            f"{path} has {rows:,} rows and {len(columns):,} columns; at most {MOST_COLUMNS:,} columns and "
            f"{MOST_CELLS:,} cells are read"
        )
    for name in (name for name, kind in columns.items() if kind == pl.String):
        longest = pl.scan_parquet(path).select(pl.col(name).str.len_bytes().max()).collect().item()
        if longest is not None and longest > LONGEST_TEXT:
            raise InputError(
                f"{path}, column '{clipped(name)}' has a text of {longest:,} bytes; at most {LONGEST_TEXT:,}"
            )


def read_table(path: Path) -> tuple[tuple[str, ...], Floats]:
    """Return column names (empty without a header) and numbers (rows, columns); raises InputError with the place."""
    check_table(path)
    names, numbers = _read_parquet(path) if path.suffix == ".parquet" else _read_csv(path)
    twice = next((name for name in names if names.count(name) > 1), None) if len(set(names)) < len(names) else None
    if twice is not None:
        raise InputError(f"{path} has two columns called '{clipped(twice)}'; give each its own name")
    return names, numbers


def _read_parquet(path: Path) -> tuple[tuple[str, ...], Floats]:
    with needs("studies", f"reading the Parquet file {path}"):
        import polars as pl

    try:
        frame = pl.read_parquet(path)
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or 'no such file'}") from error
    except (KeyboardInterrupt, MemoryError):
        raise
    except BaseException as error:  # the reader panics at some broken files, which is no Exception
        raise InputError(f"{path} {DAMAGED}") from error
    for name, kind in frame.schema.items():
        if not (kind.is_numeric() or kind == pl.Boolean):
            raise InputError(f"{path}, column '{clipped(name)}' holds {kind}; every column must hold numbers")
    if frame.is_empty():
        raise InputError(f"{path} has no rows; write one row per context")
    return tuple(frame.columns), frame.cast(pl.Float64).fill_null(float("nan")).to_numpy()


def _read_csv(path: Path) -> tuple[tuple[str, ...], Floats]:
    """Read CSV; a first line without any number is the header."""
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:  # spreadsheets put a byte order mark first
            reader = csv.reader(file)
            lines = [(reader.line_num, line) for line in reader if line]
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise InputError(
            f"{path} is not a CSV text file: byte {error.start + 1} is no UTF-8; save it as CSV in UTF-8, unpacked"
        ) from error
    except (csv.Error, ValueError) as error:
        raise InputError(f"{path} is not a CSV text file: {error}") from error
    if not lines:
        raise InputError(f"{path} is empty; write one line per context")
    first = lines[0][1]
    header = () if any(map(_is_number, first)) else tuple(first)
    body = lines[1:] if header else lines
    if not body:
        raise InputError(f"{path} has a header but no rows; write one line per context")
    return header, np.array([_numbers(path, number, line, len(first)) for number, line in body])


def _numbers(path: Path, line_number: int, line: list[str], width: int) -> list[float]:
    if len(line) != width:
        raise InputError(
            f"{path}, line {line_number} has {len(line)} cells, the first line has {width}; make them equal"
        )
    for column, cell in enumerate(line):
        if not _is_number(cell):
            raise InputError(
                f"{path}, line {line_number}, column {column + 1}: '{clipped(cell)}' is not a number; "
                "write numbers with commas between"
            )
    return [float(cell) for cell in line]


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True
