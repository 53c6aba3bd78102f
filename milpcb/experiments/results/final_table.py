"""The table that a run prints when it ends: that of its report, without colours and folded columns."""

from __future__ import annotations

from rich.box import SIMPLE_HEAD
from rich.table import Table

from milpcb.experiments.results.figures.results import Results
from milpcb.experiments.results.report_table import FREE, report_table

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
