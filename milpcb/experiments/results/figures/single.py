"""Figures of one thing: a policy, the power of a trial."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
from matplotlib.figure import Figure

from milpcb.core.decimals import percent, spaced
from milpcb.core.surroundings import plain
from milpcb.experiments.results.figures.drawing import GREY, SMALL, finish, render, scale_axis, shade
from milpcb.experiments.results.figures.looks import COLOURS
from milpcb.experiments.results.figures.plots import Plot, drawn
from milpcb.experiments.results.figures.results import Panel, Results
from milpcb.types import Floats

WIDTH, HEIGHT = 7.0, 4.0  # inches, at least
LETTER, LINE, MARGIN = 0.085, 0.2, 1.2  # inches of rules that are drawn as text


@plain()
def draw_policy(policy: Any, leaves: Sequence[Any] | None = None) -> dict[str, bytes]:
    """Return the pictures of a policy: its own figure, with facts of ``policy.leaves(...)``, or a card of its rules."""
    if hasattr(policy, "figure"):
        return render(finish(policy.figure(leaves)))
    if hasattr(policy, "draw"):
        figure = Figure(figsize=(WIDTH, HEIGHT), layout="constrained")
        policy.draw(figure.add_subplot())
    else:
        lines = str(policy).split("\n")
        size = max(WIDTH, LETTER * max(map(len, lines)) + MARGIN), max(HEIGHT, LINE * len(lines) + MARGIN)
        figure = Figure(figsize=size, layout="constrained")
        axes = figure.add_subplot()
        axes.set_axis_off()
        box = {"facecolor": "0.97", "edgecolor": "0.3", "boxstyle": "round,pad=0.8"}
        axes.text(0.5, 0.5, str(policy), bbox=box, ha="center", va="center", family="monospace", fontsize=10)
    return render(finish(figure))


@plain()
def power_figure(rows: Floats, power: float) -> Figure:
    """Return the share of simulated trials that could end by a row, with its pointwise 95 % band.

    ``rows`` (trials,) are those after which each could end, in order, inf where a trial never ended.
    """
    ended = rows[np.isfinite(rows)]
    share = np.arange(1, len(ended) + 1) / len(rows)
    reach = 1.96 * np.sqrt(share * (1 - share) / len(rows))

    def draw(axes: Any, _: Panel) -> None:
        shade(axes, ended, np.maximum(share - reach, 0.0), np.minimum(share + reach, 1.0), COLOURS[0])
        axes.step(ended, share, where="post", color=COLOURS[0])
        axes.axhline(power, color=GREY, linewidth=1, linestyle="--")
        if share[-1] >= power:
            needed = float(ended[int(np.searchsorted(share, power - 1e-9))])
            axes.axvline(needed, color=COLOURS[1], linewidth=1.2)
            beside = {"xytext": (4, 0), "textcoords": "offset points", "color": COLOURS[1], "fontsize": SMALL}
            axes.annotate(f"{spaced(needed, '.0f')} rows", (needed, 0.02), **beside)
        axes.set_ylim(0, 1)
        axes.yaxis.set_major_formatter(lambda value, _: percent(value, 0))
        scale_axis(axes.xaxis, ended, log=False)

    without_curves = Results(pl.DataFrame(), "Rows of a trial, and how likely it is to have ended")
    return drawn(
        Plot(without_curves, [Panel("", pl.DataFrame())], draw, "rows", "share of trials that could end")
    ).figure
