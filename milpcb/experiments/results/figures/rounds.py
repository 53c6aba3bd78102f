"""Figures against rounds: regret, on linear or logarithmic axes, mean costs; of the plays of ``milpcb.play``, too."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import polars as pl
from matplotlib.lines import Line2D

from milpcb.core.decimals import THIN, number
from milpcb.core.surroundings import plain
from milpcb.experiments.results import CONFIDENT, TURNS, asked_for
from milpcb.experiments.results.figures import drawing, words
from milpcb.experiments.results.figures.plots import Plot, drawn, with_text
from milpcb.experiments.results.figures.results import Final, Panel, Results, spread
from milpcb.types import Floats

FAR = 1.3  # what is so many times above all regrets is not drawn on a linear axis, which it would flatten
FIRST = 50  # the first T / FIRST rounds of mean costs are left out: means of few costs jump, and stretch the axis
GUARANTEE: dict[str, Any] = {"linestyle": (0, (1, 2))}
BEST: dict[str, Any] = {"color": "0.55", "linewidth": 3.0}
DASHED: dict[str, Any] = {"color": "0.55", "linewidth": 2.0, "linestyle": (0, (2, 1))}
MEAN_COST = (
    "Mean of the costs of rounds 1 to t: the error rate, where costs are 0 or 1. The thick grey line is the policy "
    f"that is best in hindsight after these rounds. The first {100 / FIRST:g}{THIN}% of the rounds are left out."
)
Values = Callable[[Panel, str], tuple[Floats, Floats]]  # rounds (n,) and values (seeds, n) of a learner


def regret(results: Results) -> list[drawing.Drawing]:
    """Draw the regret curves."""
    caption = words.sentences(words.band(results), _not_drawn(results))
    alt = f"Curves of regret by rounds. {words.verdict(results)}"
    return [drawn(regret_plot(results, loglog=False), "regret", "Regret", alt, caption)]


def regret_loglog(results: Results) -> list[drawing.Drawing]:
    """Draw the regret curves on logarithmic axes; nothing without positive regret."""
    if max(panel.highest for panel in results.panels) < drawing.LEAST:
        return []
    slope = "On logarithmic axes a regret of order t^p after t rounds is a line of slope p."
    caption = words.sentences(slope, words.band(results), f"Regret below {drawing.LEAST} is left out.")
    alt = f"Curves of regret by rounds on logarithmic axes. {words.verdict(results)}"
    plot = regret_plot(results, loglog=True)
    return [drawn(plot, "regret_loglog", "Regret on logarithmic axes", alt, caption)]


def regret_plot(results: Results, *, loglog: bool) -> Plot:
    """Return the figure of the regret curves."""
    panels = results.panels
    dotted = any(_near(panel, loglog=loglog) for panel in panels)
    marks = [(Line2D([], [], color=drawing.GREY, **GUARANTEE), "guarantee at T, by colour")] if dotted else []
    lines = _lines_of(results, lambda final: final.regret, _text)

    def draw(axes: Any, panel: Panel) -> None:
        _draw_means(axes, panel, results, Panel.curve, drawing.LEAST if loglog else -np.inf)
        _scale(axes, loglog=loglog)
        _draw_guarantees(axes, panel, results, loglog=loglog)

    beside = f"regret against {results.against}"
    return Plot(_titled(results), panels, draw, "round", beside, lines=lines, marks=marks)


def costs(results: Results) -> list[drawing.Drawing]:
    """Draw the mean cost of rounds 1 to t against t, a curve per learner, and that of the best policy in hindsight."""
    panels = results.panels
    paid = partial(Final.per_round, column="cumulative_cost")
    lines = _lines_of(results, paid, lambda final: f"mean cost {number(paid(final))}")
    best = f"mean cost {number(best_mean_costs(panels[0])[1][:, -1].mean())}" if len(panels) == 1 else ""
    marks = [(Line2D([], [], **BEST), with_text("best policy in hindsight", best))]
    _, number_of_turns = asked_for(results.frame.columns, TURNS)
    if number_of_turns:
        marks.append((Line2D([], [], **DASHED), f"best {number_of_turns} in turn"))

    def draw(axes: Any, panel: Panel) -> None:
        _draw_means(axes, panel, results, mean_costs)
        rounds, values = best_mean_costs(panel)
        marker = "_" if len(rounds) == 1 else ""
        axes.plot(rounds, values.mean(axis=0), **BEST, marker=marker, markersize=14, zorder=1.5)
        if turns := in_turn_mean_costs(panel):
            axes.plot(turns[0], turns[1].mean(axis=0), **DASHED, zorder=1.6)
        axes.set_xlim(left=0)
        axes.set_ylim(bottom=min(0.0, axes.get_ylim()[0]))
        drawing.scale_axis(axes.xaxis)
        drawing.scale_axis(axes.yaxis)

    plot = Plot(_titled(results), panels, draw, "round", "mean cost per round so far", lines=lines, marks=marks)
    caption = words.sentences(MEAN_COST, words.band(results))
    return [drawn(plot, "costs", "Mean cost per round", f"Curves of mean cost. {words.verdict(results)}", caption)]


@plain()
def draw_plays(frame: pl.DataFrame, names: Mapping[str, str], *, live: bool, suffix: str) -> bytes:
    """Return a picture of milpcb.play: regret, live certificates; ``names`` are the registered ones by label."""
    results = of_plays(frame, names)
    plot = regret_plot(results, loglog=False)
    if live:
        titled = replace(results, title=f"Certificates ({words.count(results.seeds, 'seed')})")
        draw, beside = partial(_draw_certificates, results=results), "certificate: on average, regret is at most this"
        plot = Plot(titled, results.panels, draw, "round", beside, lines=dict.fromkeys(results.styles, ""))
    return drawing.render(drawn(plot).figure, [suffix])[suffix]


def draw_plays_on(axes: Any, frame: pl.DataFrame, names: Mapping[str, str], *, live: bool) -> None:
    """Draw the picture of ``draw_plays`` on given axes, with labels and a legend."""
    results = of_plays(frame, names)
    (panel,) = results.panels
    if live:
        _draw_certificates(axes, panel, results)
    else:
        _draw_means(axes, panel, results, Panel.curve)
        _scale(axes, loglog=False)
    axes.set(xlabel="round", ylabel="certificate" if live else "regret")
    lines = [Line2D([], [], **results.styles[name].line()) for name in panel.learners]
    axes.legend(lines, panel.learners, frameon=False)


def of_plays(frame: pl.DataFrame, names: Mapping[str, str]) -> Results:
    """Return the plays of milpcb.play as the results of a study."""
    alike = {name: pl.lit("") for name in ("environment", "policies", "oracle")}
    learners = [{"label": label, "name": name} for label, name in names.items()]
    return Results(frame.with_columns(horizon=pl.col("round").max(), **alike), "Regret", {"learners": learners})


def mean_costs(panel: Panel, learner: str) -> tuple[Floats, Floats]:
    """Return rounds (n,) and mean cost of rounds 1 to t (seeds, n) of a learner; the first rounds are left out."""
    return _steady(*panel.curve(learner, "cumulative_cost"))


def best_mean_costs(panel: Panel) -> tuple[Floats, Floats]:
    """Return rounds (n,) and mean cost (seeds, n) of the policy best in hindsight after each of these rounds."""
    return _least(panel, pl.col("best_cost"))


def in_turn_mean_costs(panel: Panel) -> tuple[Floats, Floats] | None:
    """Return the same for the best policies in turn; None where the config does not ask for these."""
    column, _ = asked_for(panel.frame.columns, TURNS)
    return _least(panel, pl.col("cumulative_cost") - pl.col(column)) if column else None


def _titled(results: Results) -> Results:
    return replace(results, title=f"{results.title} ({words.count(results.seeds, 'seed')})")


def _draw_means(axes: Any, panel: Panel, results: Results, values_of: Values, least: float = -np.inf) -> None:
    for i, learner in enumerate(panel.learners):
        rounds, values = values_of(panel, learner)
        style, mean = results.styles[learner], values.mean(axis=0)
        shown = ~(mean < least)
        places = (0.15 * i / len(panel.learners), 0.15)  # in shares of the axes: markers of two curves do not coincide
        axes.plot(rounds[shown], mean[shown], **style.line(), linewidth=1.4, markevery=places)
        if len(values) > 1:
            low, high = spread(values)
            shown &= ~(low < least)
            drawing.shade(axes, rounds[shown], low[shown], high[shown], style.colour)


def _draw_certificates(axes: Any, panel: Panel, results: Results) -> None:
    for learner, style in results.styles.items():
        rounds, values = panel.curve(learner, "certificate")
        errors = panel.curve(learner, "certificate_error")[1]
        mean, doubt = values.mean(axis=0), 2 * np.sqrt((errors**2).sum(axis=0)) / len(values)
        axes.plot(rounds, mean, **style.line(), linewidth=1.4, markevery=(0, 0.15))
        axes.fill_between(rounds, mean - doubt, mean + doubt, color=style.colour, alpha=0.15, linewidth=0)
    _scale(axes, loglog=False)


def _scale(axes: Any, *, loglog: bool) -> None:
    drawing.scale_axis(axes.xaxis, log=loglog)
    drawing.scale_axis(axes.yaxis, log=loglog)
    if not loglog:
        axes.set_xlim(left=0)
        axes.set_ylim(bottom=0.0 if axes.dataLim.y0 >= 0 else axes.get_ylim()[0])
        if axes.dataLim.y0 < 0:
            axes.axhline(0.0, color="0.55", linewidth=0.9, zorder=0.5)


def _draw_guarantees(axes: Any, panel: Panel, results: Results, *, loglog: bool) -> None:
    """Draw dotted lines; they come after the scale, so that far ones do not decide it."""
    near = _near(panel, loglog=loglog)
    for learner, value in near.items():
        axes.axhline(value, color=results.styles[learner].colour, linewidth=1.2, **GUARANTEE)
    if near:
        axes.set_ylim(top=max(axes.get_ylim()[1], max(near.values()) * (1.5 if loglog else 1.04)))


def _near(panel: Panel, *, loglog: bool) -> dict[str, float]:
    """Return the guarantees to draw: those below T, the largest regret, and near the curves."""
    far = FAR * max(1.0, panel.highest)
    known = {name: final.guarantee for name, final in panel.finals.items() if final.guarantee < final.horizon}
    return {learner: value for learner, value in known.items() if (value > 0 if loglog else value <= far)}


def _not_drawn(results: Results) -> str:
    for panel in results.panels:
        finite = {name for name, final in panel.finals.items() if np.isfinite(final.guarantee)}
        if finite - _near(panel, loglog=False).keys():
            return f"Vacuous guarantees (T or more) and those {FAR:g} times above all curves are not drawn."
    return ""


def _text(final: Final) -> str:
    sure, level = asked_for(final.columns, CONFIDENT)
    named = {"certificate": "certificate"} | ({sure: f"{level}\u202f% certificate"} if sure else {})
    means = {name: final.mean(column) for column, name in named.items()}
    lines = [f"{name} {number(mean)}" for name, mean in means.items() if np.isfinite(mean)]
    if np.isfinite(final.guarantee):
        above = "" if final.guarantee < final.horizon else ": vacuous, above T"
        lines.append(f"guarantee {number(final.guarantee)}{above}")
    return "\n".join(lines)


def _lines_of(results: Results, end: Callable[[Final], float], text: Callable[[Final], str]) -> dict[str, str]:
    """Return what stands below each name; of one panel alone, in the order in which its curves end."""
    if len(results.panels) > 1:
        return dict.fromkeys(results.styles, "")
    finals = results.panels[0].finals
    return {name: text(finals[name]) for name in sorted(finals, key=lambda name: -end(finals[name]))}


def _least(panel: Panel, total: pl.Expr) -> tuple[Floats, Floats]:
    every = panel.frame.group_by("horizon", "seed", "round").agg(least=total.first()).with_columns(learner=pl.lit(""))
    return _steady(*Panel("", every).curve("", "least"))


def _steady(rounds: Floats, totals: Floats) -> tuple[Floats, Floats]:
    kept = rounds >= rounds[-1] / FIRST
    return rounds[kept], totals[:, kept] / rounds[kept]
