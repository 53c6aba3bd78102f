"""The table of a report: a row for the seeds of each environment, policy class, oracle, learner and horizon."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from milpcb.experiments.results.confident import column_in, meaning, percent_of
from milpcb.experiments.results.figures.meaning import THIN, unconstrained, void_words
from milpcb.experiments.results.figures.results import Results
from milpcb.experiments.results.figures.words import CERTIFICATES, legible, number, with_separators
from milpcb.experiments.results.summary import Summary, summaries
from milpcb.experiments.study.cells import NO_ORACLE

FREE = "\u2020"  # marks learners that need not keep the side constraints


@dataclass(frozen=True)
class ReportColumn:
    """A column of the table of results: its key in the address, its heading, whether it holds numbers."""

    key: str
    heading: str
    numeric: bool = True


@dataclass(frozen=True)
class Entry:
    """What a column holds in a row: the text shown, and what it is sorted by (None, which comes last, for nothing)."""

    text: str
    value: float | str | None
    numeric: bool = True


def report_table(results: Results) -> dict[str, Any]:
    """Return columns, rows of entries and a caption; by environment, policy class and horizon, least regret first."""
    frame = results.finals
    keys = [key for key in ("environment", "policies") if frame[key].n_unique() > 1]
    keys += ["oracle"] if frame.filter(pl.col("oracle") != NO_ORACLE)["oracle"].n_unique() > 1 else []
    rows = _sorted(summaries(frame))
    inexact = any(np.isfinite(row.oracle_error) and row.oracle_error != 0 for row in rows)
    free = set(unconstrained(frame, results.settings))
    confident = column_in(frame.columns)
    wanted = len(results.settings.get("experiment", {}).get("seeds", ()))
    return {
        "columns": _columns(keys, confident, inexact=inexact),
        "rows": [_entries(row, keys, wanted, free, confident, inexact=inexact) for row in rows],
        "caption": _caption(results),
    }


def _caption(results: Results) -> str:
    spread = f" \u00b1 is half the 95{THIN}% interval of the mean over the seeds." if results.seeds > 1 else ""
    words = (
        f" {CERTIFICATES} Its \u00b1 is two standard errors."
        if np.isfinite(results.finals["certificate"].to_numpy()).any()
        else ""
    )
    confident = column_in(results.finals.columns)
    words += "" if confident is None else f" {meaning(confident)}"
    costs = (
        " Mean costs are per round: the error rate, where costs are 0 or 1. "
        "The best cost is the best policy's in hindsight."
    )
    free = unconstrained(results.frame, results.settings)
    marked = f" {FREE}: need not keep the side constraints, as it asks no oracle." if free else ""
    void = void_words(results.frame, results.settings)
    return f"After the last round.{spread}{costs}{words}{marked}{void and f' {void}'}"


def _sorted(rows: Sequence[Summary]) -> list[Summary]:
    worlds = list(dict.fromkeys((row.environment, row.policies) for row in rows))
    return sorted(rows, key=lambda row: (worlds.index((row.environment, row.policies)), row.horizon, row.regret))


def _columns(keys: Sequence[str], confident: str | None, *, inexact: bool) -> list[ReportColumn]:
    columns = [ReportColumn(key, key, numeric=False) for key in [*keys, "learner"]]
    columns += [ReportColumn("horizon", "horizon T"), ReportColumn("seeds", "seeds")]
    columns += [
        ReportColumn("cost", "mean cost"),
        ReportColumn("best_cost", "best cost"),
        ReportColumn("regret", "regret"),
    ]
    columns += [
        ReportColumn("certificate", "certificate"),
        *([] if confident is None else [ReportColumn("confident", f"{percent_of(confident)}{THIN}% certificate")]),
        ReportColumn("bound", "own bound"),
        ReportColumn("guarantee", "guarantee"),
        ReportColumn("share", "of the guarantee"),
    ]
    columns += [ReportColumn("oracle_error", "oracle error")] if inexact else []
    return [
        *columns,
        ReportColumn("calls", "oracle calls"),
        ReportColumn("time", "\u00b5s per round"),
        ReportColumn("oracle_time", "in oracle"),
    ]


def _entries(
    row: Summary, keys: Sequence[str], wanted: int, free: Collection[str], confident: str | None, *, inexact: bool
) -> list[Entry]:
    """Return the entries of a row; ``wanted`` is the number of seeds that the study asks for.

    Learners of ``free`` need not keep the side constraints, and are marked.
    """
    spread = f" \u00b1{THIN}{number(row.half_width)}" if np.isfinite(row.half_width) else ""
    share = 100 * row.regret / row.guarantee if 0 < row.guarantee < np.inf else np.inf
    entries = [*(_name(getattr(row, key)) for key in keys), _name(row.learner + FREE * (row.learner in free))]
    entries += [_count(row.horizon), Entry(_of(row.seeds, wanted), row.seeds)]
    entries += [_cost(row.mean_cost), _cost(row.best_mean_cost)]
    doubt = f" \u00b1{THIN}{number(2 * row.certificate_error)}" if np.isfinite(row.certificate_error) else ""
    entries += [Entry(number(row.regret) + spread, row.regret)]
    entries += [_measure(row.certificate, doubt), *([] if confident is None else [_measure(row.confident)])]
    entries += [_measure(row.bound), _measure(row.guarantee)]
    entries += [_measure(share, f"{THIN}%", "")]
    entries += [_measure(row.oracle_error)] if inexact else []
    return [*entries, _count(row.oracle_calls), _measure(1e6 * row.seconds), _measure(1e6 * row.oracle_seconds)]


def _name(name: str) -> Entry:
    return Entry(legible(name), legible(name), numeric=False)


def _cost(value: float) -> Entry:
    return Entry(f"{value:.4f}".replace("-", "\u2212"), value)


def _count(value: float) -> Entry:
    return Entry(with_separators(round(value)), float(value))


def _measure(value: float, unit: str = "", without: str = "none") -> Entry:
    return Entry(number(value) + unit, value) if np.isfinite(value) else Entry(without, None)


def _of(done: int, wanted: int) -> str:
    return str(done) if done >= wanted else f"{done} of {wanted}"
