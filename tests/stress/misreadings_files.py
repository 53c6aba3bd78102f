"""Drawn tables in files.

Each case is a file of some columns: numbers, categories, codes, booleans, row numbers and identifiers, with marks of
missing values, separators, decimal commas and an order of columns, as CSV or Parquet, in memory and in one pass.
"""

import csv
import io
import random
import re
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from milpcb.errors import InputError
from milpcb.estimators.inputs import Columns
from milpcb.logs.files import log_files, sample_of
from milpcb.logs.source import Source, read_source

Outcome = tuple[str, str]  # "as meant", "reported", "refused" or "SILENT", and what was read how
N = 150  # rows
MARKS = ("", "NA", "NULL", "N/A", "#N/A", "#NA", "n/a", "NaN", "null", "None", "-", ".", "not asked", "-999", "9999")
NUMBERS = ("age", "bid", "paid", "grid", "covid", "income, net", "Größe", 'the "score"', "visits ")
TEXTS = ("region", "hybrid", "ward", "item", "stage\n(old)", "kind; of")
ROW_NUMBERS = ("", "Unnamed: 0", "__index_level_0__", "no")
IDENTIFIERS = ("user_id", "userId", "ID", "patient.id", "session uuid")


@dataclass(frozen=True)
class Drawn:
    """A column: how its values are written, and which are meant, None for a missing one; no feature without any."""

    name: str
    cells: list[str]
    meant: list[Any] | None


def files(rng: random.Random) -> Iterator[Outcome]:
    """Yield what is read of a drawn file, column by column."""
    columns = [draw(rng, name) for draw, name in _kinds(rng)]
    sign, comma = rng.choice(((",", False), (",", False), (";", False), (";", True), ("\t", False), ("|", False)))
    if comma:
        columns = [_with_commas(column) for column in columns]
    rng.shuffle(columns)
    if "" in [column.name for column in columns]:
        columns.sort(key=lambda column: column.name != "")
    named = tuple(mark for mark in ("NA", "-999", "not asked") if rng.random() < 0.3)
    asked = Columns("treat", "y", maximise=True, randomised=True, missing=named)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log.csv"
        path.write_text(_text(columns, sign), newline="")
        how = f"separated by {sign!r}, missing {named}"
        yield from _judged(lambda: read_source(path, asked), columns, named, how)
        typed = _in_parquet(columns, Path(folder) / "log.parquet")
        yield from _judged(lambda: read_source(typed, asked), columns, named, f"Parquet, missing {named}")
        yield from _judged(
            lambda: sample_of(log_files(typed), asked, lambda *_: None), columns, named, f"one pass, {named}"
        )


def _kinds(rng: random.Random) -> list[tuple[Callable[[random.Random, str], Drawn], str]]:
    """Return how each column of a table is drawn, and its name."""
    found: list[tuple[Callable[[random.Random, str], Drawn], str]] = [
        *((_numbers, name) for name in rng.sample(NUMBERS, 2)),
        *((rng.choice((_categories, _codes, _digits, _booleans)), name) for name in rng.sample(TEXTS, 2)),
    ]
    if rng.random() < 0.4:
        found.append((_row_numbers, rng.choice(ROW_NUMBERS)))
    if rng.random() < 0.4:
        found.append((_identifiers, rng.choice(IDENTIFIERS)))
    return found


def _numbers(rng: random.Random, name: str) -> Drawn:
    scale, mark, share = rng.choice((1, 0.5, 0.25)), rng.choice(MARKS), rng.choice((0, 0, 0.01, 0.2))
    most = rng.choice((200, 2000))
    values = [scale * rng.randint(18, most) for _ in range(N)]
    lost = [rng.random() < share for _ in values]
    cells = [mark if gone else f"{value:g}" for value, gone in zip(values, lost, strict=True)]
    return Drawn(name, cells, [None if gone else value for value, gone in zip(values, lost, strict=True)])


def _categories(rng: random.Random, name: str) -> Drawn:
    pool = rng.sample(["north", "south", "NA", "N/A", "-", "None", "a; b", "a, b", "x|y", 'say "a"', "1", "2", "4+"], 4)
    cells = [rng.choice([*pool, ""]) for _ in range(N)]
    return Drawn(name, cells, [cell or None for cell in cells])


