"""Mean cost per round so far: what a learner pays, the best policy in hindsight, and uniform play, on one scale.

Where costs are 0 or 1, as in classification, the mean cost is the error rate.
"""

from __future__ import annotations

from typing import Any

import polars as pl
from matplotlib.lines import Line2D

from milpcb.core.decimals import THIN, number
from milpcb.experiments.results.columns import turns_in, turns_number
from milpcb.experiments.results.figures.drawing import (
    Drawing,
    curve_grid,
    finish,
    label_outside,
    legend,
    line_handle,
    name_panel,
    scale_axis,
    shade,
)
from milpcb.experiments.results.figures.results import Panel, Results, curve, spread
from milpcb.experiments.results.figures.words import FEW_PANELS, at_their_longest, band, count, legible, sentences
from milpcb.types import Floats

FIRST = 50  # the first T / FIRST rounds are left out: means of few costs jump, and would stretch the axis
BEST: dict[str, Any] = {"color": "0.55", "linewidth": 3.0}
TURNS: dict[str, Any] = {"color": "0.55", "linewidth": 2.0, "linestyle": (0, (2, 1))}
BEST_NAME = "best policy in hindsight"
MEANING = (
    "Mean of the costs of rounds 1 to t: the error rate, where costs are 0 or 1. The thick grey line is the policy "
    f"that is best in hindsight after as many rounds. The first {100 / FIRST:g}{THIN}% of the rounds are left out."
)


def costs(results: Results) -> list[Drawing]:
    """Draw the mean cost of rounds 1 to t against t, a curve per learner, and that of the best policy in hindsight."""
    panels = results.longest_panels
    figure, every = curve_grid(len(panels), f"{results.title} ({count(results.seeds, 'seed')})", results.width)
    for axes, panel in zip(every, panels, strict=True):
        _draw_panel(axes, panel, results)
        name_panel(axes, panel.name)
    label_outside(figure, every, "round", "mean cost per round so far")
    legend(figure, _entries(results, panels), below=len(panels) > 1)
    caption = sentences(MEANING, band(results), at_their_longest(results))
    return [Drawing("costs", "Mean cost per round", finish(figure), _finding(panels), caption)]


def mean_costs(panel: Panel, learner: str) -> tuple[Floats, Floats]:
    """Return rounds (n,) and mean cost of rounds 1 to t (seeds, n) of a learner; the first rounds are left out."""
    return _steady(*curve(panel.frame, learner, "cumulative_cost"))


def best_mean_costs(panel: Panel) -> tuple[Floats, Floats]:
    """Return rounds (n,) and mean cost (seeds, n) of the policy best in hindsight after each of these rounds."""
    return _least(panel, pl.col("best_cost"))


def in_turn_mean_costs(panel: Panel) -> tuple[Floats, Floats] | None:
    """Return the same of the best policies in turn; None where these are not asked for."""
    column = turns_in(panel.frame.columns)
    return None if column is None else _least(panel, pl.col("cumulative_cost") - pl.col(column))


def _least(panel: Panel, total: pl.Expr) -> tuple[Floats, Floats]:
    frame = panel.frame.filter(pl.col("horizon") == pl.col("horizon").max())
    every = frame.group_by("seed", "round").agg(least=total.first()).with_columns(learner=pl.lit(""))
    return _steady(*curve(every, "", "least"))


def _steady(rounds: Floats, totals: Floats) -> tuple[Floats, Floats]:
    kept = rounds >= rounds[-1] / FIRST
    return rounds[kept], totals[:, kept] / rounds[kept]


def _draw_panel(axes: Any, panel: Panel, results: Results) -> None:
    for i, learner in enumerate(panel.learners):
        rounds, values = mean_costs(panel, learner)
        look = results.looks[learner]
        places = (0.15 * i / len(panel.learners), 0.15)  # in shares of the axes: markers of two curves do not coincide
        axes.plot(rounds, values.mean(axis=0), **look.line(), linewidth=1.4, markevery=places)
        if len(values) > 1:
            shade(axes, rounds, *spread(values), look.colour)
    rounds, values = best_mean_costs(panel)
    marker = "_" if len(rounds) == 1 else ""
    axes.plot(rounds, values.mean(axis=0), **BEST, marker=marker, markersize=14, zorder=1.5)
    if turns := in_turn_mean_costs(panel):
        axes.plot(turns[0], turns[1].mean(axis=0), **TURNS, zorder=1.6)
    axes.set_xlim(left=0)
    axes.set_ylim(bottom=min(0.0, axes.get_ylim()[0]))
    scale_axis(axes.xaxis, axes.dataLim.intervalx, log=False)
    scale_axis(axes.yaxis, axes.dataLim.intervaly, log=False)


def _entries(results: Results, panels: list[Panel]) -> list[tuple[Any, str]]:
    """Return the legend: of one panel with the mean costs over all rounds, the largest first."""
    best: tuple[Any, str] = (Line2D([], [], **BEST), BEST_NAME)
    column = turns_in(results.frame.columns)
    turns = [(Line2D([], [], **TURNS), f"best {turns_number(column)} in turn")] if column else []
    if len(panels) > 1:
        return [*((line_handle(look), name) for name, look in results.looks.items()), best, *turns]
    final = _finals(panels[0])
    names = sorted(results.looks, key=lambda name: -final[name])
    learners = [(line_handle(results.looks[name]), f"{name}\nmean cost {number(final[name])}") for name in names]
    return [*learners, (best[0], f"{BEST_NAME}\nmean cost {number(final[BEST_NAME])}"), *turns]


def _finals(panel: Panel) -> dict[str, float]:
    found = {learner: float(mean_costs(panel, learner)[1][:, -1].mean()) for learner in panel.learners}
    return {**found, BEST_NAME: float(best_mean_costs(panel)[1][:, -1].mean())}


def _finding(panels: list[Panel]) -> str:
    """Return in words what has been paid over all rounds, panel by panel where they are few."""
    found = []
    for panel in panels[:FEW_PANELS]:
        final = _finals(panel)
        least = min(panel.learners, key=lambda learner: final[learner])
        where = f"in {legible(panel.name)} " if len(panels) > 1 else ""
        paid = f"{legible(least)} has paid {number(final[least])} a round"
        found.append(f"{where}{paid}, the best policy in hindsight {number(final[BEST_NAME])}")
    others = f"; and so on in {len(panels)} panels" if len(panels) > FEW_PANELS else ""
    return f"Least mean cost over all rounds: {'; '.join(found)}{others}."
