"""A log on disk: a CSV or Parquet file whose columns are features, actions, outcomes and propensities."""

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
import polars as pl

from milpcb.core.decimals import fixed
from milpcb.data.actions import action_name
from milpcb.data.schema import Schema
from milpcb.data.tables import CODE
from milpcb.errors import InputError, UnknownNameError, clipped
from milpcb.estimators.inputs import Columns
from milpcb.logs.features import leaks, notes_on_left, usable
from milpcb.logs.features import notes as notes_of
from milpcb.logs.read import EMPTY, Counts, cleaned, read_file
from milpcb.offline import Diagnostics, Log, Scores, read_log
from milpcb.offline.band import Progress
from milpcb.types import Floats, Ints


@dataclass(frozen=True, eq=False)
class Source:
    """A log as it was read."""

    name: str  # what to call it
    columns: Columns  # which column is what
    table: pl.DataFrame  # all of its columns
    frame: pl.DataFrame  # those that policies may read
    log: Log  # checked; its features are ``frame``
    notes: tuple[str, ...] = field(default=())  # which columns were taken for codes, which were left out, and why
    warnings: tuple[str, ...] = field(default=())  # which features may be known only afterwards
    missing: Counts = field(default_factory=dict)  # of each feature in how many rows which mark was read as missing
    weight: Floats | None = None  # (n,) how much each row counts; None where each counts once
    numbers: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64))  # (n,) of a sample: those in the log


def read_source(path: Path, columns: Columns, known: Schema | None = None) -> Source:
    """Read a log, where ``known`` columns keep their types; raises InputError with the row, UnknownNameError."""
    read = read_file(path, known, columns.missing)
    return make_source(path.name, read.frame, columns, read.missing, read.notes)


def make_source(
    name: str, frame: pl.DataFrame, columns: Columns, missing: Counts | None = None, notes: Sequence[str] = ()
) -> Source:
    """Return a checked log of a frame, with the counts of ``missing`` marks; InputError, UnknownNameError."""
    frame, lost = cleaned(frame, columns.missing)
    candidates = _candidates(name, frame, columns)
    outcome = _numbers(name, frame, columns.outcome)
    done = _present(name, frame, columns.action).to_numpy()
    propensity = _propensity(name, frame, columns, done)
    features, left = usable(frame, candidates, asked=bool(columns.features))
    if not features:
        raise InputError(f"{name} has no column left to decide by; add features")
    table = frame.select(features)
    log = read_log(
        table,
        done,
        **{"reward" if columns.maximise else "cost": outcome},
        propensity=propensity,
        actions=columns.actions or None,
        group=_groups(name, frame, columns.group),
    )
    # columns that are no features and may be outcomes or weights: those left out may be second outcomes
    others = [each for each in frame.columns if each in (columns.outcome, columns.weight, *columns.leave_out)]
    counts = {feature: found for feature in features if (found := _counted(missing, lost, feature))}
    weight = _weight(name, frame, columns.weight) if columns.weight else None
    return Source(
        name,
        columns,
        frame,
        table,
        log,
        (
            *notes,
            *notes_of(table, frame.select(others), counts, {columns.action: log.actions}),
            *notes_on_left(frame, left, grouped=bool(columns.group)),
        ),
        tuple(leaks(table, columns.outcome, log.outcome)),
        counts,
        weight,
    )


def _counted(missing: Counts | None, lost: Counts, feature: str) -> dict[str, int]:
    if missing is None:
        return dict(lost.get(feature, {}))
    return {**missing.get(feature, {}), **{m: rows for m, rows in lost.get(feature, {}).items() if m != EMPTY}}


def numbers_of(source: Source, column: str) -> Floats:
    """Return a column (n,) of a log that holds a finite number in every row; raises InputError, UnknownNameError."""
    if column not in source.table.columns:
        raise UnknownNameError(f"column of {source.name}:", column, source.table.columns)
    return _numbers(source.name, source.table, column)


def actions_in(source: Source) -> Any:
    """Return the actions (K,) as the log has them, which policies return: numbers and booleans, else names."""
    done = source.table[source.columns.action]
    values = {action_name(value): value for value in done.unique().to_list()}
    found = [values[name] for name in source.log.actions]
    if done.dtype == pl.Boolean or (done.dtype.is_numeric() and all(value == int(value) for value in found)):
        return np.array(found if done.dtype == pl.Boolean else list(map(int, found)))
    return np.array(source.log.actions)


def _candidates(name: str, frame: pl.DataFrame, columns: Columns) -> tuple[str, ...]:
    taken = (columns.action, columns.outcome, *columns.propensity, *filter(None, [columns.weight]))
    group = tuple(filter(None, [columns.group]))
    aside = {*taken, *columns.leave_out, *group}
    found = columns.features or tuple(column for column in frame.columns if column not in aside)
    for column in (*taken, *found, *columns.leave_out, *group):
        if column not in frame.columns:
            raise UnknownNameError(f"column of {name}:", column, frame.columns)
    for column in found:
        if column in (*taken, *columns.leave_out):
            what = "the action, outcome, propensity or weight, or is left out"
            raise InputError(f"column '{column}' is {what}, so it can be no feature")
    return found


