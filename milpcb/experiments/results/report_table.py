"""The table of a report, and of a run that ends, which has no colours and leaves out columns where it is too wide.

It has a row for the seeds of each environment, policy class, oracle, learner and horizon.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import polars as pl
from rich.box import SIMPLE_HEAD
from rich.table import Table

from milpcb.core.decimals import THIN, fixed, number, places
from milpcb.experiments.results.columns import confident_in, percent_of, turns_heading, turns_in
from milpcb.experiments.results.figures.meaning import unconstrained
from milpcb.experiments.results.figures.results import Results
from milpcb.experiments.results.figures.words import FREE, legible, with_separators
from milpcb.experiments.results.slopes import mean_interval
from milpcb.experiments.study.cells import NO_ORACLE

RUN = ("environment", "policies", "oracle", "learner", "horizon")  # what runs share that differ in the seed only


Row = dict[str, Any]  # the means of some runs by the names of the columns of curves, and more: see _summary


def _summary(group: pl.DataFrame) -> Row:
    """Return the labels of runs that differ in their seed only, the number of ``seeds``, and means at the horizon.

    There is a mean for each column of numbers (NaN where any is unknown); but of the guarantee the largest, and of
    certificate_error the standard error of the mean certificate. ``half_width`` is half the 95 % interval of regret,
    ``turns_half_width`` that of regret to policies in turn; NaN for one seed.
    """
    numbers = [name for name, kind in group.schema.items() if kind != pl.String]
    columns = {name: np.asarray(group[name].to_numpy(), dtype=np.float64) for name in numbers}
    turns = turns_in(columns)
    return {
        **{name: float(values.mean()) for name, values in columns.items()},
        **{name: group[name][0] for name in RUN},
        "seeds": len(group),
        "half_width": float(mean_interval(columns["regret"][:, None])[1][0]),
        "turns_half_width": float(mean_interval(columns[turns][:, None])[1][0]) if turns else np.nan,
        "guarantee": float(columns["guarantee"].max()),
        "certificate_error": float(np.sqrt((columns["certificate_error"] ** 2).sum()) / len(group)),
    }


LEFT_OUT = ("share", "oracle_time")  # of the report's columns; the others fit a wide terminal
BESIDE = 3  # letters of air beside a column
# Columns to leave out of them in turn.
FOLDED = (
    "calls",
    "bound",
    "best_cost",
    "time",
    "rule_changes",
    "cost",
    "guarantee",
    "confident",
    "certificate",
)


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
    entry: Callable[[Row], Entry]
    numeric: bool = True
    extra: bool = False


def report_table(results: Results) -> dict[str, Any]:
    """Return columns and rows of entries; by environment, policy class and horizon, least regret first.

    What is the same in all rows has no column.
    """
    rows = _sorted([_summary(group) for _, group in results.finals.group_by(RUN, maintain_order=True)])
    columns = list(_columns(results, rows))
    return {"columns": columns, "rows": [[column.entry(row) for column in columns] for row in rows]}


def summary_table(results: Results, width: int | None = None) -> Table:
    """Return the table of the last rounds: means over seeds, least regret first, numbers as on the report's page.

    Where it is wider than ``width`` letters, columns are left out until it fits; the caption names them.
    """
    report = report_table(results)
    shown = [i for i, column in enumerate(report["columns"]) if column.key not in LEFT_OUT]
    cells = [[row[i].text for row in report["rows"]] for i in range(len(report["columns"]))]
    needed = {i: max(map(len, [report["columns"][i].heading, *cells[i]])) + BESIDE for i in shown}
    keys, folded = {column.key: i for i, column in enumerate(report["columns"])}, []
    for key in FOLDED:
        if width is not None and sum(needed[i] for i in shown) >= width and keys.get(key) in shown:
            shown.remove(keys[key])
            folded.append(report["columns"][keys[key]].heading)
    table = Table(box=SIMPLE_HEAD)
    for i in shown:
        column = report["columns"][i]
        table.add_column(column.heading, no_wrap=True, justify="right" if column.numeric else "left")
    for row in report["rows"]:
        table.add_row(*(row[i].text for i in shown))
    free = any(FREE in row[0].text for row in report["rows"])
    notes = [f"{FREE} need not keep the side constraints"] if free else []
    notes += [f"No room for {', '.join(sorted(folded))}: see report.html, which milpcb report writes"] if folded else []
    table.caption = "\n".join(notes) or None
    table.caption_justify = "left"
    return table


def _sorted(rows: Sequence[Row]) -> list[Row]:
    worlds = list(dict.fromkeys((row["environment"], row["policies"]) for row in rows))
    return sorted(
        rows, key=lambda row: (worlds.index((row["environment"], row["policies"])), row["horizon"], row["regret"])
    )


def _columns(results: Results, rows: Sequence[Row]) -> Iterator[ReportColumn]:
    frame = results.finals
    free = set(unconstrained(frame, results.settings))
    wanted = len(results.settings.get("experiment", {}).get("seeds", ()))
    yield ReportColumn("learner", "learner", lambda row: _name(row["learner"] + FREE * (row["learner"] in free)), False)
    for key in ("environment", "policies", "oracle"):
        if frame.filter(pl.col(key) != NO_ORACLE)[key].n_unique() > 1:
            yield ReportColumn(key, key, partial(_label, key), False)
    if len(results.horizons) > 1:
        yield ReportColumn("horizon", "horizon T", lambda row: _count(row["horizon"]))
    if len({row["seeds"] for row in rows}) > 1 or rows[0]["seeds"] < wanted:
        yield ReportColumn("seeds", "seeds", lambda row: Entry(_of(row["seeds"], wanted), row["seeds"]))
    yield ReportColumn("regret", "regret", lambda row: _with_doubt(row["regret"], row["half_width"]))
    if turns := turns_in(frame.columns):
        yield ReportColumn(
            "in_turn", turns_heading(turns), lambda row: _with_doubt(row[turns], row["turns_half_width"])
        )
    yield ReportColumn(
        "certificate", "certificate", lambda row: _with_doubt(row["certificate"], 2 * row["certificate_error"])
    )
    if confident := confident_in(frame.columns):
        yield ReportColumn("confident", f"{percent_of(confident)}{THIN}% certificate", _of_column(confident))
    yield ReportColumn("guarantee", "guarantee", _of_column("guarantee"))
    yield from _on_demand(rows)


def _on_demand(rows: Sequence[Row]) -> Iterator[ReportColumn]:
    def column(key: str, heading: str, entry: Callable[[Row], Entry]) -> ReportColumn:
        return ReportColumn(key, heading, entry, extra=True)

    yield column("share", "of the guarantee", _share)
    yield column("bound", "own bound", _of_column("bound"))
    yield column("cost", "mean cost", lambda row: _cost(row["cumulative_cost"] / row["horizon"]))
    yield column("best_cost", "best cost", lambda row: _cost(row["best_cost"] / row["horizon"]))
    if any(np.isfinite(row["oracle_error"]) and row["oracle_error"] != 0 for row in rows):
        yield column("oracle_error", "oracle error", _of_column("oracle_error"))
    yield column("calls", "oracle calls", lambda row: _count(row["oracle_calls"]))
    if any(np.isfinite(row["rule_changes"]) for row in rows):
        yield column("rule_changes", "rule changes", lambda row: _measure(row["rule_changes"], without="no rule"))
    yield column("time", "\u00b5s per round", lambda row: _measure(1e6 * (row["seconds"] / row["horizon"])))
    yield column("oracle_time", "in oracle", lambda row: _measure(1e6 * (row["oracle_seconds"] / row["horizon"])))


def _of_column(name: str) -> Callable[[Row], Entry]:
    return lambda row: _measure(row[name])


def _label(key: str, row: Row) -> Entry:
    return _name(row[key])


def _name(name: str) -> Entry:
    return Entry(legible(name), legible(name), numeric=False)


def _cost(value: float) -> Entry:
    return Entry(fixed(value, 4), value)


def _count(value: float) -> Entry:
    return Entry(with_separators(round(value)), float(value))


def _share(row: Row) -> Entry:
    share = 100 * row["regret"] / row["guarantee"] if 0 < row["guarantee"] < np.inf else np.inf
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
