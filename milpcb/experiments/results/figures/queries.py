"""Queries and rule changes of each learner, where a rule is in force: a point each, on a logarithmic scale."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from matplotlib.lines import Line2D

from milpcb.core.decimals import number
from milpcb.experiments.results.figures.drawing import (
    GREY,
    Drawing,
    finish,
    label_outside,
    legend,
    name_panel,
    row_grid,
    scale_axis,
)
from milpcb.experiments.results.figures.looks import Look
from milpcb.experiments.results.figures.results import Results, longest
from milpcb.experiments.results.figures.words import legible, sentences


def queries(results: Results) -> list[Drawing]:
    """Draw the queries and the rule changes of whole runs, means over seeds; only where a rule is in force."""
    panels = [(panel, in_all(panel.frame)) for panel in results.panels(longest(results.finals))]
    every = pl.concat([frame for _, frame in panels])
    ruled = every.filter(pl.col("changes").is_finite())
    if ruled.is_empty():
        return []
    order = every.group_by("learner").agg(pl.col("queries").mean()).sort("queries", "learner")["learner"].to_list()
    shown = np.concatenate([every["queries"].to_numpy(), ruled["changes"].to_numpy()])
    figure, grid = row_grid(order, len(panels), results.title, results.width)
    for axes, (panel, frame) in zip(grid, panels, strict=True):
        for row in frame.iter_rows(named=True):
            _draw_row(axes, order.index(row["learner"]), row, results.looks[row["learner"]])
        axes.set_xlim(0.8 * max(1.0, shown[shown > 0].min(initial=np.inf)), 1.25 * max(1.0, shown.max()))
        scale_axis(axes.xaxis, shown[shown > 0], log=True)
        name_panel(axes, panel.name)
    label_outside(figure, grid, "number in all rounds", "")
    marks: dict[str, Any] = {"linestyle": "", "marker": "o", "color": GREY}
    entries = [(Line2D([], [], **marks), "queries"), (Line2D([], [], fillstyle="none", **marks), "rule changes")]
    legend(figure, entries, below=True)
    ends = _ends(ruled)
    return [Drawing("queries", "Queries and rule changes", finish(figure), ends, sentences(ends, "Means over seeds."))]


def in_all(frame: pl.DataFrame) -> pl.DataFrame:
    """Return learner, queries, changes: means over the seeds of a panel's last rows; changes are NaN without a rule."""
    columns = [pl.col("oracle_calls").mean().alias("queries"), pl.col("rule_changes").mean().alias("changes")]
    return frame.group_by("learner", maintain_order=True).agg(columns)


def _draw_row(axes: Any, place: int, row: dict[str, Any], look: Look) -> None:
    for count, style in ((row["queries"], "full"), (row["changes"], "none")):
        if count > 0:
            axes.plot(count, place, marker="o", color=look.colour, fillstyle=style)


def _ends(ruled: pl.DataFrame) -> str:
    """Return a sentence on the learner whose rule changes least often."""
    row = ruled.sort("changes").row(0, named=True)
    name = legible(row["learner"])
    return f"The rule of {name} changes {number(row['changes'])} times, with {number(row['queries'])} queries."
