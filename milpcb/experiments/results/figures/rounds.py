"""Figures against rounds: regret, on linear or logarithmic axes, and mean costs; of the plays of ``milpcb.play``, too.

Where costs are 0 or 1, as in classification, the mean cost is the error rate.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import polars as pl
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from milpcb.core.decimals import THIN, number
from milpcb.core.surroundings import plain
from milpcb.experiments.results import confident_in, percent_of, turns_in, turns_number
from milpcb.experiments.results.figures.drawing import (
    GREY,
    LEAST,
    SHORT_NAME,
    Drawing,
    can_be_named,
    curve_grid,
    finish,
    label_outside,
    legend,
    line_handle,
    name_lines,
    name_panel,
    render,
    scale_axis,
    scale_linear,
    shade,
    with_text,
)
from milpcb.experiments.results.figures.results import (
    NARROW,
    WIDE,
    Panel,
    Results,
    against_what,
    curve,
    guarantee,
    longest,
    most_rounds,
    spread,
)
from milpcb.experiments.results.figures.words import (
    FEW_PANELS,
    at_their_longest,
    band,
    count,
    legible,
    sentences,
    verdict,
)
from milpcb.types import Floats

FEW = 3  # so many guarantees are drawn across a panel, more of them only at its right end
FAR = 1.3  # what is so many times above all regrets is not drawn on a linear axis, which it would flatten
FIRST = 50  # the first T / FIRST rounds of mean costs are left out: means of few costs jump, and stretch the axis
GUARANTEE: dict[str, Any] = {"linestyle": (0, (1, 2))}
BEST: dict[str, Any] = {"color": "0.55", "linewidth": 3.0}
TURNS: dict[str, Any] = {"color": "0.55", "linewidth": 2.0, "linestyle": (0, (2, 1))}
BEST_NAME = "best policy in hindsight"
MEAN_COST = (
    "Mean of the costs of rounds 1 to t: the error rate, where costs are 0 or 1. The thick grey line is the policy "
    f"that is best in hindsight after as many rounds. The first {100 / FIRST:g}{THIN}% of the rounds are left out."
)
CERTIFICATE = "certificate"
Values = Callable[[Panel, str], tuple[Floats, Floats]]  # rounds (n,) and values (seeds, n) of a learner


def regret(results: Results) -> list[Drawing]:
    """Draw the regret curves."""
    caption = sentences(band(results), at_their_longest(results), _not_drawn(results))
    alt = f"Curves of regret by rounds. {verdict(results)}"
    return [Drawing("regret", "Regret", regret_figure(results, loglog=False), alt, caption)]


def regret_loglog(results: Results) -> list[Drawing]:
    """Draw the regret curves on logarithmic axes; nothing without positive regret."""
    if float(longest(results.frame)["regret"].to_numpy().max()) < LEAST:
        return []
    words = "On logarithmic axes a regret of order t^p after t rounds is a line of slope p."
    caption = sentences(words, band(results), at_their_longest(results), f"Regret below {LEAST} is left out.")
    alt = f"Curves of regret by rounds on logarithmic axes. {verdict(results)}"
    heading = "Regret on logarithmic axes"
    return [Drawing("regret_loglog", heading, regret_figure(results, loglog=True), alt, caption)]


def costs(results: Results) -> list[Drawing]:
    """Draw the mean cost of rounds 1 to t against t, a curve per learner, and that of the best policy in hindsight."""
    panels = results.longest_panels
    figure, every = curve_grid(len(panels), _title(results), results.width)
    for axes, panel in zip(every, panels, strict=True):
        _draw_means(axes, panel, results, mean_costs)
        rounds, values = best_mean_costs(panel)
        marker = "_" if len(rounds) == 1 else ""
        axes.plot(rounds, values.mean(axis=0), **BEST, marker=marker, markersize=14, zorder=1.5)
        if turns := in_turn_mean_costs(panel):
            axes.plot(turns[0], turns[1].mean(axis=0), **TURNS, zorder=1.6)
        axes.set_xlim(left=0)
        axes.set_ylim(bottom=min(0.0, axes.get_ylim()[0]))
        scale_linear(axes)
        name_panel(axes, panel.name)
    label_outside(figure, every, "round", "mean cost per round so far")
    legend(figure, _cost_entries(results, panels), below=len(panels) > 1)
    caption = sentences(MEAN_COST, band(results), at_their_longest(results))
    return [Drawing("costs", "Mean cost per round", finish(figure), _least_paid(panels), caption)]


@plain()
def draw_plays(frame: pl.DataFrame, names: Mapping[str, str], *, live: bool, suffix: str) -> bytes:
    """Return a picture, "png" or "svg", of the plays of milpcb.play: regret, in live play certificates.

    ``names`` are the registered names of the learners, by their labels: they decide the colours, as in a study.
    """
    results = of_plays(frame, names)
    if not live:
        return render(regret_figure(results, loglog=False), [suffix])[suffix]
    figure, (axes,) = curve_grid(1, f"Certificates ({count(results.seeds, 'seed')})")
    _draw_certificates(axes, results)
    label_outside(figure, [axes], "round", "certificate: on average, regret is at most this")
    legend(figure, [(line_handle(each), learner) for learner, each in results.looks.items()], below=False)
    return render(finish(figure), [suffix])[suffix]


def draw_plays_on(axes: Any, frame: pl.DataFrame, names: Mapping[str, str], *, live: bool) -> None:
    """Draw the same on somebody's axes, with labels and a legend."""
    results = of_plays(frame, names)
    (panel,) = results.longest_panels
    if live:
        _draw_certificates(axes, results)
    else:
        _draw_means(axes, panel, results, _regret_of)
        _scale(axes, loglog=False)
    axes.set(xlabel="round", ylabel="certificate" if live else "regret")
    axes.legend([line_handle(results.looks[name]) for name in panel.learners], panel.learners, frameon=False)


