"""Time per round, a bar per learner: what the oracle took, and the rest."""

from __future__ import annotations

from typing import Any

import polars as pl
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from milpcb.core.decimals import number
from milpcb.experiments.results.figures.drawing import (
    GREY,
    SMALL,
    Drawing,
    finish,
    label_outside,
    legend,
    name_panel,
    row_grid,
    scale_axis,
)
from milpcb.experiments.results.figures.looks import Look
from milpcb.experiments.results.figures.results import Panel, Results, longest
from milpcb.experiments.results.figures.words import legible, percent, sentences

REST = 0.35  # opacity of what the oracle did not take
BAR = 0.62  # of a row
SPREAD = "0.2"


def times(results: Results) -> list[Drawing]:
    """Draw the microseconds per round by learner, the fastest at the top, on one linear scale for all panels."""
    panels = [(panel, per_round(panel.frame)) for panel in results.panels(longest(results.finals))]
    every = pl.concat([frame for _, frame in panels])
    order = every.group_by("learner").agg(pl.col("whole").mean()).sort("whole", "learner")["learner"].to_list()
    figure, grid = row_grid(order, len(panels), results.title, results.width)
    for axes, (panel, frame) in zip(grid, panels, strict=True):
        _draw_panel(axes, frame, results, order)
        axes.set_xlim(0, 1.03 * every["high"].to_numpy().max())
        scale_axis(axes.xaxis, every["whole"].to_numpy(), log=False)
        name_panel(axes, panel.name)
    label_outside(figure, grid, "microseconds per round", "")
    legend(
        figure,
        [
            (Patch(facecolor=GREY), "in the oracle"),
            (Patch(facecolor=GREY, alpha=REST), "the rest"),
            *([(Line2D([], [], color=SPREAD), "from the fastest seed to the slowest")] if results.seeds > 1 else []),
        ],
        below=True,
    )
    ends = _ends(panels)
    caption = sentences(ends, "Means over the seeds; the time of the environment is not counted.")
    return [Drawing("times", "Time per round", finish(figure), ends, caption)]


def per_round(frame: pl.DataFrame) -> pl.DataFrame:
    """Return learner, whole, oracle, low, high: microseconds per round, fastest first.

    The first two are means over the seeds, the others the times of the fastest and of the slowest of them.
    """
    scale = 1e6 / pl.col("round")
    columns = [
        (pl.col("seconds") * scale).mean().alias("whole"),
        (pl.col("oracle_seconds") * scale).mean().alias("oracle"),
        (pl.col("seconds") * scale).min().alias("low"),
        (pl.col("seconds") * scale).max().alias("high"),
    ]
    return frame.group_by("learner", maintain_order=True).agg(columns).sort("whole")


def _draw_panel(axes: Any, frame: pl.DataFrame, results: Results, order: list[str]) -> None:
    for row in frame.iter_rows(named=True):
        place, look = order.index(row["learner"]), results.looks[row["learner"]]
        _draw_bar(axes, place, row, look)
        style: dict[str, Any] = {"textcoords": "offset points", "va": "center", "fontsize": SMALL}
        axes.annotate(number(row["whole"]), (1.0, place), (6, 0), xycoords=("axes fraction", "data"), **style)


def _draw_bar(axes: Any, place: int, row: dict[str, Any], look: Look) -> None:
    rest = row["whole"] - row["oracle"]
    axes.barh(place, row["oracle"], BAR, color=look.colour, zorder=2)
    axes.barh(place, rest, BAR, left=row["oracle"], color=look.colour, alpha=REST, zorder=2)
    axes.barh(place, row["whole"], BAR, fill=False, edgecolor=look.colour, linewidth=1, zorder=3)
    if row["high"] > row["low"]:
        axes.plot([row["low"], row["high"]], [place, place], color=SPREAD, linewidth=1.4, zorder=4)


def _ends(panels: list[tuple[Panel, pl.DataFrame]]) -> str:
    """Return sentences on the slowest and the fastest."""
    every = pl.concat([frame for _, frame in panels])
    slow, fast = every.sort("whole").row(-1, named=True), every.sort("whole").row(0, named=True)
    share = f", {percent(slow['oracle'] / slow['whole'])} of it in the oracle" if slow["oracle"] > 0 else ""
    most = f"The slowest is {legible(slow['learner'])}: {number(slow['whole'])} \u00b5s per round{share}."
    least = f"The fastest is {legible(fast['learner'])}: {number(fast['whole'])} \u00b5s." if len(every) > 1 else ""
    return sentences(most, least)
