"""The table of a report, and of a run that ends: a row for all seeds of a cell, columns left out where it is wide."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from rich.box import SIMPLE_HEAD
from rich.table import Table

from milpcb.core.decimals import THIN, fixed, number, places, spaced
from milpcb.experiments.results import RECOVERY, confident_in, percent_of, turns_heading, turns_in
from milpcb.experiments.results.figures.results import Final, Results, final_of
from milpcb.experiments.results.figures.words import FREE, legible
from milpcb.experiments.study.cells import NO_ORACLE

RUN = ("environment", "policies", "oracle", "learner", "horizon")  # labels of runs that differ in the seed only
TIES = (
    "Of policies that cost the same each oracle or solver may return another, so the regret of learners that follow "
    "it, such as epsilon-greedy, may differ between them"
)
BESIDE = 3  # letters of air beside a column
# Columns to leave out in turn where a terminal is narrow.
FOLDED = (
    *("share", "oracle_time", "calls", "bound", "best_cost", "time", "rule_changes", "cost", "guarantee"),
    *("confident", "certificate"),
)


class ReportColumn(NamedTuple):
    """A column of the table: its key, its heading, and its text in a row."""

    key: str
    heading: str
    text: Callable[[Final], str]
    numeric: bool = True


def report_table(results: Results) -> dict[str, Any]:
    """Return columns and rows of texts, and a note; a fact that is the same in all rows has no column."""
    rows = [final_of(group) for _, group in results.finals.group_by(RUN, maintain_order=True)]
    worlds = list(dict.fromkeys(map(_world, rows)))
    rows.sort(key=lambda row: (worlds.index(_world(row)), row.horizon, row.regret))
    columns = list(_columns(results, rows))
    oracles = {row.labels["oracle"] for row in rows} - {NO_ORACLE}
    texts = [[column.text(row) for column in columns] for row in rows]
    return {"columns": columns, "rows": texts, "note": TIES if len(oracles) > 1 else ""}


def summary_table(results: Results, width: int | None = None) -> Table:
    """Return the same for a terminal; where it is wider than so many letters, columns are left out until it fits."""
    report = report_table(results)
    texts = zip(*report["rows"], strict=True)
    shown = {column.key: (column, cells) for column, cells in zip(report["columns"], texts, strict=True)}
    free, folded = any(FREE in name for name in shown["learner"][1]), []
    for key in FOLDED:
        needed = sum(max(map(len, [column.heading, *cells])) + BESIDE for column, cells in shown.values())
        if width is not None and needed >= width and key in shown:
            folded.append(shown.pop(key)[0].heading)
    table = Table(box=SIMPLE_HEAD)
    for column, _ in shown.values():
        table.add_column(column.heading, no_wrap=True, justify="right" if column.numeric else "left")
    for row in zip(*(cells for _, cells in shown.values()), strict=True):
        table.add_row(*row)
    notes = [
        f"{FREE} need not keep the side constraints" if free else "",
        report["note"],
        f"No room for {', '.join(sorted(folded))}: see report.html, which milpcb report writes" if folded else "",
    ]
    table.caption, table.caption_justify = "\n".join(filter(None, notes)) or None, "left"
    return table


def _columns(results: Results, rows: Sequence[Final]) -> Iterator[ReportColumn]:
    frame, free = results.finals, set(results.unconstrained)
    wanted = len(results.settings.get("experiment", {}).get("seeds", ()))
    yield ReportColumn("learner", "learner", lambda row: legible(row.learner + FREE * (row.learner in free)), False)
    for key in ("environment", "policies", "oracle"):
        if frame.filter(pl.col(key) != NO_ORACLE)[key].n_unique() > 1:
            yield ReportColumn(key, key, lambda row, key=key: legible(row.labels[key]), False)  # type: ignore[misc]
    if len(results.horizons) > 1:
        yield ReportColumn("horizon", "horizon T", lambda row: spaced(row.horizon))
    if len({row.seeds for row in rows}) > 1 or rows[0].seeds < wanted:
        yield ReportColumn("seeds", "seeds", lambda row: f"{row.seeds} of {max(row.seeds, wanted)}")
    yield ReportColumn("regret", "regret", _with_spread("regret"))
    if turns := turns_in(frame.columns):
        yield ReportColumn("in_turn", turns_heading(turns), _with_spread(turns))
    if RECOVERY in frame.columns:
        yield ReportColumn("recovery", "rounds to recover", _mean_of(RECOVERY, without="no change"))
    yield ReportColumn("certificate", "certificate", _certificate)
    if confident := confident_in(frame.columns):
        yield ReportColumn("confident", f"{percent_of(confident)}{THIN}% certificate", _mean_of(confident))
    yield ReportColumn("guarantee", "guarantee", lambda row: _known(row.guarantee))
    yield ReportColumn("share", "of the guarantee", lambda row: _known(100 * row.share, f"{THIN}%", without=""))
    yield ReportColumn("bound", "own bound", _mean_of("bound"))
    yield ReportColumn("cost", "mean cost", lambda row: fixed(row.per_round("cumulative_cost"), 4))
    yield ReportColumn("best_cost", "best cost", lambda row: fixed(row.per_round("best_cost"), 4))
    if np.nan_to_num([row.mean("oracle_error") for row in rows], posinf=0.0).any():
        yield ReportColumn("oracle_error", "oracle error", _mean_of("oracle_error"))
    yield ReportColumn("calls", "oracle calls", lambda row: spaced(round(row.mean("oracle_calls"))))
    if np.isfinite([row.mean("rule_changes") for row in rows]).any():
        yield ReportColumn("rule_changes", "rule changes", _mean_of("rule_changes", without="no rule"))
    yield ReportColumn("time", "\u00b5s per round", lambda row: _known(1e6 * row.per_round("seconds")))
    yield ReportColumn("oracle_time", "in oracle", lambda row: _known(1e6 * row.per_round("oracle_seconds")))


def _world(row: Final) -> tuple[str, str]:
    return row.labels["environment"], row.labels["policies"]


def _mean_of(name: str, without: str = "none") -> Callable[[Final], str]:
    return lambda row: _known(row.mean(name), without=without)


def _with_spread(name: str) -> Callable[[Final], str]:
    return lambda row: _with_doubt(row.mean(name), row.half_width(name))


def _certificate(row: Final) -> str:
    errors = row.columns["certificate_error"]
    return _with_doubt(row.mean("certificate"), 2 * float(np.sqrt((errors**2).sum()) / len(errors)))


def _known(value: float, unit: str = "", without: str = "none") -> str:
    return number(value) + unit if np.isfinite(value) else without


def _with_doubt(value: float, doubt: float) -> str:
    """Return a value with its doubt, which is about two standard errors, to the same decimals."""
    if not np.isfinite(value + doubt):
        return _known(value)
    decimals = places(value, doubt / 2)
    return f"{fixed(value, decimals)} \u00b1{THIN}{fixed(doubt, decimals)}"
