"""Questions about the rule of a log: prices of restrictions, rules that do as well, budgets, and two outcomes."""

import re
from collections.abc import Mapping
from contextlib import suppress
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from milpcb.core.decimals import fixed, percent
from milpcb.core.surroundings import plain
from milpcb.core.text import listed
from milpcb.errors import InfeasibleError, InputError, UnknownNameError
from milpcb.estimators import share_at_most
from milpcb.experiments.results.figures.drawing import GREY, SMALL, Drawing
from milpcb.experiments.results.figures.line_styles import COLOURS
from milpcb.experiments.results.report import picture
from milpcb.logs.findings import Findings
from milpcb.logs.sections import PageSection, PageTable, PageText, Unit, labelled, panel, rule_text
from milpcb.offline import IntervalEstimate, Scores, State, best_reference
from milpcb.offline.band import Progress
from milpcb.offline.restrictions import GainBand, Price, Question, pareto, prices
from milpcb.rng import child


def columns_read(policy: Any) -> list[str]:
    """Return the names of the columns that a rule reads."""
    return list(dict.fromkeys(policy.names.columns[place].name for place in sorted(policy.cut_points())))


def restricted(text: str, question: Question, printed: Any) -> Question:
    """Return the question under the restriction that a string describes, by a printed policy; raises InputError."""
    if found := re.fullmatch(r"without (?P<column>.+)|(?P<first>.+) first", text.strip()):
        columns, name = printed.names.columns, found["column"] or found["first"]
        places = tuple(place for place, column in enumerate(columns) if column.name == name)
        if not places:
            raise UnknownNameError("column of --what-if", name, dict.fromkeys(each.name for each in columns))
        return question.without(*places) if found["column"] else question.first(*places)
    name, _, number = text.strip().partition(" ")
    option = next((option for option in (name, f"max_{name}") if hasattr(question.policies, option)), "")
    if not option or not number.isdecimal():
        raise InputError(
            f"cannot read --what-if '{text}': write without COLUMN, COLUMN first, an option of the class and an "
            "integer, as in depth 1, or at-most, never, always or parity, as in never call: age > 70"
        )
    return question.with_options(**{option: int(number)})


def usual_restrictions(question: Question, printed: Any) -> list[str]:
    """Return the usual restrictions: without each column that a rule reads, and with one depth or leaf less."""
    texts, policies = [f"without {name}" for name in columns_read(printed)], question.policies
    if hasattr(policies, "depth") and hasattr(policies, "max_leaves"):
        leaves = len(printed.leaf_actions)
        texts += [f"depth {policies.depth - 1}"] if policies.depth > 1 else []
        texts += [f"leaves {leaves - 1}"] if leaves > 2 else []
    return texts


def what_if(found: Findings, question: Question, band: GainBand | None, progress: Progress) -> tuple[Price, ...]:
    """Return the price per row of each restriction, and of the usual ones; with a band, intervals too."""
    learnt: Any = found.learnt
    printed, costs = found.estimator.policy_, learnt.scores.costs / learnt.scores.weight.sum()
    rules, asked, limited = found.questions.restrictions, dict[str, Question](), copy(found.estimator)
    for text in dict.fromkeys([*rules, *([] if band is None else usual_restrictions(question, printed))]):
        if rule := rules.get(text):
            limited.constraints = [*found.estimator.constraints, rule]
            asked[text] = limited.problem(learnt.frame, learnt.scores.weight)
        else:
            asked[text] = restricted(text, question, printed)
    return tuple(prices(question, costs, asked, band=band, progress=progress)) if asked else ()


def price_section(found: Findings) -> PageSection:
    """Return the table of prices: of each restriction the price, and its interval."""
    if not found.prices:
        return PageSection("")
    heading, unit, level = "What restrictions would cost", found.unit, percent(found.questions.level)
    how = (
        "A price is how much less the best rule gives, in the rows that it was learnt from, if this restriction alone "
        f"is imposed. The intervals ({level}) hold for all prices at once."
    )
    lines = [(price.name, *priced(unit, price)) for price in found.prices]
    headings = ("what if", f"price, {unit.words}", f"{level} interval")
    return PageSection(heading, [how], tables=[PageTable("Table of prices", headings, lines, most=99)])


def priced(unit: Unit, price: Price | None) -> tuple[str, str]:
    """Return a price, and its interval where it is known."""
    if price is None or price.best is None:
        return "not known" if price is None else "no such rule", ""
    return unit.amount(price.price), unit.interval(price) if price.lower == price.lower else ""


NEAR = "Other rules that do as well"
MOST_COMPARED = 1_000  # rows at which their actions are compared
MOST_UNLISTED = 2_000  # different rows up to which rules are counted that the class does not list itself


