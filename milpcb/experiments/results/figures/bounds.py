"""Guarantees over L: the closed form of every relaxation, and the estimate of Rel(empty) with its 95 % band."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from milpcb.core.surroundings import plain
from milpcb.experiments.results.figures.drawing import (
    GREY,
    curve_grid,
    finish,
    label_outside,
    legend,
    name_panel,
    scale_axis,
)
from milpcb.experiments.results.figures.looks import COLOURS, MARKERS
from milpcb.experiments.study.bounds import Bound


@plain()
def bounds_figure(bounds: list[Bound], title: str) -> Figure:
    """Return a panel per setting and horizon, a colour per relaxation, both axes logarithmic."""
    panels: dict[str, list[Bound]] = {}
    for found in bounds:
        panels.setdefault(f"{found.setting.name}, T = {found.setting.horizon:,}", []).append(found)
    noises = list(dict.fromkeys(found.noise for found in bounds))
    figure, every = curve_grid(len(panels), title)
    for axes, (name, shown) in zip(every, panels.items(), strict=True):
        for found in shown:
            _draw(axes, found, noises.index(found.noise))
        scale_axis(axes.xaxis, np.concatenate([found.value.scales for found in shown]), log=True)
        scale_axis(axes.yaxis, np.concatenate([found.value.mean for found in shown]), log=True)
        name_panel(axes, name)
    label_outside(figure, every, "L", "bound on the regret of T rounds")
    legend(figure, _entries(noises), below=len(panels) > 1)
    return finish(figure)


def _draw(axes: Any, found: Bound, place: int) -> None:
    value, colour = found.value, COLOURS[place % len(COLOURS)]
    low, high = value.mean - value.half_width, value.mean + value.half_width
    axes.fill_between(value.scales, low, high, where=low > 0, color=colour, alpha=0.2, linewidth=0)
    axes.plot(value.scales, value.mean, color=colour)
    axes.plot(value.scales, value.closed_form, color=colour, linestyle=(0, (1.5, 1.2)))
    marker = {"marker": MARKERS[place % len(MARKERS)], "color": colour, "markersize": 6}
    axes.plot(value.best.scale, value.best.mean, **marker)
    axes.plot(found.closed_scale, found.closed_form, **marker, markerfacecolor="white")


def _entries(noises: list[str]) -> list[tuple[Any, str]]:
    lines = [
        (Line2D([], [], color=COLOURS[i % len(COLOURS)], marker=MARKERS[i % len(MARKERS)]), noise)
        for i, noise in enumerate(noises)
    ]
    estimate, closed = Line2D([], [], color=GREY), Line2D([], [], color=GREY, linestyle=(0, (1.5, 1.2)))
    return [*lines, (estimate, "Rel(empty), 95 % band"), (closed, "closed form")]
