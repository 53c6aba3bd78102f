"""Two outcomes at once: the rules that are the best for some weighting of both, as ``milpcb learn --front`` asks."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from milpcb.core.decimals import fixed
from milpcb.core.surroundings import plain
from milpcb.errors import InputError
from milpcb.experiments.results.figures.drawing import GREY, SMALL, Drawing
from milpcb.experiments.results.figures.looks import COLOURS
from milpcb.experiments.results.report import picture
from milpcb.logs.amounts import Unit
from milpcb.logs.rows import ScoredRows
from milpcb.logs.sections import PageSection, PageTable, PageText, labelled, panel, rule_text
from milpcb.offline import IntervalEstimate
from milpcb.offline.arguing import Question, supported

MOST_POINTS = 100
FORM = "write COLUMN less or COLUMN more, as less or more of it is better"
_TEXT = re.compile(r"(.+?)\s+(less|more)")


@dataclass(frozen=True)
class Balance:
    """One rule of the front: what it looks worth in both outcomes, and the rule as it prints."""

    first: float
    second: float
    rules: str


@dataclass(frozen=True)
class Front:
    """The rules that are the best for some weighting, the best by the first outcome first.

    ``unit`` is that of the second outcome, ``done`` what was done gave in both, with 95 % intervals.
    """

    unit: Unit
    points: tuple[Balance, ...]
    done: tuple[IntervalEstimate, IntervalEstimate]


def column_of(text: str) -> str:
    """Return the column that ``--front`` names; raises InputError."""
    return _parts(text)[0]


def front(text: str, rows: ScoredRows, question: Question, progress: Callable[[int, int], None]) -> Front:
    """Return the front of the first outcome, whose scores the ``rows`` have, and the one that a text names.

    Raises InputError where there are more than 100 rules on it.
    """
    column, way = _parts(text)
    scores, second = rows.scores, rows.by_outcome(column, maximise=way == "more")
    weight = scores.weight.sum()
    tables = scores.costs / weight, second.costs / weight
    try:
        found = supported(question, *tables, most=MOST_POINTS, progress=progress)
    except InputError as error:
        raise InputError(f"--front '{text}': {error}; take fewer --thresholds, or less --depth") from error
    signs = [-1.0 if each.maximise else 1.0 for each in (scores, second)]
    points = tuple(
        Balance(signs[0] * point.a, signs[1] * point.b, str(in_words(point.policy, rows.estimator.policy_)))
        for point in found
    )
    return Front(Unit.of_scores(column, second), points, (scores.mean(scores.logged), second.mean(second.logged)))


def _parts(text: str) -> tuple[str, str]:
    found = _TEXT.fullmatch(text.strip())
    if found is None:
        raise InputError(f"cannot read --front '{text}': {FORM}")
    return found[1], found[2]


def in_words(policy: Any, printed: Any) -> Any:
    """Return a policy with the names of columns and actions that the printed one has."""
    return replace(policy, names=printed.names) if hasattr(printed, "names") else policy


def of_numbers(printed: Any) -> Any:
    """Return the policy that is printed as one of numbers, as which it was searched for."""
    return replace(printed, names=type(printed.names)()) if hasattr(printed, "names") else printed


def front_section(front: Front | None, unit: Unit) -> PageSection:
    """Return the front as sentences, a picture, a table, and its first rules."""
    heading = "Two outcomes at once"
    if front is None:
        return PageSection(heading)
    rows = [
        (f"rule {n}", unit.value(each.first), front.unit.value(each.second)) for n, each in enumerate(front.points, 1)
    ]
    table = PageTable("Table of two outcomes", ("two outcomes", unit.words, front.unit.words), rows)
    folds = [
        PageSection(f"rule {n}", texts=[PageText(f"Rule {n}", rule_text(each.rules))])
        for n, each in enumerate(front.points[: table.most], 1)
    ]
    return PageSection(
        heading, _words(front, unit), lambda: picture(_drawing(front, unit)), tables=[table], folds=folds
    )


def _words(front: Front, unit: Unit) -> list[str]:
    points, other = front.points, front.unit
    ends = [f"{unit.of_value(point.first)} and {other.of_value(point.second)}" for point in (points[0], points[-1])]
    if len(points) == 1:
        return [f"One rule is the best for both outcomes: it looks worth {ends[0]}."]
    number = fixed(len(points), 0)
    some = f"{number} rules, and no others, are each the best for some weighting of the two outcomes"
    between = (
        "No rule of the class lies beyond the line through two neighbours; rules that no weighting makes the best may "
        "lie behind it. All values are those in the rows that the rules were learnt from, so they are too favourable."
    )
    return [f"{some}. Rule 1 gives {ends[0]}, rule {number} gives {ends[1]}.", between]


@plain()
def _drawing(front: Front, unit: Unit) -> Drawing:
    figure, axes = panel()
    other, points = front.unit, [(point.first, point.second) for point in front.points]
    axes.plot(*zip(*points, strict=True), color=COLOURS[0], marker="o", markersize=5)
    ends = [[[each.value - each.lower], [each.upper - each.value]] for each in front.done]  # no axis is narrower
    done = [each.value for each in front.done]
    axes.errorbar(*done, xerr=ends[0], yerr=ends[1], color=GREY, marker="s", markersize=5, linewidth=1.2)
    for number, place in enumerate(points, 1):
        if number in (1, len(points)):
            axes.annotate(str(number), place, xytext=(5, 5), textcoords="offset points", fontsize=SMALL)
    labelled(axes.xaxis, unit.words, unit.tick)
    labelled(axes.yaxis, other.words, other.tick)
    better = [("right" if unit.maximise else "left"), ("up" if other.maximise else "down")]
    return Drawing(
        "front",
        "Two outcomes at once",
        figure,
        "; ".join(f"rule {n}: {unit.value(a)} and {other.value(b)}" for n, (a, b) in enumerate(points, 1)),
        f"Each point is a rule; {better[0]} and {better[1]} is better. Rule 1 is the best by "
        f"'{unit.name}', the last one by '{other.name}'. "
        "The grey square is what was done, with its 95\u202f% intervals.",
    )