def near_section(found: Findings, question: Question, band: GainBand | None) -> PageSection:
    """Return the number of rules that do as well as the best, by ``--near`` AMOUNT or the band; what they share."""
    slack, read, n = found.questions.near, columns_read(found.estimator.policy_), question.oracle.n_contexts
    if slack is not None:
        learnt: Any = found.learnt
        costs = learnt.scores.costs / learnt.scores.weight.sum()
        without = {f"without {name}": restricted(f"without {name}", question, found.estimator.policy_) for name in read}
        near = question.oracle.near_best(costs, slack)
        dear = {price.name for price in prices(question, costs, without) if price.best is None or price.price > slack}
        which = f"of this kind look worth at most {found.unit.amount(slack)} less than the best of them"
    elif band is not None:
        near = question.oracle.near_best(band.floors[1], band.slack)
        dear = {price.name for price in found.prices if price.lower > 0 or price.best is None}
        sure = percent(found.questions.level)
        which = f"of this kind are not shown to be worse than the best of them ({sure} confidence)"
    else:
        return PageSection("")
    rows = child(0, "logs", "near").permutation(n)[:MOST_COMPARED]
    if not (near.listed or len(question.oracle.opened.contexts) <= MOST_UNLISTED):
        count = f"How many rules {which} was not counted, as the log has too many different rows."
    elif near.exact and near.count == 1:
        return PageSection(NEAR, [f"No other rules {which}."])
    else:
        count = f"{'' if near.exact else 'More than '}{fixed(near.count, 0)} rules {which}."
    needed = [f"'{name}'" for name in read if f"without {name}" in dear]
    common = f"All of them read {listed(needed)}." if needed else "No column is read by all of them."
    contested, looked_at = int((near.played(rows).sum(axis=1) > 1).sum()), fixed(len(rows), 0)
    differ = f"On {fixed(contested, 0)} of the {looked_at} rows compared they do not all play the same action."
    return PageSection(NEAR, [count, common, differ])


SHARES = tuple(round(0.1 * step, 1) for step in range(11))
MOST_ROWS = 10_000  # that are gone through for each budget
BAND = 0.18  # opacity


@dataclass(frozen=True)
class BudgetValue:
    """The value of learning where at most ``share`` (0..1) of the rows get the action."""

    share: float  # the budget
    used: float  # the share (0..1) that gets the action, in rows that were not learnt from
    value: IntervalEstimate  # in these rows; the interval is one of a band that holds for all budgets at once
    alike: float  # what the best way to treat all alike within the budget gives


def budget_values(
    estimator: Any, frame: pl.DataFrame, scores: Scores, action: str, *, level: float, seed: int, progress: Progress
) -> tuple[BudgetValue, ...]:
    """Return the value for each budget, by at most 10 000 rows; all intervals hold at once, at the ``level``."""
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
            played = problem.held_out(scores.costs, scores.fold)
            value = scores.mean(scores.table[np.arange(len(played)), played], each)
            used = float(np.average(played == scores.actions.index(action), weights=scores.weight))
            found.append(BudgetValue(share, used, value, best_reference(scores, problem.constraints).value))
        progress(number + 1, len(SHARES))
    return tuple(found)


def budget_section(found: Findings, progress: Progress) -> PageSection:
    """Return the curve of values for the budgets of ``--budget``; empty where the other limits allow none of them."""
    asked, action = found.questions, str(found.questions.budget)
    rows: Any = found.learnt
    points = budget_values(
        found.estimator, rows.frame, rows.scores, action, level=asked.level, seed=asked.seed, progress=progress
    )
    if not points:
        return PageSection("")
    heading = f"Value against the budget of '{action}'"
    return PageSection(heading, picture=lambda: picture(_budget_drawing(found, points, heading)))


@plain()
def _budget_drawing(found: Findings, points: tuple[BudgetValue, ...], title: str) -> Drawing:
    unit, action = found.unit, found.questions.budget
    figure, axes = panel()
    shares, values = [point.share for point in points], [point.value for point in points]
    axes.fill_between(shares, [v.lower for v in values], [v.upper for v in values], color=COLOURS[0], alpha=BAND, lw=0)
    line = {"color": COLOURS[0], "marker": "o", "markersize": 5}
    axes.plot(shares, [v.estimate for v in values], label="rules learnt on other rows", **line)
    axes.plot(shares, [point.alike for point in points], "--", color=GREY, label="treating all alike")
    axes.legend(fontsize=SMALL, frameon=False, loc="best")
    labelled(axes.xaxis, f"at most this share of the people gets '{action}'", percent)
    labelled(axes.yaxis, unit.words, unit.tick)
    words = (
        "Each point is the value of rules learnt under its budget, on folds that they were not learnt from. The band "
        f"is one for all budgets at once ({percent(found.questions.level)}); dashed is the best way to treat all alike "
        "that keeps the budget."
    )
    if found.state != State.TARGET:
        words += " No rule is shown to be better than treating all alike: what rises may be chance."
    listed = "; ".join(f"{unit.value(point.value.estimate)} at {percent(point.share, 0)}" for point in points)
    return Drawing("budget", title, figure, listed, words)


MOST_POINTS = 100


def front_of(text: str) -> tuple[str, str]:
    """Return the column of ``--front``, and whether "less" or "more" of it is better; raises InputError."""
    found = re.fullmatch(r"(.+?)\s+(less|more)", text.strip())
    if found is None:
        raise InputError(f"cannot read --front '{text}': write COLUMN less or COLUMN more, whichever is better")
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
        PageText(f"Rule {n}", rule_text(replace(each.policy, names=found.estimator.policy_.names)), f"rule {n}")
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
    ends = [[[each.estimate - each.lower], [each.upper - each.estimate]] for each in done]  # no axis is narrower
    square = {"color": GREY, "marker": "s", "markersize": 5, "linewidth": 1.2}
    axes.errorbar(*(each.estimate for each in done), xerr=ends[0], yerr=ends[1], **square)
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
