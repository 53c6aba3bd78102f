"""Regret against rounds: means, bands over seeds, guarantees; on linear or on logarithmic axes; of plays, too."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from milpcb.core.decimals import number
from milpcb.core.surroundings import plain
from milpcb.experiments.results.figures.drawing import (
    GREY,
    LEAST,
    SHORT_NAME,
    Drawing,
    curve_grid,
    finish,
    label_outside,
    legend,
    line_handle,
    name_panel,
    render,
    scale_axis,
    shade,
)
from milpcb.experiments.results.figures.ends import can_be_named, certificate_texts, name_lines
from milpcb.experiments.results.figures.meaning import against_what
from milpcb.experiments.results.figures.results import (
    NARROW,
    WIDE,
    Panel,
    Results,
    curve,
    guarantee,
    longest,
    most_rounds,
    spread,
)
from milpcb.experiments.results.figures.words import (
    at_their_longest,
    band,
    count,
    sentences,
    verdict,
)

FEW = 3  # so many guarantees are drawn across a panel, more of them only at its right end
FAR = 1.3  # what is so many times above all regrets is not drawn on a linear axis, which it would flatten


def regret(results: Results) -> list[Drawing]:
    """Draw the regret curves."""
    caption = sentences(band(results), at_their_longest(results), _not_drawn(results))
    alt = f"Curves of regret by rounds. {verdict(results)}"
    return [Drawing("regret", "Regret", _figure(results, loglog=False), alt, caption)]


def regret_loglog(results: Results) -> list[Drawing]:
    """Draw the regret curves on logarithmic axes; nothing without positive regret."""
    if float(longest(results.frame)["regret"].to_numpy().max()) < LEAST:
        return []
    words = "On logarithmic axes a regret of order t^p after t rounds is a line of slope p."
    caption = sentences(words, band(results), at_their_longest(results), f"Regret below {LEAST} is left out.")
    alt = f"Curves of regret by rounds on logarithmic axes. {verdict(results)}"
    heading = "Regret on logarithmic axes"
    return [Drawing("regret_loglog", heading, _figure(results, loglog=True), alt, caption)]


@plain()
def draw_plays(frame: pl.DataFrame, names: Mapping[str, str], *, live: bool, suffix: str) -> bytes:
    """Return a picture, "png" or "svg", of the plays of milpcb.play: regret, in live play certificates.

    ``names`` are the registered names of the learners, by their labels: they decide the colours, as in a study.
    """
    results = _of_plays(frame, names)
    return render(_certificates(results) if live else _figure(results, loglog=False), [suffix])[suffix]


def draw_plays_on(axes: Any, frame: pl.DataFrame, names: Mapping[str, str], *, live: bool) -> None:
    """Draw the same on somebody's axes, with labels and a legend."""
    results = _of_plays(frame, names)
    (panel,) = results.longest_panels
    if live:
        _draw_certificates(axes, results)
    else:
        _draw_curves(axes, panel, results, loglog=False)
        _scale(axes, loglog=False)
    axes.set(xlabel="round", ylabel="certificate" if live else "regret")
    axes.legend([line_handle(results.looks[name]) for name in panel.learners], panel.learners, frameon=False)


def _of_plays(frame: pl.DataFrame, names: Mapping[str, str]) -> Results:
    alike = {name: pl.lit("") for name in ("environment", "policies", "oracle")}
    learners = [{"label": label, "name": name} for label, name in names.items()]
    return Results(frame.with_columns(horizon=pl.col("round").max(), **alike), "Regret", {"learners": learners})


def _certificates(results: Results) -> Figure:
    figure, (axes,) = curve_grid(1, f"Certificates ({count(results.seeds, 'seed')})")
    _draw_certificates(axes, results)
    label_outside(figure, [axes], "round", "certificate: on average, regret is at most this")
    legend(figure, [(line_handle(each), learner) for learner, each in results.looks.items()], below=False)
    return finish(figure)


def _draw_certificates(axes: Any, results: Results) -> None:
    """Draw mean certificates, with two standard errors."""
    for learner, look in results.looks.items():
        rounds, values = curve(results.frame, learner, "certificate")
        errors = curve(results.frame, learner, "certificate_error")[1]
        mean, doubt = values.mean(axis=0), 2 * np.sqrt((errors**2).sum(axis=0)) / len(values)
        axes.plot(rounds, mean, **look.line(), linewidth=1.4, markevery=(0, 0.15))
        axes.fill_between(rounds, mean - doubt, mean + doubt, color=look.colour, alpha=0.15, linewidth=0)
    for axis, interval in ((axes.xaxis, axes.dataLim.intervalx), (axes.yaxis, axes.dataLim.intervaly)):
        scale_axis(axis, interval, log=False)
    axes.set_xlim(left=0)


