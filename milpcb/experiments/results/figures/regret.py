"""Regret against rounds: means, bands over seeds, guarantees; on linear or on logarithmic axes."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from milpcb.experiments.results.confident import column_in, meaning, percent_of
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
)
from milpcb.experiments.results.figures.horizons import draw_fit, fits, slope_text
from milpcb.experiments.results.figures.meaning import against_what
from milpcb.experiments.results.figures.results import Panel, Results, curve, guarantee, longest, most_rounds
from milpcb.experiments.results.figures.words import (
    CERTIFICATES,
    MANY_SEEDS,
    at_their_longest,
    band,
    count,
    number,
    sentences,
    verdict,
)
from milpcb.experiments.results.slopes import mean_interval
from milpcb.types import Floats

MOST_CERTIFIED = 10  # learners in a panel whose certificates are drawn: those of more would hide each other
DASHED = (0, (5, 2))  # certificates
DASH_DOTTED = (0, (5, 2, 1, 2))  # certificates with confidence
FEW = 3  # so many guarantees are drawn across a panel, more of them only at its right end
FAR = 4.0  # a guarantee so many times above all regrets is not drawn on a linear axis, which it would flatten


def regret(results: Results) -> list[Drawing]:
    """Draw the regret curves."""
    caption = sentences(
        verdict(results), band(results), at_their_longest(results), _not_drawn(results), _certificates(results)
    )
    alt = _alt(results, "Regret against rounds")
    return [Drawing("regret", "Regret", _figure(results, loglog=False), alt, caption)]


def regret_loglog(results: Results) -> list[Drawing]:
    """Draw the regret curves on logarithmic axes, with fits over several horizons; nothing without positive regret."""
    if float(longest(results.frame)["regret"].to_numpy().max()) < LEAST:
        return []
    words = "On logarithmic axes a regret of order T^p is a line of slope p."
    if len(results.horizons) > 1:
        over = "Markers are the mean final regrets at each horizon, thin lines the powers of T fitted to them."
        words = sentences(words, over, at_their_longest(results))
    caption = sentences(words, band(results), f"Regret below {LEAST} is left out.", _certificates(results))
    alt = _alt(results, "Regret against rounds on logarithmic axes")
    heading = "Regret on logarithmic axes"
    return [Drawing("regret_loglog", heading, _figure(results, loglog=True), alt, caption)]


def regret_figure(frame: pl.DataFrame, title: str, *, loglog: bool = False) -> Figure:
    """Return the figure of these curves: a panel per environment, policy class and oracle."""
    return _figure(Results(frame, title), loglog=loglog)


def _figure(results: Results, *, loglog: bool) -> Figure:
    panels, finals = results.panels(longest(results.frame)), results.panels(results.finals)
    title = f"{results.title} ({count(results.seeds, 'seed')})"
    figure, every = curve_grid(len(panels), title)
    with_fits, certified, sure = loglog and len(results.horizons) > 1, False, False
    confident = column_in(results.frame.columns)
    for axes, panel, ends in zip(every, panels, finals, strict=True):
        _draw_curves(axes, panel, results, loglog=loglog, markers=not with_fits)
        if with_fits:
            for learner, slope in fits(ends).items():
                draw_fit(axes, ends, learner, slope, results.looks[learner])
        _scale(axes, loglog=loglog)
        certified |= _draw_certificates(axes, panel, results, loglog=loglog)
        sure |= _draw_confident(axes, panel, results, confident, loglog=loglog)
        _draw_guarantees(axes, panel, results, loglog=loglog)
        name_panel(axes, panel.name)
    label_outside(figure, every, "round", f"regret against {against_what(results.settings)}")
    entries = _entries(results, panels, _texts(finals, with_fits=with_fits))
    if certified:
        entries.append((Line2D([], [], color=GREY, linewidth=1, linestyle=DASHED), "certificate"))
    if sure and confident:
        name = f"{percent_of(confident)}\u202f% certificate"
        entries.append((Line2D([], [], color=GREY, linewidth=1, linestyle=DASH_DOTTED), name))
    if any(_near(panel, loglog=loglog) for panel in panels):
        entries.append((Line2D([], [], color=GREY, linestyle=(0, (1, 2))), "guarantee at T"))
    legend(figure, entries, below=len(panels) > 1)
    return finish(figure)


def _texts(panels: list[Panel], *, with_fits: bool) -> dict[str, str]:
    """Return the text on each learner in the legend of a single panel: its slope, or else its guarantee."""
    if len(panels) > 1:
        return {}
    if with_fits:
        return {learner: slope_text(slope) for learner, slope in fits(panels[0]).items()}
    rounds = most_rounds(panels[0].frame)
    return {
        learner: f"guarantee {number(value)}{'' if value < rounds else ': void, above T'}"
        for learner, value in _finite_guarantees(panels[0]).items()
    }


def _draw_curves(axes: Any, panel: Panel, results: Results, *, loglog: bool, markers: bool) -> None:
    learners = panel.learners
    for i, learner in enumerate(learners):
        rounds, values = curve(panel.frame, learner)
        look = results.looks[learner]
        mean = values.mean(axis=0)
        shown = mean >= LEAST if loglog else np.ones(len(mean), bool)
        places = (0.15 * i / len(learners), 0.15)  # in shares of the axes: markers of two curves do not coincide
        style = look.line() if markers else {**look.line(), "marker": ""}
        axes.plot(rounds[shown], mean[shown], **style, linewidth=1.4, markevery=places)
        if len(values) > 1:
            low, high = _band(values)
            shown &= low >= LEAST if loglog else shown
            axes.fill_between(rounds[shown], low[shown], high[shown], color=look.colour, alpha=0.15, linewidth=0)


def _band(values: Floats) -> tuple[Floats, Floats]:
    if len(values) < MANY_SEEDS:
        return values.min(axis=0), values.max(axis=0)
    mean, half = mean_interval(values)
    return mean - half, mean + half


def _scale(axes: Any, *, loglog: bool) -> None:
    scale_axis(axes.xaxis, axes.dataLim.intervalx, log=loglog)
    scale_axis(axes.yaxis, axes.dataLim.intervaly, log=loglog)
    if not loglog:
        axes.set_xlim(left=0)
        axes.set_ylim(bottom=0.0 if axes.dataLim.y0 >= 0 else axes.get_ylim()[0])


def _draw_certificates(axes: Any, panel: Panel, results: Results, *, loglog: bool) -> bool:
    """Draw the mean certificates of a panel, dashed, with two standard errors; return whether there were any to draw.

    They come after the scale, which only those grow that end near the regrets: a learner that leaves most actions
    untried has certificates that would flatten all curves.
    """
    drawn = False
    for learner in panel.learners if len(panel.learners) <= MOST_CERTIFIED else ():
        rounds, values = curve(panel.frame, learner, "certificate")
        errors = np.nan_to_num(curve(panel.frame, learner, "certificate_error")[1])
        mean, doubt = values.mean(axis=0), 2 * np.sqrt((errors**2).sum(axis=0)) / len(values)
        colour = results.looks[learner].colour
        if not _draw_near(axes, rounds, mean, {"color": colour, "linestyle": DASHED}, _far(panel), loglog=loglog):
            continue
        shown = mean - doubt >= LEAST if loglog else np.isfinite(mean)
        low, high = (mean - doubt)[shown], (mean + doubt)[shown]
        axes.fill_between(rounds[shown], low, high, color=colour, alpha=0.07, linewidth=0)
        drawn = True
    return drawn


def _draw_confident(axes: Any, panel: Panel, results: Results, column: str | None, *, loglog: bool) -> bool:
    """Draw the mean certificates with confidence, as ``_draw_certificates`` draws those in the mean; return likewise.

    They have no band: each is about its own run, and no chance is left in it but that of being wrong.
    """
    drawn = False
    for learner in panel.learners if column and len(panel.learners) <= MOST_CERTIFIED else ():
        rounds, values = curve(panel.frame, learner, str(column))
        style = {"color": results.looks[learner].colour, "linestyle": DASH_DOTTED}
        drawn |= _draw_near(axes, rounds, values.mean(axis=0), style, _far(panel), loglog=loglog)
    return drawn


def _draw_near(axes: Any, rounds: Floats, mean: Floats, style: dict[str, Any], far: float, *, loglog: bool) -> bool:
    """Draw a line that ends near the regrets, and make room for it; return whether it does."""
    if not np.isfinite(mean[-1]) or mean[-1] > far:
        return False
    shown = mean >= LEAST if loglog else np.isfinite(mean)
    axes.plot(rounds[shown], mean[shown], **style, linewidth=1, scaley=False, scalex=False)
    axes.set_ylim(top=max(axes.get_ylim()[1], mean[-1] * (1.5 if loglog else 1.04)))
    return True


def _certificates(results: Results) -> str:
    """Return the sentences on the dashed and dash-dotted lines; nothing where no certificate is known."""
    fewest = min(len(panel.learners) for panel in results.panels(results.finals))
    if fewest > MOST_CERTIFIED or not np.isfinite(results.finals["certificate"].to_numpy()).any():
        return ""
    dashed = f"Dashed: mean certificates with two standard errors, where they end near the regrets. {CERTIFICATES}"
    column = column_in(results.finals.columns)
    if column is None:
        return dashed
    sure = f"Dash-dotted: means of the {percent_of(column)}\u202f% certificates, where they end near the regrets."
    return f"{dashed} {sure} {meaning(column)}"


def _far(panel: Panel) -> float:
    """Return from where on a guarantee or a certificate would flatten the curves of a panel."""
    return FAR * max(1.0, float(panel.frame["regret"].to_numpy().max()))


def _draw_guarantees(axes: Any, panel: Panel, results: Results, *, loglog: bool) -> None:
    """Draw dotted lines; they come after the scale, so that far ones do not decide it."""
    near = _near(panel, loglog=loglog)
    start = 0.0 if len({round(value) for value in near.values()}) <= FEW else 0.94
    for learner, value in near.items():
        axes.axhline(value, start, color=results.looks[learner].colour, linewidth=1.2, linestyle=(0, (1, 2)))
    if near:
        axes.set_ylim(top=max(axes.get_ylim()[1], max(near.values()) * (1.5 if loglog else 1.04)))


def _near(panel: Panel, *, loglog: bool) -> dict[str, float]:
    """Return the guarantees to draw: those below T, the largest regret, and near the curves."""
    far, rounds = _far(panel), most_rounds(panel.frame)
    known = {learner: value for learner, value in _finite_guarantees(panel).items() if value < rounds}
    return {learner: value for learner, value in known.items() if (value > 0 if loglog else value <= far)}


def _finite_guarantees(panel: Panel) -> dict[str, float]:
    known = {learner: guarantee(panel.frame, learner) for learner in panel.learners}
    return {learner: value for learner, value in known.items() if np.isfinite(value)}


def _not_drawn(results: Results) -> str:
    """Return the sentences on guarantees that are not drawn on a linear axis; "" where all are."""
    panels = results.panels(longest(results.frame))
    left = [
        (value, most_rounds(panel.frame))
        for panel in panels
        for learner, value in _finite_guarantees(panel).items()
        if learner not in _near(panel, loglog=False)
    ]
    void = any(value >= rounds for value, rounds in left)
    far = any(value < rounds for value, rounds in left)
    return sentences(
        "Guarantees of T or more, the largest regret there can be, are void and not drawn." if void else "",
        f"Guarantees more than {FAR:g} times above all curves of a panel are not drawn." if far else "",
    )


def _alt(results: Results, what: str) -> str:
    panels = results.panels(results.frame)
    return f"{what}: a curve for each of {count(len(results.looks), 'learner')}, {count(len(panels), 'panel')}."


def _entries(results: Results, panels: list[Panel], texts: dict[str, str]) -> list[tuple[Any, str]]:
    """Return the legend: the learners of one panel from the highest curve to the lowest, or all of them in order."""
    learners = list(results.looks)
    if len(panels) == 1:
        final = {learner: curve(panels[0].frame, learner)[1][:, -1].mean() for learner in learners}
        learners.sort(key=lambda learner: -final[learner])
    return [(line_handle(results.looks[name]), _two_lines(name, texts.get(name, ""))) for name in learners]


def _two_lines(name: str, text: str) -> str:
    return f"{name}\n{text}" if text else name
