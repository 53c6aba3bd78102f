"""The pictures of a page on a log: the rule, its value beside treating all alike, by budget, and of two outcomes."""

from __future__ import annotations

from typing import Any

from milpcb.core.surroundings import plain
from milpcb.experiments.results.figures.drawing import GREY, MEDIUM, SMALL, Drawing, fitted, grid
from milpcb.experiments.results.figures.looks import COLOURS
from milpcb.logs.budget import budget_limit
from milpcb.logs.findings import Findings
from milpcb.logs.front_words import second_unit
from milpcb.logs.parts import parts
from milpcb.logs.unit import Unit

BAND = 0.18  # opacity
NARROW = 5.4  # inches


def rule_figure(found: Findings) -> Any:
    """Return the drawing of the rule."""
    return found.estimator.policy_.figure(parts(found))


@plain()
def budget_drawing(found: Findings) -> Drawing:
    """Return the held-out value of learning against the share of rows that may get the action."""
    action, points, unit = found.questions.budget, found.budget, Unit.of(found)
    figure, (axes,) = _panel()
    shares = [point.share for point in points]
    values = [point.value for point in points]
    line = {"color": COLOURS[0], "marker": "o", "markersize": 5}
    axes.fill_between(shares, [v.lower for v in values], [v.upper for v in values], color=COLOURS[0], alpha=BAND, lw=0)
    axes.plot(shares, [v.value for v in values], label="rules learnt on other rows", **line)
    axes.plot(shares, [point.alike for point in points], "--", color=GREY, label="treating all alike")
    limit = budget_limit(found.estimator, action)
    if limit is not None:
        axes.axvline(limit, color=COLOURS[1], linewidth=1.2)
        axes.annotate("asked for", (limit, 1.0), xycoords=("data", "axes fraction"), xytext=(4, -10),
                      textcoords="offset points", color=COLOURS[1], fontsize=SMALL)  # fmt: skip
    axes.legend(fontsize=SMALL, frameon=False, loc="best")
    axes.set_xlabel(fitted(f"at most this share of the people gets '{action}'", 4.2, MEDIUM), fontsize=MEDIUM,
                    parse_math=False)  # fmt: skip
    axes.set_ylabel(_axis(unit), fontsize=MEDIUM, parse_math=False)
    axes.xaxis.set_major_formatter(lambda share, _: f"{share:.0%}")
    axes.yaxis.set_major_formatter(lambda value, _: unit.tick(value))
    first, last = points[0], points[-1]
    chance = (
        "" if found.supported else " No rule is shown to be better than treating all alike: what rises may be chance."
    )
    return Drawing(
        "budget",
        f"Value against the budget of '{action}'",
        figure,
        f"From {unit.value(first.value.value)} at {first.share:.0%} to {unit.value(last.value.value)} at "
        f"{last.share:.0%}.",
        "Each point is what rules learnt under its budget give on folds that they were not learnt from. The band "
        f"is one for all budgets at once ({found.questions.level:.0%}); dashed is the best way to treat all alike that "
        f"keeps the budget.{chance}",
    )


@plain()
def front_drawing(found: Findings) -> Drawing:
    """Return the rules that are the best for some weighting of two outcomes."""
    unit, other = Unit.of(found), second_unit(found)
    points = found.front.points if found.front else ()
    figure, (axes,) = _panel()
    places = [(point.first, point.second) for point in points]
    axes.plot(*zip(*places, strict=True), color=COLOURS[0], marker="o", markersize=5)
    for number, place in enumerate(places, 1):
        if number in (1, len(places)):
            axes.annotate(str(number), place, xytext=(5, 5), textcoords="offset points", fontsize=SMALL)
    axes.set_xlabel(_axis(unit), fontsize=MEDIUM, parse_math=False)
    axes.set_ylabel(_axis(other), fontsize=MEDIUM, parse_math=False)
    for axis, own in ((axes.xaxis, unit), (axes.yaxis, other)):
        axis.set_major_formatter(lambda value, _, own=own: own.tick(value))
    better = [("right" if unit.maximise else "left"), ("up" if other.maximise else "down")]
    return Drawing(
        "front",
        "Two outcomes at once",
        figure,
        "; ".join(f"rule {n}: {unit.value(a)} and {other.value(b)}" for n, (a, b) in enumerate(places, 1)),
        f"Each point is a rule; {better[0]} and {better[1]} is better. Rule 1 is the best by "
        f"'{unit.name}', the last one by '{other.name}'.",
    )


def _panel() -> tuple[Any, list[Any]]:
    """Return a figure of one panel that is narrow enough to be read on a phone."""
    figure, every = grid(1, 1, 3.4, "")
    figure.set_figwidth(NARROW)
    return figure, every


def _axis(unit: Unit) -> str:
    return fitted(f"{unit.words}", 3.0, MEDIUM)
