"""The table of a report: a row for the seeds of each environment, policy class, oracle, learner and horizon."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import polars as pl

from milpcb.core.decimals import THIN, fixed, number, places
from milpcb.experiments.results import in_turn
from milpcb.experiments.results.confident import column_in, percent_of
from milpcb.experiments.results.figures.meaning import unconstrained
from milpcb.experiments.results.figures.results import Results
from milpcb.experiments.results.figures.words import legible, with_separators
from milpcb.experiments.results.slopes import mean_interval
from milpcb.experiments.study.cells import NO_ORACLE
from milpcb.types import Floats

RUN = ("environment", "policies", "oracle", "learner", "horizon")  # what runs share that differ in the seed only


@dataclass(frozen=True)
class Summary:
    """Means over the seeds of an environment, policy class, oracle, learner and horizon, after the last round.

    ``mean_cost`` is the learner's cost per round (where costs are 0 or 1: its error rate), ``best_mean_cost`` that of
    the best policy in hindsight, ``half_width`` half the 95 % interval of ``regret`` (NaN for one seed), ``in_turn``
    and ``in_turn_half_width`` the same to policies in turn (NaN where these are not asked for), ``guarantee`` the
    largest of the seeds' (inf where there is none), ``certificate`` the mean of the certificates, which bounds mean
    regret, and ``certificate_error`` its standard error, ``bound`` the mean of the bounds that the learner's own
    analysis gives of each run, ``confident`` that of the certificates with confidence, each about its own run (these
    four NaN where any is unknown), ``seconds`` and ``oracle_seconds`` are per round.
    """

    environment: str
    policies: str
    oracle: str
    learner: str
    horizon: int
    seeds: int
    mean_cost: float
    best_mean_cost: float
    regret: float
    half_width: float
    in_turn: float
    in_turn_half_width: float
    guarantee: float
    certificate: float
    certificate_error: float
    confident: float
    bound: float
    oracle_error: float
    oracle_calls: float
    rule_changes: float
    seconds: float
    oracle_seconds: float


def summaries(frame: pl.DataFrame) -> list[Summary]:
    """Return the summaries of curves, of the runs that have reached their horizon, in the order of the rows."""
    last = frame.filter(pl.col("round") == pl.col("horizon"))
    return [_summary(group) for _, group in last.group_by(RUN, maintain_order=True)]


def _summary(group: pl.DataFrame) -> Summary:
    first = group.row(0, named=True)
    horizon = first["horizon"]
    mean, half = mean_interval(_column(group, "regret")[:, None])
    confident, turns = column_in(group.columns), in_turn.column_in(group.columns)
    to_turns = mean_interval(_column(group, turns)[:, None]) if turns else np.full((2, 1), np.nan)
    return Summary(
        **{name: first[name] for name in RUN},
        seeds=len(group),
        mean_cost=_mean(group, "cumulative_cost") / horizon,
        best_mean_cost=_mean(group, "best_cost") / horizon,
        regret=float(mean[0]),
        half_width=float(half[0]),
        in_turn=float(to_turns[0][0]),
        in_turn_half_width=float(to_turns[1][0]),
        guarantee=float(_column(group, "guarantee").max()),
        certificate=_mean(group, "certificate"),
        certificate_error=float(np.sqrt((_column(group, "certificate_error") ** 2).sum()) / len(group)),
        confident=np.nan if confident is None else _mean(group, confident),
        bound=_mean(group, "bound"),
        oracle_error=_mean(group, "oracle_error"),
        oracle_calls=_mean(group, "oracle_calls"),
        rule_changes=_mean(group, "rule_changes"),
        seconds=_mean(group, "seconds") / horizon,
        oracle_seconds=_mean(group, "oracle_seconds") / horizon,
    )


def _mean(group: pl.DataFrame, name: str) -> float:
    return float(_column(group, name).mean())


def _column(group: pl.DataFrame, name: str) -> Floats:
    return np.asarray(group[name].to_numpy(), dtype=np.float64)


FREE = "\u2020"  # marks learners that need not keep the side constraints


@dataclass(frozen=True)
class Entry:
    """Cell of a table: the text shown, and the value it is sorted by (None, which comes last, for nothing)."""

    text: str
    value: float | str | None
    numeric: bool = True


@dataclass(frozen=True)
class ReportColumn:
    """A column of the table: its key in the address, its heading, and its entry in a row.

    ``extra`` columns, on costs and times, are shown on demand.
    """

    key: str
    heading: str
    entry: Callable[[Summary], Entry]
    numeric: bool = True
    extra: bool = False


def report_table(results: Results) -> dict[str, Any]:
    """Return columns and rows of entries; by environment, policy class and horizon, least regret first.

    What is the same in all rows has no column.
    """
    rows = _sorted(summaries(results.finals))
    columns = list(_columns(results, rows))
    return {"columns": columns, "rows": [[column.entry(row) for column in columns] for row in rows]}


def _sorted(rows: Sequence[Summary]) -> list[Summary]:
    worlds = list(dict.fromkeys((row.environment, row.policies) for row in rows))
    return sorted(rows, key=lambda row: (worlds.index((row.environment, row.policies)), row.horizon, row.regret))


def _columns(results: Results, rows: Sequence[Summary]) -> Iterator[ReportColumn]:
    frame = results.finals
    free = set(unconstrained(frame, results.settings))
    wanted = len(results.settings.get("experiment", {}).get("seeds", ()))
    confident = column_in(frame.columns)
    yield ReportColumn("learner", "learner", lambda row: _name(row.learner + FREE * (row.learner in free)), False)
    for key in ("environment", "policies", "oracle"):
        if frame.filter(pl.col(key) != NO_ORACLE)[key].n_unique() > 1:
            yield ReportColumn(key, key, partial(_label, key), False)
    if len(results.horizons) > 1:
        yield ReportColumn("horizon", "horizon T", lambda row: _count(row.horizon))
    if len({row.seeds for row in rows}) > 1 or rows[0].seeds < wanted:
        yield ReportColumn("seeds", "seeds", lambda row: Entry(_of(row.seeds, wanted), row.seeds))
    yield ReportColumn("regret", "regret", lambda row: _with_doubt(row.regret, row.half_width))
    if turns := in_turn.column_in(frame.columns):
        yield ReportColumn(
            "in_turn", in_turn.heading(turns), lambda row: _with_doubt(row.in_turn, row.in_turn_half_width)
        )
    yield ReportColumn(
        "certificate", "certificate", lambda row: _with_doubt(row.certificate, 2 * row.certificate_error)
    )
    if confident is not None:
        heading = f"{percent_of(confident)}{THIN}% certificate"
        yield ReportColumn("confident", heading, lambda row: _measure(row.confident))
    yield ReportColumn("guarantee", "guarantee", lambda row: _measure(row.guarantee))
    yield from _on_demand(rows)


def _on_demand(rows: Sequence[Summary]) -> Iterator[ReportColumn]:
    yield ReportColumn("share", "of the guarantee", _share, extra=True)
    yield ReportColumn("bound", "own bound", lambda row: _measure(row.bound), extra=True)
    yield ReportColumn("cost", "mean cost", lambda row: _cost(row.mean_cost), extra=True)
    yield ReportColumn("best_cost", "best cost", lambda row: _cost(row.best_mean_cost), extra=True)
    if any(np.isfinite(row.oracle_error) and row.oracle_error != 0 for row in rows):
        yield ReportColumn("oracle_error", "oracle error", lambda row: _measure(row.oracle_error), extra=True)
    yield ReportColumn("calls", "oracle calls", lambda row: _count(row.oracle_calls), extra=True)
    if any(np.isfinite(row.rule_changes) for row in rows):
        yield ReportColumn(
            "rule_changes", "rule changes", lambda row: _measure(row.rule_changes, without="no rule"), extra=True
        )
    yield ReportColumn("time", "\u00b5s per round", lambda row: _measure(1e6 * row.seconds), extra=True)
    yield ReportColumn("oracle_time", "in oracle", lambda row: _measure(1e6 * row.oracle_seconds), extra=True)


def _label(key: str, row: Summary) -> Entry:
    return _name(getattr(row, key))


def _name(name: str) -> Entry:
    return Entry(legible(name), legible(name), numeric=False)


def _cost(value: float) -> Entry:
    return Entry(fixed(value, 4), value)


def _count(value: float) -> Entry:
    return Entry(with_separators(round(value)), float(value))


def _share(row: Summary) -> Entry:
    share = 100 * row.regret / row.guarantee if 0 < row.guarantee < np.inf else np.inf
    return _measure(share, f"{THIN}%", "")


def _measure(value: float, unit: str = "", without: str = "none") -> Entry:
    return Entry(number(value) + unit, value) if np.isfinite(value) else Entry(without, None)


def _with_doubt(value: float, doubt: float) -> Entry:
    """Return a value with its doubt, which is about two standard errors, to the same decimals."""
    if not np.isfinite(value + doubt):
        return _measure(value)
    decimals = places(value, doubt / 2)
    return Entry(f"{fixed(value, decimals)} \u00b1{THIN}{fixed(doubt, decimals)}", value)


def _of(done: int, wanted: int) -> str:
    return str(done) if done >= wanted else f"{done} of {wanted}"
