"""Time per round, a row per learner: the whole, and what of it the oracle took."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from matplotlib.lines import Line2D

from milpcb.experiments.results.figures.drawing import (
    GREY,
    Drawing,
    finish,
    label_outside,
    legend,
    name_panel,
    row_grid,
    scale_axis,
    wants_log,
)
from milpcb.experiments.results.figures.results import Panel, Results, longest
from milpcb.experiments.results.figures.words import count, number, percent, sentences
from milpcb.types import Floats


def times(results: Results) -> list[Drawing]:
    """Draw the microseconds per round by learner, the fastest at the top."""
    panels = [(panel, per_round(panel.frame)) for panel in results.panels(longest(results.finals))]
    mean = pl.concat([frame for _, frame in panels]).group_by("learner").agg(pl.col("whole").mean()).sort("whole")
    order = mean["learner"].to_list()
    figure, every = row_grid(order, len(panels), results.title)
    shown = _all_times([frame for _, frame in panels])
    for axes, (panel, frame) in zip(every, panels, strict=True):
        _draw_panel(axes, frame, results, order)
        _scale(axes, shown)
        name_panel(axes, panel.name)
    label_outside(figure, every, "microseconds per round", "")
    legend(figure, _entries(), below=True)
    alt = (
        f"Microseconds per round of {count(len(order), 'learner')} in {count(len(panels), 'panel')}, "
        "whole and in the oracle."
    )
    return [Drawing("times", "Time per round", finish(figure), alt, _caption(panels))]


def per_round(frame: pl.DataFrame) -> pl.DataFrame:
    """Return learner, whole, oracle: mean microseconds per round over the seeds, fastest first."""
    scale = 1e6 / pl.col("round")
    columns = [
        (pl.col("seconds") * scale).mean().alias("whole"),
        (pl.col("oracle_seconds") * scale).mean().alias("oracle"),
    ]
    return frame.group_by("learner", maintain_order=True).agg(columns).sort("whole")


def _draw_panel(axes: Any, frame: pl.DataFrame, results: Results, order: list[str]) -> None:
    for row in frame.iter_rows(named=True):
        place, look = order.index(row["learner"]), results.looks[row["learner"]]
        if row["oracle"] > 0:
            axes.plot([row["oracle"], row["whole"]], [place, place], color=look.colour, linewidth=0.8, alpha=0.5)
            axes.plot(row["oracle"], place, "o", color=look.colour, markersize=6, markerfacecolor="white")
        axes.plot(row["whole"], place, **look.points())


def _all_times(frames: list[pl.DataFrame]) -> Floats:
    every = pl.concat(frames)
    oracle = every["oracle"].to_numpy()
    return np.concatenate([every["whole"].to_numpy(), oracle[oracle > 0]])


def _scale(axes: Any, shown: Floats) -> None:
    """Give all panels the same axis: times of two environments or oracles can be compared."""
    log = wants_log(shown)
    axes.set_xlim((0.7 * shown.min(), 1.4 * shown.max()) if log else (0, 1.06 * shown.max()))
    scale_axis(axes.xaxis, shown, log=log)


def _entries() -> list[tuple[Any, str]]:
    def mark(face: str) -> Line2D:
        return Line2D([], [], linestyle="", color=GREY, marker="o", markersize=6, markerfacecolor=face)

    return [(mark(GREY), "whole round"), (mark("white"), "of it in the oracle")]


def _caption(panels: list[tuple[Panel, pl.DataFrame]]) -> str:
    every = pl.concat([frame for _, frame in panels])
    slow, fast = every.sort("whole").row(-1, named=True), every.sort("whole").row(0, named=True)
    share = f", {percent(slow['oracle'] / slow['whole'])} of it in the oracle" if slow["oracle"] > 0 else ""
    most = f"The slowest is {slow['learner']}: {number(slow['whole'])} \u00b5s per round{share}."
    least = f"The fastest is {fast['learner']}: {number(fast['whole'])} \u00b5s." if len(every) > 1 else ""
    return sentences(most, least, "Means over the seeds; the time of the environment is not counted.")