def of_plays(frame: pl.DataFrame, names: Mapping[str, str]) -> Results:
    """Return the plays of milpcb.play as the results of a study."""
    alike = {name: pl.lit("") for name in ("environment", "policies", "oracle")}
    learners = [{"label": label, "name": name} for label, name in names.items()]
    return Results(frame.with_columns(horizon=pl.col("round").max(), **alike), "Regret", {"learners": learners})


def regret_figure(results: Results, *, loglog: bool) -> Figure:
    """Return the regret curves, with the names of the lines at their ends where there is room, else in a legend."""
    panels = results.longest_panels
    figure, every = curve_grid(len(panels), _title(results), results.width)
    for axes, panel in zip(every, panels, strict=True):
        _draw_means(axes, panel, results, _regret_of, LEAST if loglog else -np.inf)
        _scale(axes, loglog=loglog)
        _draw_guarantees(axes, panel, results, loglog=loglog)
        name_panel(axes, panel.name, 0.0 if results.width >= WIDE else SHORT_NAME)
    label_outside(figure, every, "round", f"regret against {against_what(results.settings)}")
    marks = _guarantee_entries(results, panels, loglog=loglog)
    texts = _texts(panels[0]) if results.width >= WIDE and len(panels) == 1 else {}
    direct = len(panels) == 1 if results.width >= WIDE else results.width >= NARROW
    if direct and all(can_be_named(axes, panel, texts) for axes, panel in zip(every, panels, strict=True)):
        for axes, panel in zip(every, panels, strict=True):
            name_lines(axes, panel, results.looks, texts)
        if marks:
            legend(figure, marks, below=True)
    else:
        legend(figure, [*_regret_entries(results, panels, texts), *marks], below=len(panels) > 1)
    return finish(figure)


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


def _title(results: Results) -> str:
    return f"{results.title} ({count(results.seeds, 'seed')})"


def _regret_of(panel: Panel, learner: str) -> tuple[Floats, Floats]:
    return curve(panel.frame, learner)