def _figure(results: Results, *, loglog: bool) -> Figure:
    panels = results.longest_panels
    title = f"{results.title} ({count(results.seeds, 'seed')})"
    figure, every = curve_grid(len(panels), title, results.width)
    for axes, panel in zip(every, panels, strict=True):
        _draw_curves(axes, panel, results, loglog=loglog)
        _scale(axes, loglog=loglog)
        _draw_guarantees(axes, panel, results, loglog=loglog)
        name_panel(axes, panel.name, 0.0 if results.width >= WIDE else SHORT_NAME)
    label_outside(figure, every, "round", f"regret against {against_what(results.settings)}")
    marks: list[tuple[Any, str]] = []
    if any(_near(panel, loglog=loglog) for panel in panels):
        marks.append((Line2D([], [], color=GREY, linestyle=(0, (1, 2))), "guarantee at T"))
    texts = _texts(panels) if results.width >= WIDE else {}
    direct = len(panels) == 1 if results.width >= WIDE else results.width >= NARROW
    if direct and all(can_be_named(axes, panel, texts) for axes, panel in zip(every, panels, strict=True)):
        for axes, panel in zip(every, panels, strict=True):
            name_lines(axes, panel, results.looks, texts)
        if marks:
            legend(figure, marks, below=True)
    else:
        legend(figure, _entries(results, panels, texts) + marks, below=len(panels) > 1)
    return finish(figure)


def _texts(panels: list[Panel]) -> dict[str, str]:
    if len(panels) > 1:
        return {}
    texts = certificate_texts(panels[0])
    for learner, value in _finite_guarantees(panels[0]).items():
        void = "" if value < _rounds_of(panels[0], learner) else ": void, above T"
        texts[learner] = "\n".join([*texts.get(learner, "").splitlines(), f"guarantee {number(value)}{void}"])
    return texts


def _draw_curves(axes: Any, panel: Panel, results: Results, *, loglog: bool) -> None:
    learners = panel.learners
    for i, learner in enumerate(learners):
        rounds, values = curve(panel.frame, learner)
        look = results.looks[learner]
        mean = values.mean(axis=0)
        shown = mean >= LEAST if loglog else np.ones(len(mean), bool)
        places = (0.15 * i / len(learners), 0.15)  # in shares of the axes: markers of two curves do not coincide
        axes.plot(rounds[shown], mean[shown], **look.line(), linewidth=1.4, markevery=places)
        if len(values) > 1:
            low, high = spread(values)
            shown &= low >= LEAST if loglog else shown
            shade(axes, rounds[shown], low[shown], high[shown], look.colour)


def _scale(axes: Any, *, loglog: bool) -> None:
    scale_axis(axes.xaxis, axes.dataLim.intervalx, log=loglog)
    scale_axis(axes.yaxis, axes.dataLim.intervaly, log=loglog)
    if not loglog:
        axes.set_xlim(left=0)
        axes.set_ylim(bottom=0.0 if axes.dataLim.y0 >= 0 else axes.get_ylim()[0])
        if axes.dataLim.y0 < 0:
            axes.axhline(0.0, color="0.55", linewidth=0.9, zorder=0.5)


def _far(panel: Panel) -> float:
    """Return from where on a guarantee or a certificate would flatten the curves of a panel."""
    return FAR * max(1.0, panel.highest)


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
    far, finite = _far(panel), _finite_guarantees(panel)
    known = {learner: value for learner, value in finite.items() if value < _rounds_of(panel, learner)}
    return {learner: value for learner, value in known.items() if (value > 0 if loglog else value <= far)}


def _rounds_of(panel: Panel, learner: str) -> float:
    """Return the number of rounds that a learner played, which no regret of it is above."""
    return most_rounds(panel.frame.filter(pl.col("learner") == learner))


def _finite_guarantees(panel: Panel) -> dict[str, float]:
    known = {learner: guarantee(panel.frame, learner) for learner in panel.learners}
    return {learner: value for learner, value in known.items() if np.isfinite(value)}


def _not_drawn(results: Results) -> str:
    """Return the sentences on guarantees that are not drawn on a linear axis; "" where all are."""
    void = far = False
    for panel in results.longest_panels:
        near, finite = _near(panel, loglog=False), _finite_guarantees(panel)
        left = [value >= _rounds_of(panel, learner) for learner, value in finite.items() if learner not in near]
        void |= any(left)
        far |= not all(left)
    return sentences(
        "Guarantees of T or more, the largest regret there can be, are void and not drawn." if void else "",
        f"Guarantees more than {FAR:g} times above all curves of a panel are not drawn." if far else "",
    )


def _entries(results: Results, panels: list[Panel], texts: dict[str, str]) -> list[tuple[Any, str]]:
    """Return the legend: the learners of one panel from the highest curve to the lowest, or all of them in order."""
    learners = list(results.looks)
    if len(panels) == 1:
        final = {learner: curve(panels[0].frame, learner)[1][:, -1].mean() for learner in learners}
        learners.sort(key=lambda learner: -final[learner])
    return [(line_handle(results.looks[name]), _two_lines(name, texts.get(name, ""))) for name in learners]


def _two_lines(name: str, text: str) -> str:
    return f"{name}\n{text}" if text else name
