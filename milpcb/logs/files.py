"""The Parquet files of a log as one log: their rows at once, a sample of them, or piece by piece."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from glob import glob
from pathlib import Path

import polars as pl

from milpcb.core.decimals import fixed
from milpcb.data.tables import parquet_pieces, parquet_rows
from milpcb.errors import InputError, UnknownNameError
from milpcb.estimators.sample import MOST_ROWS, LoggedColumns, Sample
from milpcb.experiments.results.records import INDEX
from milpcb.logs.read import Counts, cleaned
from milpcb.logs.source import Columns
from milpcb.offline.band import Progress

PIECE = 2**20  # rows that are read at a time
CONVERT = "polars.scan_csv('log.csv').sink_parquet('log.parquet') makes one of a CSV file of any size"


@dataclass(frozen=True)
class FilePiece:
    """Consecutive rows of a file of a log."""

    path: Path
    before: int  # rows of the file before it
    number: int  # of its first row in the log
    frame: pl.DataFrame  # without marks of missing values
    missing: Counts

    @contextmanager
    def named(self) -> Iterator[None]:
        """Put the name of the file, and the number of rows before the piece, into an error about a row."""
        try:
            yield
        except InputError as error:
            place = f"{self.path}, after {fixed(self.before, 0)} rows" if self.before else str(self.path)
            raise InputError(f"{place}: {error}") from error


@dataclass(frozen=True)
class LogFiles:
    """The Parquet files of a log, by name, with the number of rows of each; all have the ``columns`` of the first."""

    name: str
    paths: tuple[Path, ...]
    rows: tuple[int, ...]
    columns: tuple[str, ...]

    @property
    def n(self) -> int:
        """The number of rows."""
        return sum(self.rows)

    def frame(self) -> pl.DataFrame:
        """Return all rows at once."""
        pieces = [piece for path in self.paths for piece in parquet_pieces(path, self.columns, PIECE)]
        try:
            return pl.concat(pieces, how="vertical_relaxed")
        except pl.exceptions.PolarsError as error:
            raise InputError(f"the files of {self.name} differ in the types of their columns: {error}") from error

    def pieces(self, names: Sequence[str], marks: Sequence[str], tick: Progress) -> Iterator[FilePiece]:
        """Yield some columns of all rows, in order, without ``marks``; raises InputError with a damaged file."""
        number = 0
        for path in self.paths:
            before = 0
            for whole in parquet_pieces(path, names, PIECE):
                yield FilePiece(path, before, number, *cleaned(whole, marks))
                before, number = before + len(whole), number + len(whole)
                tick(number, self.n)


def is_files(log: Path) -> bool:
    """Return whether a log is named as several files: by a pattern, or as a folder of Parquet files that is no run."""
    if log.is_dir():
        return not (log / INDEX).exists() and any(log.glob("*.parquet"))
    return not log.exists() and any(sign in str(log) for sign in "*?[")


def log_files(log: Path) -> LogFiles:
    """Return the files of a log; raises InputError where there are none, and where one is no Parquet file."""
    found = sorted(log.glob("*.parquet")) if log.is_dir() else sorted(map(Path, glob(str(log)))) or [log]  # noqa: PTH207
    if found == [log] and not log.exists():
        raise InputError(f"no file is called {log}; in a pattern, * stands for any part of a name")
    if not found:
        raise InputError(f"{log} holds no Parquet file; name files by a pattern in quotes, as in 'logs/*.parquet'")
    for path in found:
        if path.suffix != ".parquet":
            raise InputError(f"{path} is no Parquet file, and several files are read as Parquet only: {CONVERT}")
    known = [parquet_rows(path) for path in found]
    kept = [(path, rows) for path, (rows, _) in zip(found, known, strict=True) if rows]
    if not kept:
        raise InputError(f"{log} has no rows")
    return LogFiles(str(log), tuple(path for path, _ in kept), tuple(rows for _, rows in kept), tuple(known[0][1]))


def named_columns(columns: Columns) -> LoggedColumns:
    """Return the columns of what was done, what came of it and its probability; raises InputError without the last."""
    if not (columns.randomised or columns.propensity):
        raise InputError(
            "one pass needs known propensities: --propensity COLUMN, or --randomised for a trial; they can be "
            "estimated from rows in memory only, without --one-pass"
        )
    propensity = () if columns.randomised else columns.propensity
    return LoggedColumns(columns.action, columns.outcome, propensity, columns.propensity_of)


def _wanted(files: LogFiles, columns: Columns) -> tuple[str, ...]:
    for name in columns.leave_out:
        if name not in files.columns:
            raise UnknownNameError(f"column of {files.name}:", name, files.columns)
    named = (*named_columns(columns).names, *columns.features)
    others = () if columns.features else (name for name in files.columns if name not in columns.leave_out)
    return tuple(dict.fromkeys((*named, *others)))


def sampled(files: LogFiles, columns: Columns, tick: Progress) -> tuple[Sample, Counts]:
    """Return a sample of the rows of all files, and how often which mark is missing in all; errors name the file."""
    missing: dict[str, Counter[str]] = defaultdict(Counter)
    sample = Sample(named_columns(columns))
    while sample.step * MOST_ROWS < files.n:
        sample.step *= 2
    for piece in files.pieces(_wanted(files, columns), columns.missing, tick):
        with piece.named():
            sample.add(piece.frame)
        for name, counts in piece.missing.items():
            missing[name].update(counts)
    return sample, missing
