"""The picture of what ``milpcb.play`` returns: regret as in a study, or certificates alone where regret is unknown."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl
from matplotlib.figure import Figure

from milpcb.core.surroundings import plain
from milpcb.experiments.results.figures.drawing import (
    curve_grid,
    finish,
    label_outside,
    legend,
    line_handle,
    render,
    scale_axis,
)
from milpcb.experiments.results.figures.looks import Look, looks
from milpcb.experiments.results.figures.regret import draw_regret, regret_figure
from milpcb.experiments.results.figures.results import curve
from milpcb.experiments.results.figures.words import count


@plain()
def draw_plays(frame: pl.DataFrame, names: Mapping[str, str], *, live: bool, suffix: str) -> bytes:
    """Return a picture, "png" or "svg", of the frame of plays (see milpcb.experiments.run.play_results).

    ``names`` are the registered names of the learners, by their labels: they decide the colours, as in a study.
    """
    return render(_certificates(frame, names) if live else _regrets(frame, names), [suffix])[suffix]


def draw_plays_on(axes: Any, frame: pl.DataFrame, names: Mapping[str, str], *, live: bool) -> None:
    """Draw regret by round, in live play certificates, on somebody's axes, with labels and a legend."""
    if live:
        look = _draw_certificates(axes, frame, names)
        axes.set(xlabel="round", ylabel="certificate")
        axes.legend([line_handle(each) for each in look.values()], list(look), frameon=False)
    else:
        draw_regret(axes, _one_world(frame), names)


def _regrets(frame: pl.DataFrame, names: Mapping[str, str]) -> Figure:
    return regret_figure(_one_world(frame), "Regret", names)


def _one_world(frame: pl.DataFrame) -> pl.DataFrame:
    alike = {name: pl.lit("") for name in ("environment", "policies", "oracle")}
    return frame.with_columns(horizon=pl.col("round").max(), **alike)


def _certificates(frame: pl.DataFrame, names: Mapping[str, str]) -> Figure:
    figure, (axes,) = curve_grid(1, f"Certificates ({count(frame['seed'].n_unique(), 'seed')})")
    look = _draw_certificates(axes, frame, names)
    label_outside(figure, [axes], "round", "certificate: on average, regret is at most this")
    legend(figure, [(line_handle(each), learner) for learner, each in look.items()], below=False)
    return finish(figure)


def _draw_certificates(axes: Any, frame: pl.DataFrame, names: Mapping[str, str]) -> dict[str, Look]:
    """Draw mean certificates, with two standard errors; return the look of each learner."""
    look = looks(frame["learner"].unique(maintain_order=True).to_list(), names)
    for learner in look:
        rounds, values = curve(frame, learner, "certificate")
        errors = curve(frame, learner, "certificate_error")[1]
        mean, doubt = values.mean(axis=0), 2 * np.sqrt((errors**2).sum(axis=0)) / len(values)
        axes.plot(rounds, mean, **look[learner].line(), linewidth=1.4, markevery=(0, 0.15))
        axes.fill_between(rounds, mean - doubt, mean + doubt, color=look[learner].colour, alpha=0.15, linewidth=0)
    for axis, interval in ((axes.xaxis, axes.dataLim.intervalx), (axes.yaxis, axes.dataLim.intervaly)):
        scale_axis(axis, interval, log=False)
    axes.set_xlim(left=0)
    return look
