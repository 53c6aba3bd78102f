"""The power of a trial against its rows: the share of simulated trials that could end by then."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from milpcb.core.surroundings import plain
from milpcb.experiments.results.figures.drawing import GREY, SMALL, curve_grid, finish, label_outside, scale_axis, shade
from milpcb.experiments.results.figures.looks import COLOURS
from milpcb.types import Floats


@plain()
def power_figure(rows: Floats, power: float) -> Figure:
    """Return a curve with its pointwise 95 % band; ``rows`` (trials,) in order, inf where a trial never ended."""
    figure, (axes,) = curve_grid(1, "Rows of a trial, and how likely it is to have ended")
    ended = rows[np.isfinite(rows)]
    share = np.arange(1, len(ended) + 1) / len(rows)
    reach = 1.96 * np.sqrt(share * (1 - share) / len(rows))
    shade(axes, ended, np.maximum(share - reach, 0.0), np.minimum(share + reach, 1.0), COLOURS[0])
    axes.step(ended, share, where="post", color=COLOURS[0])
    axes.axhline(power, color=GREY, linewidth=1, linestyle="--")
    if share[-1] >= power:
        needed = float(ended[int(np.searchsorted(share, power - 1e-9))])
        axes.axvline(needed, color=COLOURS[1], linewidth=1.2)
        axes.annotate(f"{needed:,.0f} rows", (needed, 0.02), xytext=(4, 0), textcoords="offset points",
                      color=COLOURS[1], fontsize=SMALL)  # fmt: skip
    axes.set_ylim(0, 1)
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
    scale_axis(axes.xaxis, ended, log=False)
    label_outside(figure, [axes], "rows", "share of trials that could end")
    return finish(figure)