def _draw_means(axes: Any, panel: Panel, results: Results, values_of: Values, least: float = -np.inf) -> None:
    """Draw the mean over the seeds of each learner, with a band; values below ``least`` are left out."""
    for i, learner in enumerate(panel.learners):
        rounds, values = values_of(panel, learner)
        look, mean = results.looks[learner], values.mean(axis=0)
        shown = ~(mean < least)
        places = (0.15 * i / len(panel.learners), 0.15)  # in shares of the axes: markers of two curves do not coincide
        axes.plot(rounds[shown], mean[shown], **look.line(), linewidth=1.4, markevery=places)
        if len(values) > 1:
            low, high = spread(values)
            shown &= ~(low < least)
            shade(axes, rounds[shown], low[shown], high[shown], look.colour)


def _draw_certificates(axes: Any, results: Results) -> None:
    for learner, look in results.looks.items():
        rounds, values = curve(results.frame, learner, "certificate")
        errors = curve(results.frame, learner, "certificate_error")[1]
        mean, doubt = values.mean(axis=0), 2 * np.sqrt((errors**2).sum(axis=0)) / len(values)
        axes.plot(rounds, mean, **look.line(), linewidth=1.4, markevery=(0, 0.15))
        axes.fill_between(rounds, mean - doubt, mean + doubt, color=look.colour, alpha=0.15, linewidth=0)
    scale_linear(axes)
    axes.set_xlim(left=0)


def _scale(axes: Any, *, loglog: bool) -> None:
    scale_axis(axes.xaxis, axes.dataLim.intervalx, log=loglog)
    scale_axis(axes.yaxis, axes.dataLim.intervaly, log=loglog)
    if not loglog:
        axes.set_xlim(left=0)
        axes.set_ylim(bottom=0.0 if axes.dataLim.y0 >= 0 else axes.get_ylim()[0])
        if axes.dataLim.y0 < 0:
            axes.axhline(0.0, color="0.55", linewidth=0.9, zorder=0.5)


def _draw_guarantees(axes: Any, panel: Panel, results: Results, *, loglog: bool) -> None:
    """Draw dotted lines; they come after the scale, so that far ones do not decide it."""
    near = _near(panel, loglog=loglog)
    start = 0.0 if len({round(value) for value in near.values()}) <= FEW else 0.94
    for learner, value in near.items():
        axes.axhline(value, start, color=results.looks[learner].colour, linewidth=1.2, **GUARANTEE)
    if near:
        axes.set_ylim(top=max(axes.get_ylim()[1], max(near.values()) * (1.5 if loglog else 1.04)))


def _guarantee_entries(results: Results, panels: list[Panel], *, loglog: bool) -> list[tuple[Any, str]]:
    """Return the legend of the dotted lines: whose the only one is, or that each has the colour of its learner."""
    drawn = list(dict.fromkeys(name for panel in panels for name in _near(panel, loglog=loglog)))
    if not drawn:
        return []
    colour, whose = (GREY, ", by colour") if len(drawn) > 1 else (results.looks[drawn[0]].colour, f" of {drawn[0]}")
    return [(Line2D([], [], color=colour, **GUARANTEE), f"guarantee at T{whose}")]


def _finite_guarantees(panel: Panel) -> dict[str, float]:
    known = {learner: guarantee(panel.frame, learner) for learner in panel.learners}
    return {learner: value for learner, value in known.items() if np.isfinite(value)}


def _near(panel: Panel, *, loglog: bool) -> dict[str, float]:
    """Return the guarantees to draw: those below T, the largest regret, and near the curves."""
    far = FAR * max(1.0, panel.highest)
    known = {name: value for name, value in _finite_guarantees(panel).items() if value < most_rounds(panel.frame, name)}
    return {learner: value for learner, value in known.items() if (value > 0 if loglog else value <= far)}


def _not_drawn(results: Results) -> str:
    """Return the sentences on guarantees that are not drawn on a linear axis; "" where all are."""
    above: set[bool] = set()
    for panel in results.longest_panels:
        near, finite = _near(panel, loglog=False), _finite_guarantees(panel)
        above |= {value >= most_rounds(panel.frame, name) for name, value in finite.items() if name not in near}
    return sentences(
        "Guarantees of T or more, the largest regret there can be, are void and not drawn." if True in above else "",
        f"Guarantees more than {FAR:g} times above all curves of a panel are not drawn." if False in above else "",
    )


