"""The files of a log: a pattern such as 'logs/*.parquet', a folder of Parquet files, or one of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
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

Tick = Callable[[int, int], None]
PIECE = 2**20  # rows that are read at a time
LARGE = 100_000_000  # values: a log beyond takes more than 8 GB in memory, and is read in one pass
CONVERT = "polars.scan_csv('log.csv').sink_parquet('log.parquet') makes one of a CSV file of any size"


@dataclass(frozen=True)
class LogFiles:
    """The Parquet files of a log, by name, with the number of rows of each; all have the ``columns`` of the first."""

    name: str
    paths: tuple[Path, ...]
    rows: tuple[int, ...]
    columns: tuple[str, ...]

    @property
    def large(self) -> bool:
        """Whether the log takes more memory than a machine is sure to have."""
        return sum(self.rows) * len(self.columns) > LARGE

    def stamps(self) -> list[tuple[str, int, int]]:
        """Return path, bytes and time of change of each file: where one of them changes, old sums are not of it."""
        return [(str(path.resolve()), (stat := path.stat()).st_size, stat.st_mtime_ns) for path in self.paths]

    def frame(self) -> pl.DataFrame:
        """Return all rows at once."""
        pieces = [piece for path in self.paths for piece in parquet_pieces(path, self.columns, PIECE)]
        try:
            return pl.concat(pieces, how="vertical_relaxed")
        except pl.exceptions.PolarsError as error:
            raise InputError(f"the files of {self.name} differ in the types of their columns: {error}") from error


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
            "estimated from rows in memory only (--in-memory)"
        )
    propensity = () if columns.randomised else columns.propensity
    return LoggedColumns(columns.action, columns.outcome, propensity, columns.propensity_of)


def wanted(files: LogFiles, columns: Columns) -> tuple[str, ...]:
    """Return the columns that are read: those of the log, without those left out; raises UnknownNameError on others."""
    for name in columns.leave_out:
        if name not in files.columns:
            raise UnknownNameError(f"column of {files.name}", name, files.columns)
    named = (*named_columns(columns).names, *columns.features)
    return tuple(
        name
        for name in dict.fromkeys((*named, *files.columns))
        if name in named or not (columns.features or name in columns.leave_out)
    )


def sampled(files: LogFiles, columns: Columns, tick: Tick) -> tuple[Sample, Counts]:
    """Return a sample of the rows of all files, and how often which mark is missing in all; errors name the file."""
    missing: dict[str, dict[str, int]] = {}
    sample, total = Sample(named_columns(columns)), sum(files.rows)
    while sample.step * MOST_ROWS < total:
        sample.step *= 2
    names = wanted(files, columns)
    for path in files.paths:
        start = sample.n
        for whole in parquet_pieces(path, names, PIECE):
            piece, lost = cleaned(whole, columns.missing)
            with placed(path, sample.n - start):
                sample.add(piece)
            for name, counts in lost.items():
                missing[name] = dict(Counter(missing.get(name, {})) + Counter(counts))
            tick(sample.n, total)
    return sample, missing


@contextmanager
def placed(path: Path, start: int) -> Iterator[None]:
    """Put the name of a file, and the rows before those that are read, into an error about a row."""
    try:
        yield
    except InputError as error:
        raise InputError(f"{path}, after {fixed(start, 0)} rows: {error}" if start else f"{path}: {error}") from error
