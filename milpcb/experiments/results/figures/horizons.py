"""Final regret against the horizon T: one fitted power of T per learner, beside the slopes of the theorems."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from matplotlib.lines import Line2D

from milpcb.experiments.results.figures.drawing import (
    GREY,
    LEAST,
    SMALL,
    Drawing,
    apart,
    curve_grid,
    finish,
    label_outside,
    legend,
    line_handle,
    name_panel,
    scale_axis,
    tick_at,
)
from milpcb.experiments.results.figures.looks import Look
from milpcb.experiments.results.figures.results import Panel, Results, regrets
from milpcb.experiments.results.figures.words import count, sentences
from milpcb.experiments.results.slopes import Slope, fit_slope

REFERENCES = {"1/2": 1 / 2, "2/3": 2 / 3, "3/4": 3 / 4}
GUIDE: dict[str, Any] = {"color": "0.6", "linewidth": 0.9}


def horizons(results: Results) -> list[Drawing]:
    """Draw regret against T with the fitted slopes; nothing for a study of one horizon."""
    if len(results.horizons) < 2:
        return []
    panels = results.panels(results.finals)
    figure, every = curve_grid(len(panels), results.title)
    for axes, panel in zip(every, panels, strict=True):
        _draw_panel(axes, panel, results)
        _draw_guides(axes, panel, named=len(panels) == 1)
    label_outside(figure, every, "horizon T", "regret after T rounds")
    texts = {name: slope_text(slope) for name, slope in fits(panels[0]).items()} if len(panels) == 1 else {}
    entries = [
        (line_handle(results.looks[name]), f"{name}\n{texts[name]}" if texts else name) for name in results.looks
    ]
    entries.append((Line2D([], [], **GUIDE), f"slopes {', '.join(REFERENCES)}"))
    legend(figure, entries, below=len(panels) > 1)
    alt = (
        "Regret after T rounds against T on logarithmic axes, a fitted line per learner, "
        f"{count(len(panels), 'panel')}."
    )
    return [Drawing("horizons", "Regret against the horizon", finish(figure), alt, _caption(panels))]


def fits(panel: Panel) -> dict[str, Slope]:
    """Return the fitted slope of every learner of a panel of final rows."""
    return {learner: fit_slope(_runs(panel.frame, learner)) for learner in panel.learners}


def slope_text(slope: Slope) -> str:
    """Return a slope and its interval for a legend."""
    if not slope.fitted:
        return "no slope"
    interval = f" ({slope.low:.2f} to {slope.high:.2f})" if np.isfinite(slope.low) else ""
    return f"slope {slope.slope:.2f}{interval}"


def draw_fit(axes: Any, panel: Panel, learner: str, slope: Slope, look: Look) -> None:
    """Draw the mean regret at each horizon, and the fitted line through it."""
    runs = _runs(panel.frame, learner)
    means = {horizon: float(np.mean(values)) for horizon, values in runs.items()}
    shown = {horizon: mean for horizon, mean in means.items() if mean >= LEAST}
    axes.plot(list(shown), list(shown.values()), linestyle="", **look.points())
    if slope.fitted:
        ends = np.array([min(runs), max(runs)], float)
        axes.plot(ends, slope.at(ends), color=look.colour, linewidth=0.9)


def _draw_panel(axes: Any, panel: Panel, results: Results) -> None:
    for learner, slope in fits(panel).items():
        look = results.looks[learner]
        points = panel.frame.filter((pl.col("learner") == learner) & (pl.col("regret") >= LEAST))
        axes.plot(points["horizon"], points["regret"], look.marker, color=look.colour, markersize=3, alpha=0.35)
        draw_fit(axes, panel, learner, slope, look)
    scale_axis(axes.xaxis, axes.dataLim.intervalx, log=True)
    tick_at(axes.xaxis, np.array(results.horizons, float))
    scale_axis(axes.yaxis, axes.dataLim.intervaly, log=True)
    name_panel(axes, panel.name)


def _draw_guides(axes: Any, panel: Panel, *, named: bool) -> None:
    """Draw thin grey lines of known slopes through the data: from the median of the learners at the least horizon.

    Only their directions mean something. ``named`` writes their slopes beside the right ends, outside the axes.
    """
    ends = np.array(sorted(panel.frame["horizon"].unique())[:: panel.frame["horizon"].n_unique() - 1 or 1], float)
    starts = panel.frame.filter(pl.col("horizon") == int(ends[0])).group_by("learner").agg(pl.col("regret").mean())
    means = starts["regret"].to_numpy()
    if len(ends) < 2 or not (means >= LEAST).any():
        return
    middle = float(np.median(means[means >= LEAST]))
    low, high = axes.get_ylim()
    tops = [middle * (ends[1] / ends[0]) ** power for power in REFERENCES.values()]
    for top in tops:
        axes.plot(ends, [middle, top], zorder=0.5, **GUIDE)
    axes.set_ylim(low, max(high, 1.1 * max(tops)))
    if named:
        low, high = np.log(axes.get_ylim())
        heights = apart([float((np.log(top) - low) / (high - low)) for top in tops], 0.045)
        for name, height in zip(REFERENCES, heights, strict=True):
            place = {"xytext": (4, 0), "textcoords": "offset points", "va": "center", "annotation_clip": False}
            axes.annotate(name, (1.0, height), xycoords="axes fraction", fontsize=SMALL, color=GREY, **place)


def _runs(frame: pl.DataFrame, learner: str) -> dict[int, Any]:
    own = frame.filter(pl.col("learner") == learner)
    return {
        horizon: regrets(own.filter(pl.col("horizon") == horizon), learner)
        for horizon in own["horizon"].unique().sort()
    }


def _caption(panels: list[Panel]) -> str:
    fitted = [(name, panel, slope) for panel in panels for name, slope in fits(panel).items() if slope.fitted]
    missing = sum(len(panel.learners) for panel in panels) - len(fitted)
    words = []
    if fitted:
        name, panel, slope = min(fitted, key=lambda fit: fit[2].slope)
        where = f" in {panel.name}" if len(panels) > 1 else ""
        words = [
            (
                f"The least slope is that of {name}{where}: "
                f"regret grows like T to the {slope_text(slope).removeprefix('slope ')}."
            )
        ]
    if missing:
        words.append(f"{missing} of {len(fitted) + missing} curves have no slope; the table gives the reasons.")
    method = (
        "Least squares of log regret on log T over all seeds and horizons; in brackets the 95 % interval. "
        "Grey lines have the slopes 1/2, 2/3 and 3/4, from the middle one of the learners on; "
        "only directions mean something."
    )
    return sentences(*words, method)