def _numbers(name: str, frame: pl.DataFrame, column: str) -> Floats:
    values = frame[column]
    if not (values.dtype.is_numeric() or values.dtype == pl.Boolean):
        shown = _first_text(values)
        raise InputError(f"{name}, column '{column}' must hold numbers, and holds {shown}")
    numbers = np.asarray(_present(name, frame, column).cast(pl.Float64).to_numpy(), dtype=float)
    wrong = np.flatnonzero(~np.isfinite(numbers))
    if len(wrong):
        raise InputError(
            f"{name}, row {wrong[0] + 1}: '{column}' is {numbers[wrong[0]]}; leave out rows without a finite number"
        )
    return numbers


def _first_text(values: pl.Series) -> str:
    if values.dtype == pl.String:
        numbers = values.cast(pl.Float64, strict=False).is_not_null() & ~values.str.contains(f"^{CODE.pattern}")
        values = values.set(numbers.fill_null(value=False), None)
    row = next((i for i, value in enumerate(values.to_list()) if value is not None), 0)
    found = values[row]
    return f"{'nothing' if found is None else clipped(repr(found))} in row {row + 1}"


def _present(name: str, frame: pl.DataFrame, column: str) -> pl.Series:
    missing = np.flatnonzero(frame[column].is_null().to_numpy())
    if len(missing):
        raise InputError(
            f"{name}, row {missing[0] + 1}: '{column}' is missing; leave out such rows ({fixed(len(missing), 0)}), or "
            "fill in what is missing if you know why it is"
        )
    return frame[column]


def _groups(name: str, frame: pl.DataFrame, column: str) -> Ints | None:
    if not column:
        return None
    if frame[column].dtype.is_float():
        frame = frame.select(pl.col(column).fill_nan(None))  # else the rows without a number were one group
    return _present(name, frame, column).rank("dense").to_numpy().astype(np.int64) - 1


def _weight(name: str, frame: pl.DataFrame, column: str) -> Floats:
    weight = _numbers(name, frame, column)
    wrong = np.flatnonzero(weight < 0)
    if len(wrong):
        raise InputError(f"{name}, row {wrong[0] + 1}: '{column}' is {weight[wrong[0]]:g}; no row weighs less than 0")
    return weight


def _propensity(name: str, frame: pl.DataFrame, columns: Columns, done: Any) -> Any:
    if columns.randomised:
        if columns.propensity:
            raise InputError(
                "a randomised trial has known propensities: give either the column or that it is randomised"
            )
        return "randomised"
    read = {column: _numbers(name, frame, column) for column in columns.propensity}
    if len(read) < 2:
        return next(iter(read.values()), None)
    actions = columns.actions or [*dict.fromkeys(map(action_name, done.tolist()))]
    return {action: read[column] for action, column in zip(actions, columns.by(actions).propensity, strict=True)}


@dataclass(frozen=True, eq=False)
class ScoredRows:
    """Some rows of a log, with scores that depend on these rows alone; after one pass a CompressedLog."""

    source: Source
    estimator: Any
    numbers: Ints
    frame: pl.DataFrame
    scores: Scores
    n: int  # how many rows there are
    counts: Floats  # (K,) in how many of them each action was done
    unseen: Floats  # (K,) in how many the log has none of an action
    diagnostics: Diagnostics  # how far the scores can be trusted

    @classmethod
    def of(cls, source: Source, estimator: Any, numbers: Ints, tick: Progress) -> Self:
        """Return the rows with these numbers, and their scores."""
        every = len(numbers) == len(source.log)
        log, frame = (source.log, source.frame) if every else (source.log.take(numbers), source.frame[numbers])
        named = (price for price in (estimator.treatment_cost or {}).values() if isinstance(price, str))
        columns = {column: numbers_of(source, column)[numbers] for column in named}
        weight = None if source.weight is None else source.weight[numbers]
        found = estimator.estimate_scores(log, columns, progress=tick, sample_weight=weight)
        counts = np.bincount(log.action, minlength=len(log.actions)).astype(float)
        unseen = found.unseen.sum(axis=0).astype(float)
        return cls(source, estimator, numbers, frame, found, len(log), counts, unseen, found.diagnostics)

    def by_outcome(self, column: str, *, maximise: bool) -> Scores:
        """Return the scores of the same rows by another outcome."""
        other = copy(self.estimator)
        other.treatment_cost = None  # it is in the unit of the first outcome
        values = numbers_of(self.source, column)[self.numbers]
        log = replace(self.scores.log, outcome=values, maximise=maximise)
        found: Scores = other.estimate_scores(log, sample_weight=self.scores.weight)
        return found
