"""The table that a run prints when it ends: that of its report, without colours and folded columns."""

from __future__ import annotations

from rich.box import SIMPLE_HEAD
from rich.table import Table

from milpcb.experiments.results.figures.results import Results
from milpcb.experiments.results.report_table import FREE, report_table

LEFT_OUT = ("share", "oracle_time")  # of the report's columns; the others fit a wide terminal


def summary_table(results: Results) -> Table:
    """Return the table of the last rounds: means over seeds, least regret first, numbers as on the report's page."""
    report = report_table(results)
    shown = [i for i, column in enumerate(report["columns"]) if column.key not in LEFT_OUT]
    table = Table(box=SIMPLE_HEAD)
    for i in shown:
        column = report["columns"][i]
        table.add_column(column.heading, no_wrap=True, justify="right" if column.numeric else "left")
    for row in report["rows"]:
        table.add_row(*(row[i].text for i in shown))
    if any(FREE in row[0].text for row in report["rows"]):
        table.caption = f"{FREE} need not keep the side constraints"
    return table
