"""Tables in and out: CSV files of numbers, and the summary of a run."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.table import Table

from milpcb.errors import InputError
from milpcb.experiments.curves import Row
from milpcb.types import Floats


def read_table(path: Path) -> tuple[tuple[str, ...], Floats]:
    """Return column names (empty without a header line) and numbers (rows, columns) of a CSV file.

    A first line without any number is the header. Raises InputError that names the line and the cell.
    """
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:  # spreadsheets put a byte order mark first
            reader = csv.reader(file)
            lines = [(reader.line_num, line) for line in reader if line]
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from error
    except (csv.Error, UnicodeDecodeError) as error:
        raise InputError(f"{path} is not a CSV text file: {error}") from error
    if not lines:
        raise InputError(f"{path} is empty; write one line per context")
    first = lines[0][1]
    header = () if any(map(_is_number, first)) else tuple(first)
    body = lines[1:] if header else lines
    if not body:
        raise InputError(f"{path} has a header but no rows; write one line per context")
    return header, np.array([_numbers(path, number, line, len(first)) for number, line in body])


def summary(rows: Sequence[Row]) -> Table:
    """Return the table of final checkpoints: learner, regret, guarantee, oracle calls, ms per round (mean over seeds)."""
    table = Table(box=SIMPLE_HEAD)
    table.add_column("learner", no_wrap=True)
    for heading in ("seeds", "rounds", "regret", "guarantee", "oracle calls", "ms/round"):
        table.add_column(heading, justify="right", no_wrap=True)
    for learner in dict.fromkeys(row.learner for row in rows):
        own = [row for row in rows if row.learner == learner]
        last = [row for row in own if row.round == row.horizon]
        guarantee = max(row.guarantee for row in last)
        table.add_row(
            learner,
            str(len(last)),
            f"{last[0].horizon:,}",
            f"{np.mean([row.regret for row in last]):,.1f}",
            f"{guarantee:,.1f}" if np.isfinite(guarantee) else "none",
            f"{np.mean([row.oracle_calls for row in last]):,.0f}",
            f"{np.mean([1e3 * row.seconds / row.horizon for row in last]):.3f}",
        )
    return table


def _numbers(path: Path, line_number: int, line: list[str], width: int) -> list[float]:
    if len(line) != width:
        raise InputError(
            f"{path}, line {line_number} has {len(line)} cells, the first line has {width}; make them equal"
        )
    for column, cell in enumerate(line):
        if not _is_number(cell):
            raise InputError(
                f"{path}, line {line_number}, column {column + 1}: '{cell}' is not a number; "
                "write numbers with commas between"
            )
    return [float(cell) for cell in line]


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True
