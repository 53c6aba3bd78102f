"""Two curves of a page: the value for each budget of an action, and the front of two outcomes."""

import re
from collections.abc import Mapping
from contextlib import suppress
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from milpcb.core.decimals import fixed, percent
from milpcb.core.surroundings import plain
from milpcb.errors import InfeasibleError, InputError
from milpcb.estimators import share_at_most
from milpcb.experiments.results.figures.drawing import GREY, SMALL, Drawing
from milpcb.experiments.results.figures.looks import COLOURS
from milpcb.experiments.results.report import picture
from milpcb.logs.findings import Findings
from milpcb.logs.sections import PageSection, PageTable, PageText, Unit, labelled, panel, rule_text
from milpcb.logs.what_if import in_words
from milpcb.offline import IntervalEstimate, Scores, best_reference
from milpcb.offline.band import Progress
from milpcb.offline.cross_fitting import held_out
from milpcb.offline.restrictions import Question, pareto
from milpcb.rng import child

SHARES = tuple(round(0.1 * step, 1) for step in range(11))
MOST_ROWS = 10_000  # that are gone through for each budget
BAND = 0.18  # opacity


@dataclass(frozen=True)
class BudgetValue:
    """Result of learning where at most ``share`` (0..1) of the rows get the action."""

    share: float  # the budget
    used: float  # the share (0..1) that gets the action, in rows that were not learnt from
    value: IntervalEstimate  # in these rows; the interval is one of a band that holds for all budgets at once
    alike: float  # what the best way to treat all alike within the budget gives


def budget_values(
    estimator: Any, frame: pl.DataFrame, scores: Scores, action: str, *, level: float, seed: int, progress: Progress
) -> tuple[BudgetValue, ...]:
    """Return the value for each budget that the other limits allow; all intervals hold at once, at the ``level``.

    The ``estimator`` is fitted to the rows of ``frame``, of which with their ``scores`` at most 10 000 are gone
    through; its own limit on the action is replaced by each budget.
    """
    if len(frame) > MOST_ROWS:
        rows = np.sort(child(seed, "logs", "budget").choice(len(frame), MOST_ROWS, replace=False))
        frame, scores = frame[rows], scores.take(rows)
    found, each = [], 1 - (1 - level) / len(SHARES)  # the union of so many errors
    other = copy(estimator)
    free = [rule for rule in estimator.constraints if not (isinstance(rule, share_at_most) and rule.action == action)]
    for number, share in enumerate(SHARES):
        other.constraints = [*free, share_at_most(action, share)]
        with suppress(InfeasibleError):  # by the other limits
            problem = other.problem(frame, scores.weight)
            played = held_out(problem.oracle, problem.contexts, scores.costs, scores.fold)
            value = scores.mean(scores.table[np.arange(len(played)), played], each)
            used = float(np.average(played == scores.actions.index(action), weights=scores.weight))
            found.append(BudgetValue(share, used, value, best_reference(scores, problem.constraints).value))
        progress(number + 1, len(SHARES))
    return tuple(found)


def budget_section(found: Findings, progress: Progress) -> PageSection | None:
    """Return the curve of values for the budgets of ``--budget``; None where the other limits allow none of them."""
    asked, action = found.questions, str(found.questions.budget)
    rows: Any = found.learnt
    points = budget_values(
        found.estimator, rows.frame, rows.scores, action, level=asked.level, seed=asked.seed, progress=progress
    )
    if not points:
        return None
    heading = f"Value against the budget of '{action}'"
    return PageSection(heading, picture=lambda: picture(_budget_drawing(found, points, heading)))


@plain()
def _budget_drawing(found: Findings, points: tuple[BudgetValue, ...], title: str) -> Drawing:
    unit, action = found.unit, found.questions.budget
    figure, axes = panel()
    shares, values = [point.share for point in points], [point.value for point in points]
    axes.fill_between(shares, [v.lower for v in values], [v.upper for v in values], color=COLOURS[0], alpha=BAND, lw=0)
    line = {"color": COLOURS[0], "marker": "o", "markersize": 5}
    axes.plot(shares, [v.value for v in values], label="rules learnt on other rows", **line)
    axes.plot(shares, [point.alike for point in points], "--", color=GREY, label="treating all alike")
    axes.legend(fontsize=SMALL, frameon=False, loc="best")
    labelled(axes.xaxis, f"at most this share of the people gets '{action}'", percent)
    labelled(axes.yaxis, unit.words, unit.tick)
    words = (
        "Each point is what rules learnt under its budget give on folds that they were not learnt from. The band is "
        f"one for all budgets at once ({percent(found.questions.level)}); dashed is the best way to treat all alike "
        "that keeps the budget."
    )
    if not found.supported:
        words += " No rule is shown to be better than treating all alike: what rises may be chance."
    listed = "; ".join(f"{unit.value(point.value.value)} at {percent(point.share, 0)}" for point in points)
    return Drawing("budget", title, figure, listed, words)


