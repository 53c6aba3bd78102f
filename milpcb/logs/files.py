"""The Parquet files of a log as one log: their rows at once, a sample of them, or piece by piece."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from glob import glob
from pathlib import Path

import polars as pl

from milpcb.core.decimals import fixed
from milpcb.data.tables import parquet_pieces, parquet_rows
from milpcb.errors import InputError, UnknownNameError
from milpcb.estimators.inputs import Columns
from milpcb.estimators.one_pass import Sample
from milpcb.experiments.results.store import INDEX
from milpcb.logs.read import Counts, cleaned
from milpcb.logs.source import Source, make_source
from milpcb.offline.band import Progress

PIECE = 2**20  # rows that are read at a time


@dataclass(frozen=True)
class LogFiles:
    """The Parquet files of a log that have rows, ``n`` together, by name; all have the ``columns`` of the first."""

    name: str
    paths: tuple[Path, ...]
    n: int
    columns: tuple[str, ...]

    def frame(self) -> pl.DataFrame:
        """Return all rows at once."""
        pieces = [piece for path in self.paths for piece in parquet_pieces(path, self.columns, PIECE)]
        try:
            return pl.concat(pieces, how="vertical_relaxed")
        except pl.exceptions.PolarsError as error:
            raise InputError(f"the files of {self.name} differ in the types of their columns: {error}") from error

    def read(
        self, names: Sequence[str], marks: Sequence[str], take: Callable[[pl.DataFrame, int], None], tick: Progress
    ) -> Counts:
        """Call ``take`` with some columns of all rows, piece by piece, and the number of the first row of the piece.

        The pieces are without ``marks``; returned are the counts of each mark. An InputError of ``take`` names
        the file, as that of a damaged one does.
        """
        number, missing = 0, defaultdict[str, Counter[str]](Counter)
        for path in self.paths:
            first = number
            for whole in parquet_pieces(path, names, PIECE):
                frame, lost = cleaned(whole, marks)
                try:
                    take(frame, number)
                except InputError as error:
                    before = f", after {fixed(number - first, 0)} rows" if number > first else ""
                    raise InputError(f"{path}{before}: {error}") from error
                for name, counts in lost.items():
                    missing[name].update(counts)
                number += len(frame)
                tick(number, self.n)
        return missing


def is_files(log: Path) -> bool:
    """Return whether a log is named as several files: by a pattern, or as a folder of Parquet files that is no run."""
    if log.is_dir():
        return not (log / INDEX).exists() and any(log.glob("*.parquet"))
    return not log.exists() and any(sign in str(log) for sign in "*?[")


def log_files(log: Path) -> LogFiles:
    """Return the files of a log; raises InputError where there are none, and where one is no Parquet file."""
    found = sorted(log.glob("*.parquet") if log.is_dir() else map(Path, glob(str(log))))  # noqa: PTH207
    if not found:
        raise InputError(
            f"{log} names no file; give a folder of Parquet files, or a pattern in quotes such as 'logs/*.parquet'"
        )
    for path in found:
        if path.suffix != ".parquet":
            convert = "polars.scan_csv('log.csv').sink_parquet('log.parquet') makes one of a CSV file of any size"
            raise InputError(f"{path} is no Parquet file, and several files are read as Parquet only: {convert}")
    known = {path: parquet_rows(path) for path in found}
    kept, n = tuple(path for path in found if known[path][0]), sum(rows for rows, _ in known.values())
    if not n:
        raise InputError(f"{log} has no rows")
    return LogFiles(str(log), kept, n, tuple(known[found[0]][1]))


def sample_of(files: LogFiles, columns: Columns, tick: Progress) -> Source:
    """Return a sample of the rows of a log, checked like a log; raises InputError, UnknownNameError."""
    if columns.group:
        raise InputError("--group needs the rows of a group together, which one pass does not have; leave it out")
    if not (columns.randomised or columns.propensity):
        raise InputError(
            "one pass needs known propensities: --propensity COLUMN, or --randomised for a trial; they can be "
            "estimated from rows in memory only, without --one-pass"
        )
    for name in columns.leave_out:
        if name not in files.columns:
            raise UnknownNameError(f"column of {files.name}:", name, files.columns)
    others = columns.features or (name for name in files.columns if name not in columns.leave_out)
    sample, names = Sample(columns), tuple(dict.fromkeys((*columns.names, *others)))
    missing = files.read(names, columns.missing, lambda frame, _: sample.add(frame), tick)
    source = make_source(files.name, sample.table, replace(columns, leave_out=()), missing)  # these were not read
    return replace(source, columns=columns, numbers=sample.numbers)
