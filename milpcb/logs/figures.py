"""The pictures of a page on a log: the rule, its value beside treating all alike, by budget, and of two outcomes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from matplotlib.ticker import FuncFormatter, PercentFormatter

from milpcb.experiments.results.figures.drawing import GREY, MEDIUM, SMALL, Drawing, grid, row_grid
from milpcb.experiments.results.figures.fitting import fitted
from milpcb.experiments.results.figures.looks import COLOURS
from milpcb.logs.budget import budget_limit
from milpcb.logs.findings import Findings
from milpcb.logs.front_words import second_unit
from milpcb.logs.words import Unit, other
from milpcb.logs.worth import RULE, Worth

BAND = 0.18  # opacity
BESIDE = 3.0  # inches that a name beside the values may take


def leaf_summaries(found: Findings) -> list[Any]:
    """Return for each part of the policy its action and share; beside it what it is worth in rows kept aside.

    Without such rows there is no interval that holds for a part, and its value is marked as what it looks like.
    """
    unit, seen = Unit.of(found), found.held_out or found.evaluation
    known = {leaf.part: leaf.value for leaf in seen.leaves}
    summaries = found.estimator.policy_.leaves(found.learnt.frame)
    return [
        replace(summary, note=_note(unit, known[part], held_out=found.held_out is not None))
        if part in known
        else summary
        for part, summary in enumerate(summaries)
    ]


def _note(unit: Unit, value: Any, *, held_out: bool) -> str:
    of = " of 100" if unit.binary else ""
    if held_out:
        return f"{unit.value(value.value)}{of}, {unit.ends(value.lower, value.upper)}"
    return f"looks like {unit.value(value.value)}{of}"


def rule_figure(found: Findings) -> Any:
    """Return the drawing of the rule."""
    return found.estimator.policy_.figure(leaf_summaries(found))


def worth_drawing(found: Findings, lines: list[Worth]) -> Drawing:
    """Return values with their intervals, a line each; the dashed one is the reference."""
    return values_drawing(Unit.of(found), lines, found.questions.level, other(found), found.reference.value)


def values_drawing(unit: Unit, lines: list[Worth], level: float, alike: str, dashed: float) -> Drawing:
    """Return values with their intervals, a line each; ``dashed`` is the value of ``alike``, to treat all alike."""
    figure, (axes,) = row_grid([line.name for line in lines], 1, "")
    for place, line in enumerate(lines):
        colour = COLOURS[0] if line.name.startswith(RULE) else "0.25"
        if line.interval is not None:
            axes.plot(list(map(unit.inside, line.interval)), [place, place], color=colour, linewidth=2.5, alpha=0.6)
        axes.plot([unit.inside(line.value)], [place], "o", color=colour, markersize=7)
    axes.axvline(dashed, color=GREY, linestyle="--", linewidth=1)
    axes.set_xlabel(_axis(unit), fontsize=MEDIUM, parse_math=False)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: unit.amount(value)))
    figure.set_figheight(figure.get_figheight() + 0.3)
    return Drawing(
        "worth",
        "What it is worth",
        figure,
        "; ".join(f"{line.name}: {unit.value(line.value)}" for line in lines),
        f"Bars: {level:.0%} intervals that hold for what stands beside them. Dashed: "
        f"{alike}. {'Farther right' if unit.maximise else 'Farther left'} is better.",
    )


def budget_drawing(found: Findings) -> Drawing:
    """Return the held-out value of learning against the share of rows that may get the action."""
    action, points, unit = found.questions.budget, found.budget, Unit.of(found)
    figure, (axes,) = grid(1, 1, 3.4, "")
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
    axes.set_xlabel(fitted(f"at most this share of the people gets '{action}'", 7.0, MEDIUM), fontsize=MEDIUM,
                    parse_math=False)  # fmt: skip
    axes.set_ylabel(_axis(unit), fontsize=MEDIUM, parse_math=False)
    axes.xaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: unit.amount(value)))
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


def front_drawing(found: Findings) -> Drawing:
    """Return the rules that are the best for some weighting of two outcomes."""
    unit, other = Unit.of(found), second_unit(found)
    points = found.front.points if found.front else ()
    figure, (axes,) = grid(1, 1, 3.4, "")
    places = [(point.first, point.second) for point in points]
    axes.plot(*zip(*places, strict=True), color=COLOURS[0], marker="o", markersize=5)
    for number, place in enumerate(places, 1):
        if number in (1, len(places)):
            axes.annotate(str(number), place, xytext=(5, 5), textcoords="offset points", fontsize=SMALL)
    axes.set_xlabel(_axis(unit), fontsize=MEDIUM, parse_math=False)
    axes.set_ylabel(_axis(other), fontsize=MEDIUM, parse_math=False)
    for axis, own in ((axes.xaxis, unit), (axes.yaxis, other)):
        axis.set_major_formatter(FuncFormatter(lambda value, _, own=own: own.amount(value)))
    better = [("right" if unit.maximise else "left"), ("up" if other.maximise else "down")]
    return Drawing(
        "front",
        "Two outcomes at once",
        figure,
        "; ".join(f"rule {n}: {unit.value(a)} and {other.value(b)}" for n, (a, b) in enumerate(places, 1)),
        f"Each point is a rule; {better[0]} and {better[1]} is better. Rule 1 is the best by "
        f"'{unit.name}', the last one by '{other.name}'.",
    )


def _axis(unit: Unit) -> str:
    return fitted(f"{unit.words}", 3.0, MEDIUM)