MOST_POINTS = 100


def front_of(text: str) -> tuple[str, str]:
    """Return the column that ``--front`` names, and whether "less" or "more" of it is better; raises InputError."""
    found = re.fullmatch(r"(.+?)\s+(less|more)", text.strip())
    if found is None:
        raise InputError(f"cannot read --front '{text}': write COLUMN less or COLUMN more, as it is better")
    return found[1], found[2]


def front_section(found: Findings, question: Question, progress: Progress) -> PageSection:
    """Return the rules that are best for some weighting of two outcomes; raises InputError for more than 100."""
    rows: Any = found.learnt
    text, unit = found.questions.front, found.unit
    column, way = front_of(text)
    scores, second = rows.scores, rows.by_outcome(column, maximise=way == "more")
    tables = scores.costs / scores.weight.sum(), second.costs / scores.weight.sum()
    try:
        front = pareto(question, *tables, most=MOST_POINTS, progress=progress)
    except InputError as error:
        raise InputError(f"--front '{text}': {error}; take fewer --thresholds, or less --depth") from error
    signs = [-1.0 if each.maximise else 1.0 for each in (scores, second)]
    points = [(signs[0] * point.a, signs[1] * point.b) for point in front]
    other = Unit.of_scores(column, second)
    cells = [(f"rule {n}", unit.value(a), other.value(b)) for n, (a, b) in enumerate(points, 1)]
    done = scores.mean(scores.logged), second.mean(second.logged)
    table = PageTable("Table of two outcomes", ("two outcomes", unit.words, other.words), cells)
    rules = [
        PageText(f"Rule {n}", rule_text(in_words(each.policy, found.estimator.policy_)), f"rule {n}")
        for n, each in enumerate(front[: table.most], 1)
    ]
    words = (
        f"{fixed(len(points), 0)} rules are each the best for some weighting of the two outcomes. Values are those in "
        "the rows that the rules were learnt from, so they are too favourable."
    )

    def drawn() -> Mapping[str, Any]:
        return picture(_front_drawing(points, done, unit, other))

    folds = [PageSection("rules", texts=rules)]
    return PageSection("Two outcomes at once", [words], drawn, tables=[table], folds=folds)


@plain()
def _front_drawing(points: list[tuple[float, float]], done: Any, unit: Unit, other: Unit) -> Drawing:
    figure, axes = panel()
    axes.plot(*zip(*points, strict=True), color=COLOURS[0], marker="o", markersize=5)
    ends = [[[each.value - each.lower], [each.upper - each.value]] for each in done]  # no axis is narrower
    square = {"color": GREY, "marker": "s", "markersize": 5, "linewidth": 1.2}
    axes.errorbar(*(each.value for each in done), xerr=ends[0], yerr=ends[1], **square)
    for number in sorted({1, len(points)}):
        place = points[number - 1]
        axes.annotate(str(number), place, xytext=(5, 5), textcoords="offset points", fontsize=SMALL)
    labelled(axes.xaxis, unit.words, unit.tick)
    labelled(axes.yaxis, other.words, other.tick)
    better = [("right" if unit.maximise else "left"), ("up" if other.maximise else "down")]
    listed = "; ".join(f"rule {n}: {unit.value(a)} and {other.value(b)}" for n, (a, b) in enumerate(points, 1))
    words = (
        f"Each point is a rule; {better[0]} and {better[1]} is better. Rule 1 is the best by '{unit.name}', the last "
        f"one by '{other.name}'. The grey square is what was done, with its 95\u202f% intervals."
    )
    return Drawing("front", "Two outcomes at once", figure, listed, words)