def _texts(panel: Panel) -> dict[str, str]:
    """Return the certificates of each learner's whole run, and its guarantee, a line each, where it has any."""
    texts: dict[str, str] = {}
    sure = confident_in(panel.frame.columns)
    named = [("certificate", CERTIFICATE), *([(sure, f"{percent_of(sure)}\u202f% {CERTIFICATE}")] if sure else [])]
    finite = _finite_guarantees(panel)
    for learner in panel.learners:
        means = [(curve(panel.frame, learner, column)[1][:, -1].mean(), name) for column, name in named]
        lines = [f"{name} {number(mean)}" for mean, name in means if np.isfinite(mean)]
        if learner in finite:
            above = "" if finite[learner] < most_rounds(panel.frame, learner) else ": void, above T"
            lines.append(f"guarantee {number(finite[learner])}{above}")
        texts[learner] = "\n".join(lines)
    return texts


def _regret_entries(results: Results, panels: list[Panel], texts: Mapping[str, str]) -> list[tuple[Any, str]]:
    """Return the legend: the learners of one panel from the highest curve to the lowest, or all of them in order."""
    learners = list(results.looks)
    if len(panels) == 1:
        final = {learner: curve(panels[0].frame, learner)[1][:, -1].mean() for learner in learners}
        learners.sort(key=lambda learner: -final[learner])
    return [(line_handle(results.looks[name]), with_text(name, texts.get(name, ""))) for name in learners]


def _least(panel: Panel, total: pl.Expr) -> tuple[Floats, Floats]:
    frame = panel.frame.filter(pl.col("horizon") == pl.col("horizon").max())
    every = frame.group_by("seed", "round").agg(least=total.first()).with_columns(learner=pl.lit(""))
    return _steady(*curve(every, "", "least"))


def _steady(rounds: Floats, totals: Floats) -> tuple[Floats, Floats]:
    kept = rounds >= rounds[-1] / FIRST
    return rounds[kept], totals[:, kept] / rounds[kept]


def _cost_entries(results: Results, panels: list[Panel]) -> list[tuple[Any, str]]:
    """Return the legend: of one panel with the mean costs over all rounds, the largest first."""
    best, column = Line2D([], [], **BEST), turns_in(results.frame.columns)
    turns = [(Line2D([], [], **TURNS), f"best {turns_number(column)} in turn")] if column else []
    if len(panels) > 1:
        return [*((line_handle(look), name) for name, look in results.looks.items()), (best, BEST_NAME), *turns]
    final = _paid(panels[0])
    names = sorted(results.looks, key=lambda name: -final[name])
    learners = [(line_handle(results.looks[name]), f"{name}\nmean cost {number(final[name])}") for name in names]
    return [*learners, (best, f"{BEST_NAME}\nmean cost {number(final[BEST_NAME])}"), *turns]


def _paid(panel: Panel) -> dict[str, float]:
    found = {learner: float(mean_costs(panel, learner)[1][:, -1].mean()) for learner in panel.learners}
    return {**found, BEST_NAME: float(best_mean_costs(panel)[1][:, -1].mean())}


def _least_paid(panels: list[Panel]) -> str:
    found = []
    for panel in panels[:FEW_PANELS]:
        final = _paid(panel)
        least = min(panel.learners, key=lambda learner: final[learner])
        where = f"in {legible(panel.name)} " if len(panels) > 1 else ""
        paid = f"{legible(least)} has paid {number(final[least])} a round"
        found.append(f"{where}{paid}, the best policy in hindsight {number(final[BEST_NAME])}")
    others = f"; and so on in {len(panels)} panels" if len(panels) > FEW_PANELS else ""
    return f"Least mean cost over all rounds: {'; '.join(found)}{others}."
