"""Final regret against the horizon T: local slopes of the means, and those of the guarantees."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl
from matplotlib.lines import Line2D

from milpcb.experiments.results.figures.drawing import (
    GREY,
    LEAST,
    Drawing,
    curve_grid,
    finish,
    label_outside,
    legend,
    line_handle,
    name_panel,
    scale_axis,
    tick_at,
)
from milpcb.experiments.results.figures.ends import can_be_named, name_lines
from milpcb.experiments.results.figures.results import WIDE, Panel, Results, guarantee, longest, regrets, spread
from milpcb.experiments.results.figures.words import band, legible, sentences
from milpcb.experiments.results.slopes import Slope, fit_slope
from milpcb.types import Floats

GUIDE: dict[str, Any] = {"color": "0.55", "linewidth": 0.9}
DOTS: dict[str, Any] = {"linewidth": 1.2, "linestyle": (0, (1, 2))}
HIGH = 4.0  # a guarantee so many times above all regrets is not drawn
SPOKEN = 8  # so many slopes are written into the alternative text


def horizons(results: Results) -> list[Drawing]:
    """Draw regret against T with local slopes; nothing for a study of one horizon."""
    if len(results.horizons) < 2:
        return []
    panels = results.panels(results.finals)
    figure, every = curve_grid(len(panels), results.title, results.width)
    for axes, panel in zip(every, panels, strict=True):
        _draw_panel(axes, panel, results)
    label_outside(figure, every, "horizon T", "regret after T rounds")
    texts = {name: slopes_text(panels[0], name) for name in results.looks} if len(panels) == 1 else {}
    marks: list[tuple[Any, str]] = [(Line2D([], [], **GUIDE), "slope of the guarantee")]
    marks.append((Line2D([], [], color=GREY, **DOTS), "guarantee"))
    if len(panels) == 1 and results.width >= WIDE and can_be_named(every[0], panels[0], texts):
        name_lines(every[0], Panel(panels[0].name, longest(panels[0].frame)), results.looks, texts)
        legend(figure, marks, below=True)
    else:
        named = [
            (line_handle(look), "\n".join([name, *texts.get(name, "").splitlines()]))
            for name, look in results.looks.items()
        ]
        legend(figure, [*named, *marks], below=len(panels) > 1)
    finding = _finding(panels)
    return [Drawing("horizons", "Regret against the horizon", finish(figure), finding, _caption(results))]


def fits(panel: Panel) -> dict[str, Slope]:
    """Return the fitted slope of every learner of a panel of final rows."""
    return {learner: fit_slope(_runs(panel.frame, learner)) for learner in panel.learners}


def local_slopes(panel: Panel, learner: str) -> list[float]:
    """Return the slopes of log mean regret between neighbouring horizons; NaN where a mean is not positive."""
    return _slopes({horizon: float(np.mean(values)) for horizon, values in _runs(panel.frame, learner).items()})


def theorem(panel: Panel, learner: str) -> float:
    """Return the exponent of T in a learner's guarantee, from the longest two horizons; NaN without a guarantee."""
    own = panel.frame.filter(pl.col("learner") == learner)
    found = {T: guarantee(own.filter(pl.col("horizon") == T), learner) for T in own["horizon"].unique().sort()}
    return (_slopes(found) or [np.nan])[-1]


def slopes_text(panel: Panel, learner: str) -> str:
    """Return the local slopes of a learner and the exponent of its guarantee, a line each."""
    found, promised = local_slopes(panel, learner), theorem(panel, learner)
    if not found:
        return ""
    written = ", ".join(f"{slope:.2f}" if np.isfinite(slope) else "none" for slope in found)
    theory = [f"guarantee {promised:.2f}"] if np.isfinite(promised) else []
    return "\n".join([f"slopes {written}", *theory])


def _slopes(means: dict[int, float]) -> list[float]:
    return [
        float(np.log(above / below) / np.log(later / sooner))
        if min(above, below) >= LEAST and np.isfinite(above + below)
        else np.nan
        for (sooner, below), (later, above) in pairwise(sorted(means.items()))
    ]


def _draw_panel(axes: Any, panel: Panel, results: Results) -> None:
    for learner in panel.learners:
        look, runs = results.looks[learner], _runs(panel.frame, learner)
        shown = {horizon: values for horizon, values in runs.items() if values.mean() >= LEAST}
        for horizon, values in shown.items():
            low, high = (float(end[0]) for end in spread(values[:, None]))
            axes.plot([horizon, horizon], [max(low, LEAST), high], color=look.colour, linewidth=1.4)
        means = [float(values.mean()) for values in shown.values()]
        axes.plot(list(shown), means, **look.line(), linewidth=1.2)
        _draw_guide(axes, list(shown), means, theorem(panel, learner))
    scale_axis(axes.xaxis, axes.dataLim.intervalx, log=True)
    tick_at(axes.xaxis, np.array(results.horizons, float))
    scale_axis(axes.yaxis, axes.dataLim.intervaly, log=True)
    _draw_guarantees(axes, panel, results)
    name_panel(axes, panel.name)


def _draw_guide(axes: Any, at: list[int], means: list[float], slope: float) -> None:
    if len(at) > 1 and np.isfinite(slope):
        ends = np.array([at[0], at[-1]], float)
        axes.plot(ends, means[-1] * (ends / ends[-1]) ** slope, zorder=0.5, **GUIDE)


def _draw_guarantees(axes: Any, panel: Panel, results: Results) -> None:
    """Draw guarantees dotted, where they are below T and near the regrets."""
    highest = HIGH * float(panel.frame["regret"].to_numpy().max())
    for learner in panel.learners:
        own = panel.frame.filter(pl.col("learner") == learner)
        own = own.group_by("horizon").agg(pl.col("guarantee").max()).sort("horizon")  # as guarantee does
        kept = own.filter((pl.col("guarantee") < pl.col("horizon")) & (pl.col("guarantee") <= highest))
        axes.plot(kept["horizon"], kept["guarantee"], color=results.looks[learner].colour, **DOTS)


def _runs(frame: pl.DataFrame, learner: str) -> dict[int, Floats]:
    own = frame.filter(pl.col("learner") == learner)
    return {
        horizon: regrets(own.filter(pl.col("horizon") == horizon), learner)
        for horizon in own["horizon"].unique().sort()
    }


def _finding(panels: list[Panel]) -> str:
    last = list(_last_slopes(panels))
    known = [(name, where, slope) for name, where, slope in last if np.isfinite(slope)]
    words = [f"{name}{where} {slope:.2f}" for name, where, slope in known[:SPOKEN]]
    missing = len(last) - len(known)
    lacking = f"{missing} of {len(last)} curves have no slope; the table gives the reasons." if missing else ""
    return sentences(f"Slopes between the longest two horizons: {', '.join(words)}." if words else "", lacking)


def _last_slopes(panels: list[Panel]) -> Iterator[tuple[str, str, float]]:
    for panel in panels:
        where = f" in {legible(panel.name)}" if len(panels) > 1 else ""
        for learner in panel.learners:
            yield legible(learner), where, (local_slopes(panel, learner) or [np.nan])[-1]


def _caption(results: Results) -> str:
    return sentences(
        _finding(results.panels(results.finals)),
        "On logarithmic axes regret of order T^p is a line of slope p; slopes are of means, between neighbouring T.",
        "A thin grey line through a learner's last point has the slope of its guarantee.",
        "Dotted are guarantees below T.",
        band(results),
    )