def _codes(rng: random.Random, name: str) -> Drawn:
    cells = [rng.choice(["02", "7", "11", "007"]) for _ in range(N)]
    return Drawn(name, ["02", *cells[1:]], ["02", *cells[1:]])


def _digits(rng: random.Random, name: str) -> Drawn:
    pool = [str(2**63 + 5 * rng.randint(0, 10**6)) for _ in range(4)]
    cells = [rng.choice(pool) for _ in range(N)]
    return Drawn(name, cells, [*cells])


def _booleans(rng: random.Random, name: str) -> Drawn:
    (true, false), mark = rng.choice((("true", "false"), ("True", "False"), ("TRUE", "FALSE"))), rng.choice(MARKS[:12])
    values = [rng.choice((True, False, None) if rng.random() < 0.2 else (True, False)) for _ in range(N)]
    return Drawn(name, [mark if value is None else true if value else false for value in values], [*values])


def _row_numbers(rng: random.Random, name: str) -> Drawn:
    kept = sorted(rng.sample(range(2 * N), N)) if rng.random() < 0.5 else range(N)
    return Drawn(name, [str(number) for number in kept], None)


def _identifiers(rng: random.Random, name: str) -> Drawn:
    pool = [f"P{number}" if rng.random() < 0.1 else str(number) for number in rng.sample(range(1000, 9000), N)]
    return Drawn(name, pool, None)


def _with_commas(column: Drawn) -> Drawn:
    cells = [re.sub(r"^(\d+)\.(\d+)$", r"\1,\2", cell) for cell in column.cells]
    return Drawn(column.name, cells, column.meant)


def _text(columns: list[Drawn], sign: str) -> str:
    """Return a table as CSV, with what was done and what came of it in its last columns."""
    text = io.StringIO()
    treat, y = ["ab"[i % 2] for i in range(N)], [str(i * i % 5) for i in range(N)]
    header, cells = [column.name for column in columns], [column.cells for column in columns]
    csv.writer(text, delimiter=sign).writerows([[*header, "treat", "y"], *zip(*cells, treat, y, strict=True)])
    return text.getvalue()


def _in_parquet(columns: list[Drawn], path: Path) -> Path:
    """Write what is meant, in columns of its types, and return the path."""
    known = {column.name or "Unnamed: 0": column for column in columns}
    frame = {
        name: pl.Series([int(cell) for cell in column.cells])
        if column.meant is None and all(map(str.isdecimal, column.cells))
        else pl.Series(column.cells if column.meant is None else column.meant)
        for name, column in known.items()
    }
    done = {"treat": ["ab"[i % 2] for i in range(N)], "y": [i * i % 5 for i in range(N)]}
    pl.DataFrame({**frame, **done}).write_parquet(path)
    return path


def _judged(ask: Callable[[], Source], columns: list[Drawn], named: tuple[str, ...], how: str) -> Iterator[Outcome]:
    """Yield for each column whether it was read as meant; one outcome for a file that is refused."""
    try:
        source = ask()
    except InputError as error:
        yield ("refused" if "\n" not in str(error).replace("\n(old)", "") else "SILENT", f"{how}: {error}")
        return
    except Exception as error:  # noqa: BLE001 - a raw error is what is looked for
        yield ("SILENT", f"{how}: {type(error).__name__}: {error}")
        return
    notes = " ".join(source.notes)
    for column in columns:
        yield (_verdict(source, column, named, notes), f"{how}: '{column.name}', {sorted(set(column.cells))[:6]}")


def _verdict(source: Source, column: Drawn, named: tuple[str, ...], notes: str) -> str:
    there = column.name in source.frame.columns
    if column.meant is None:
        return "as meant" if not there else "SILENT"
    if not there:
        return "SILENT"  # a feature was left out
    wanted = [None if value in named else value for value in column.meant]  # a string that was named is missing
    if source.frame[column.name].to_list() == wanted:
        return "as meant"
    return "reported" if f"'{' '.join(column.name.split())}'" in " ".join(notes.split()) else "SILENT"
