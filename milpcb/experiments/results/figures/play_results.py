"""The picture of what ``milpcb.play`` returns: regret as in a study, or certificates alone where regret is unknown."""

from __future__ import annotations

from collections.abc import Mapping

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
from milpcb.experiments.results.figures.looks import looks
from milpcb.experiments.results.figures.regret import regret_figure
from milpcb.experiments.results.figures.results import curve
from milpcb.experiments.results.figures.words import count


@plain()
def draw_plays(frame: pl.DataFrame, names: Mapping[str, str], *, live: bool, suffix: str) -> bytes:
    """Return a picture, "png" or "svg", of the frame of plays (see milpcb.experiments.run.play_results).

    ``names`` are the registered names of the learners, by their labels: they decide the colours, as in a study.
    """
    return render(_certificates(frame, names) if live else _regrets(frame, names), [suffix])[suffix]


def _regrets(frame: pl.DataFrame, names: Mapping[str, str]) -> Figure:
    alike = {name: pl.lit("") for name in ("environment", "policies", "oracle")}
    return regret_figure(frame.with_columns(horizon=pl.col("round").max(), **alike), "Regret", names)


def _certificates(frame: pl.DataFrame, names: Mapping[str, str]) -> Figure:
    """Draw mean certificates, with two standard errors."""
    learners = frame["learner"].unique(maintain_order=True).to_list()
    look = looks(learners, names)
    figure, (axes,) = curve_grid(1, f"Certificates ({count(frame['seed'].n_unique(), 'seed')})")
    for learner in learners:
        rounds, values = curve(frame, learner, "certificate")
        errors = curve(frame, learner, "certificate_error")[1]
        mean, doubt = values.mean(axis=0), 2 * np.sqrt((errors**2).sum(axis=0)) / len(values)
        axes.plot(rounds, mean, **look[learner].line(), linewidth=1.4, markevery=(0, 0.15))
        axes.fill_between(rounds, mean - doubt, mean + doubt, color=look[learner].colour, alpha=0.15, linewidth=0)
    for axis, interval in ((axes.xaxis, axes.dataLim.intervalx), (axes.yaxis, axes.dataLim.intervaly)):
        scale_axis(axis, interval, log=False)
    axes.set_xlim(left=0)
    label_outside(figure, [axes], "round", "certificate: on average, regret is at most this")
    legend(figure, [(line_handle(look[learner]), learner) for learner in learners], below=False)
    return finish(figure)
