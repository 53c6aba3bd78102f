"""A log on disk: a CSV or Parquet file whose columns are features, what was done, what came of it, and propensities."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from milpcb.checks import check_file
from milpcb.errors import InputError, UnknownNameError, clipped
from milpcb.offline import Log, read_log
from milpcb.types import Floats

MISSING = ["", "NA", "NaN", "nan", "null", "None"]  # what a CSV file writes for a missing value
ALIKE = 0.999  # correlation from which a feature is taken for the outcome under another name


@dataclass(frozen=True)
class Columns:
    """Which column is what.

    Parameters
    ----------
    action, outcome : names; what was done, and what came of it
    maximise : whether a larger outcome is better
    propensity : name of the column with the probability of what was done, or names of K columns, one for each action in
        the order of ``actions``; () where it is not known
    randomised : whether each action had the same probability in every row, as in a randomised trial
    features : names of the columns that policies may read; () for all that are nothing else
    actions : names of the actions in order; () for those of the log, sorted

    """

    action: str
    outcome: str
    maximise: bool
    propensity: tuple[str, ...] = ()
    randomised: bool = False
    features: tuple[str, ...] = ()
    actions: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Source:
    """A log as it was read: the ``frame`` of its features, and the checked ``log``; ``name`` is what to call it."""

    name: str
    columns: Columns
    frame: pl.DataFrame
    log: Log
    warnings: tuple[str, ...] = field(default=())

    @property
    def outcome(self) -> dict[str, Floats]:
        """The outcome as a keyword of estimators: reward or cost."""
        return {"reward" if self.columns.maximise else "cost": self.log.outcome}

    @property
    def propensity(self) -> Any:
        """The propensity as a keyword of estimators."""
        return "randomised" if self.columns.randomised else _known(self.log)

    @property
    def done(self) -> list[str]:
        """What was done in each row, by name."""
        return [self.log.actions[number] for number in self.log.action]


def read_source(path: Path, columns: Columns) -> Source:
    """Read a log; raises InputError with what is wrong in which column or row, UnknownNameError on a missing column."""
    return make_source(path.name, read_frame(path), columns)


def make_source(name: str, frame: pl.DataFrame, columns: Columns) -> Source:
    """Return a checked log of a frame; raises InputError, UnknownNameError."""
    taken = (columns.action, columns.outcome, *columns.propensity)
    features = columns.features or tuple(column for column in frame.columns if column not in taken)
    for column in (*taken, *features):
        if column not in frame.columns:
            raise UnknownNameError(f"column of {name}", column, frame.columns)
    if not features:
        raise InputError(f"{name} has no column left to decide by, beside {', '.join(taken)}; add features")
    for column in set(features) & set(taken):
        raise InputError(
            f"column '{column}' is the action, outcome or propensity, so it can be no feature; leave it out"
        )
    table = frame.select(features)
    log = read_log(
        table,
        frame[columns.action].to_numpy(),
        **{"reward" if columns.maximise else "cost": _numbers(name, frame, columns.outcome)},
        propensity=_propensity(name, frame, columns),
        actions=columns.actions or None,
    )
    return Source(name, columns, table, log, tuple(_leaks(table, columns.outcome, log)))


def read_frame(path: Path) -> pl.DataFrame:
    """Read a .csv or .parquet file; raises InputError."""
    check_file(path)
    read: Any = pl.read_parquet if path.suffix == ".parquet" else _read_csv
    try:
        frame: pl.DataFrame = read(path)
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from error
    except (KeyboardInterrupt, MemoryError):
        raise
    except BaseException as error:  # the reader panics at some broken files, which is no Exception
        reason = clipped(" ".join(str(error).split()), 200)
        raise InputError(f"{path} is no {path.suffix.removeprefix('.') or 'CSV'} table: {reason}") from error
    if frame.is_empty():
        raise InputError(f"{path} has no rows; write a header and then a line for each decision")
    return frame


def _read_csv(path: Path) -> pl.DataFrame:
    frame = pl.read_csv(path, null_values=MISSING, infer_schema_length=None)
    twice = [column for column in frame.columns if "_duplicated_" in column]
    if twice:
        raise InputError(f"two columns are called '{clipped(twice[0].partition('_duplicated_')[0])}'")
    return frame


def _numbers(name: str, frame: pl.DataFrame, column: str) -> Floats:
    """Return a column of numbers; raises InputError on the first row that is none."""
    values = frame[column]
    if not (values.dtype.is_numeric() or values.dtype == pl.Boolean):
        shown = next((value for value in values.to_list() if value is not None), None)
        raise InputError(f"{name}, column '{column}' must hold numbers, and holds {clipped(repr(shown))}")
    missing = np.flatnonzero(values.is_null().to_numpy())
    if len(missing):
        raise InputError(
            f"{name}, row {missing[0] + 1}: '{column}' is missing; leave out the {len(missing)} such rows, "
            "or fill them in if you know why they are missing"
        )
    return np.asarray(values.cast(pl.Float64).to_numpy(), dtype=float)


def _propensity(name: str, frame: pl.DataFrame, columns: Columns) -> Any:
    if columns.randomised:
        if columns.propensity:
            raise InputError(
                "a randomised trial has known propensities: give either the column or that it is randomised"
            )
        return "randomised"
    read = [_numbers(name, frame, column) for column in columns.propensity]
    if not read:
        return None
    return read[0] if len(read) == 1 else np.column_stack(read)


def _known(log: Log) -> Any:
    """Return propensities as they were given: (n,) of what was done, or (n, K)."""
    if log.propensity is None or not np.isnan(log.propensity).any():
        return log.propensity
    return log.propensity[np.arange(len(log)), log.action]


def _leaks(frame: pl.DataFrame, outcome: str, log: Log) -> Iterator[str]:
    """Yield a warning for each feature that is hardly anything but the outcome."""
    for column in frame.columns:
        if frame[column].dtype.is_numeric() and _correlation(frame[column], log.outcome) > ALIKE:
            yield (
                f"'{column}' goes with '{outcome}' almost exactly (correlation above {ALIKE:g}): if it is known only "
                "afterwards, no policy can read it; leave it out by --features"
            )


def _correlation(feature: pl.Series, outcome: Sequence[float] | Floats) -> float:
    """Return the absolute correlation of feature and outcome where both are known, 0 where one is constant."""
    values, other = feature.cast(pl.Float64).fill_null(math.nan).to_numpy(), np.asarray(outcome, dtype=float)
    there = np.isfinite(values)
    if there.sum() < 3 or np.ptp(values[there]) == 0 or np.ptp(other[there]) == 0:
        return 0.0
    return float(abs(np.corrcoef(values[there], other[there])[0, 1]))
