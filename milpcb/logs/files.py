"""The files of a log, and the pass that adds them up, in the order of their names whoever adds: to the same bits."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from glob import glob
from pathlib import Path
from typing import Any, cast

import numpy as np
import polars as pl

from milpcb.core.decimals import fixed
from milpcb.core.files import contents, digest, sealed, unsealed, write_file
from milpcb.data.tables import parquet_pieces, parquet_rows
from milpcb.errors import InputError, RunError, UnknownNameError
from milpcb.estimators.layout import RowCounter
from milpcb.estimators.sample import MOST_ROWS, LoggedColumns, Sample
from milpcb.experiments.results import schemas
from milpcb.experiments.results.records import INDEX
from milpcb.experiments.run.backends import Backend
from milpcb.logs.read import Counts, cleaned
from milpcb.logs.source import Columns
from milpcb.offline.hashing import uniforms
from milpcb.offline.sufficient_statistics import Statistics
from milpcb.plugins import registry
from milpcb.types import Bools, Floats, Ints

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
            raise UnknownNameError(f"column of {files.name}:", name, files.columns)
    named = (*named_columns(columns).names, *columns.features)
    return tuple(
        name
        for name in dict.fromkeys((*named, *files.columns))
        if name in named or not (columns.features or name in columns.leave_out)
    )


def sampled(files: LogFiles, columns: Columns, tick: Tick) -> tuple[Sample, Counts]:
    """Return a sample of the rows of all files, and how often which mark is missing in all; errors name the file."""
    missing: dict[str, Counter[str]] = defaultdict(Counter)
    sample, total = Sample(named_columns(columns)), sum(files.rows)
    while sample.step * MOST_ROWS < total:
        sample.step *= 2
    names = wanted(files, columns)
    for path in files.paths:
        for start, piece, lost in _pieces(path, names, columns.missing):
            with placed(path, start):
                sample.add(piece)
            for name, counts in lost.items():
                missing[name].update(counts)
            tick(sample.n, total)
    return sample, missing


def _pieces(
    path: Path, names: Sequence[str], marks: Sequence[str]
) -> Iterator[tuple[int, pl.DataFrame, dict[str, dict[str, int]]]]:
    """Yield a file in pieces: how many rows are before each, the columns without marks, and how often which was."""
    start = 0
    for whole in parquet_pieces(path, names, PIECE):
        yield start, *cleaned(whole, marks)
        start += len(whole)


@contextmanager
def placed(path: Path, start: int) -> Iterator[None]:
    """Put the name of a file, and the rows before those that are read, into an error about a row."""
    try:
        yield
    except InputError as error:
        raise InputError(f"{path}, after {fixed(start, 0)} rows: {error}" if start else f"{path}: {error}") from error


Parts = list[Statistics]  # of the rows to learn from, and of those kept aside if there are any


@dataclass(frozen=True)
class FileCounter:
    """Counts of a file."""

    rows: RowCounter
    starts: tuple[int, ...]  # numbers in the log of the first rows of the files
    aside: float  # share of rows that are kept aside, by their place in the log and the ``seed``
    seed: int
    missing: tuple[str, ...]  # marks of a missing value

    def empty(self) -> Parts:
        """Return the sums over no rows."""
        return [self.rows.layout.empty() for _ in range(2 if self.aside else 1)]

    def of_file(self, file: tuple[int, Path]) -> Parts:
        """Return the sums over the rows of a file, which has a number; raises InputError with its name."""
        (number, path), parts = file, self.empty()
        for start, piece, _ in _pieces(path, self.rows.names, self.missing):
            with placed(path, start):
                codes, known = self.rows.read(piece, self.starts[number] + start)
            aside = self.is_aside(number, start + np.arange(len(piece)))
            for sums, rows in zip(parts, (~aside, aside), strict=False):
                if rows.all():
                    self.rows.add(sums, codes, known)
                else:
                    self.rows.add(sums, np.ascontiguousarray(codes[:, rows]), known.part(rows))
        return parts

    def is_aside(self, file: int | Ints, rows: Ints) -> Bools:
        """Return which rows (n,) of a file are kept aside: by a hash of their place, not of what they hold."""
        if not self.aside:
            return np.zeros(len(rows), dtype=bool)
        place = np.uint64((self.seed % 2**16) << 48) | (np.asarray(file).astype(np.uint64) << np.uint64(32))
        return np.asarray(uniforms(place + rows.astype(np.uint64)) < self.aside)

    def sampled_aside(self, numbers: Ints) -> Bools:
        """Return which rows (n,) of the whole log are kept aside, by their numbers in it."""
        file = np.searchsorted(self.starts, numbers, side="right") - 1
        return self.is_aside(file, numbers - np.array(self.starts)[file])


def count(counter: FileCounter, files: LogFiles, backend: Backend, kept: KeptSums | None, tick: Tick) -> Parts:
    """Return the sums over all files, from those that are ``kept`` on; raises InputError with a damaged file."""
    (first, parts), total = kept.counted() if kept else (0, counter.empty()), sum(files.rows)
    tick(sum(files.rows[:first]), total)
    for number, more in enumerate(_in_order(counter, files, backend, first), first + 1):
        parts = [sums + others for sums, others in zip(parts, more, strict=True)]
        if kept and number < len(files.paths):
            kept.keep(number, parts)
        tick(sum(files.rows[:number]), total)
    return parts


def open_backend(name: str, workers: int | None, scheduler: str | None) -> Backend:
    """Return the backend that adds up the files: "serial", "processes" or "dask"."""
    return cast("Backend", registry.load("backend", name)(workers=workers, scheduler=scheduler))


def _in_order(counter: FileCounter, files: LogFiles, backend: Backend, first: int) -> Iterator[Parts]:
    """Yield the sums of the files from ``first`` on in their order, however they finish; raises what a file raised."""
    tasks = list(enumerate(files.paths))[first:]
    waiting: dict[int, Parts] = {}
    played: Any = backend.map(counter.of_file, tasks)
    with closing(played) as results:
        for (number, path), result in results:
            if isinstance(result, InputError):
                raise result
            if isinstance(result, Exception):
                raise InputError(f"{path} could not be added up: {result}") from result
            waiting[number] = result
            while first in waiting:
                yield waiting.pop(first)
                first += 1


KEPT = "counted.json"  # what an interrupted pass leaves in the folder of --out


class KeptSums:
    """The sums of the first files of a log, in a folder."""

    def __init__(self, folder: Path, counter: FileCounter, files: LogFiles) -> None:
        self._path, self._counter = folder / KEPT, counter
        self._of = digest(repr((files.stamps(), counter)).encode())

    def counted(self) -> tuple[int, Parts]:
        """Return how many files were counted in this very way, and their sums: 0 where nothing was."""
        kept, parts = read_sums(self._path), self._counter.empty()
        if kept is None or kept["of"] != self._of or len(kept["sums"]) != len(parts):
            return 0, parts
        with suppress(ValueError):
            for sums, text in zip(parts, kept["sums"], strict=True):
                arrays = _arrays(sums)
                numbers = np.frombuffer(b64decode(text, validate=True), dtype="<f8").astype(float)
                pieces = np.split(numbers, np.cumsum([array.size for array in arrays])[:-1])
                for array, piece in zip(arrays, pieces, strict=True):
                    array[...] = piece.reshape(array.shape)
            return kept["files"], parts
        return 0, self._counter.empty()

    def keep(self, number: int, parts: Parts) -> None:
        """Write what is counted so far; raises RunError where a file of that name is not such a file."""
        check_sums(self._path)
        numbers = (np.concatenate([array.ravel() for array in _arrays(sums)]) for sums in parts)
        sums = [b64encode(each.astype("<f8").tobytes()).decode() for each in numbers]
        write_file(self._path, sealed({"of": self._of, "files": number, "sums": sums}))


def _arrays(sums: Statistics) -> tuple[Floats, ...]:
    return sums.cells, sums.outcomes, sums.ends, sums.barred


def read_sums(path: Path) -> dict[str, Any] | None:
    """Return what a pass left in a file; None where no pass wrote it."""
    with suppress(OSError, ValueError):
        return dict(schemas.checked(schemas.KeptSums, unsealed(contents(path))))
    return None


def check_sums(path: Path) -> None:
    """Raise RunError where there is a file, or a link, that no pass wrote."""
    if (path.is_symlink() or path.exists()) and read_sums(path) is None:
        raise RunError(f"{path} is not as milpcb learn wrote it; move it away, or choose another folder with --out")
