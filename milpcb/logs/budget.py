"""Value against budget: what learning under each budget gives on rows that were not learnt from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from milpcb.core.decimals import percent
from milpcb.core.surroundings import plain
from milpcb.errors import InfeasibleError
from milpcb.estimators import share_at_most
from milpcb.experiments.results.figures.drawing import GREY, SMALL, Drawing
from milpcb.experiments.results.figures.looks import COLOURS
from milpcb.experiments.results.report import picture
from milpcb.logs.amounts import Unit
from milpcb.logs.sections import PageSection, PageTable, labelled, panel
from milpcb.offline import IntervalEstimate, Scores, best_reference
from milpcb.offline.cross_fitting import held_out
from milpcb.oracles import open_oracle
from milpcb.rng import child

SHARES = tuple(round(0.1 * step, 1) for step in range(11))
MOST_ROWS = 10_000  # that are gone through for each budget
BAND = 0.18  # opacity


@dataclass(frozen=True)
class BudgetValue:
    """Result of learning where at most ``share`` (0..1) of the rows get the action.

    Attributes
    ----------
    share : the budget
    used : the share (0..1) that gets the action, in rows that were not learnt from
    value : in these rows; the interval is one of a band that holds for all budgets at once
    alike : what the best way to treat all alike within the budget gives

    """

    share: float
    used: float
    value: IntervalEstimate
    alike: float


def budget_values(
    estimator: Any,
    frame: pl.DataFrame,
    scores: Scores,
    action: str,
    *,
    level: float,
    seed: int,
    progress: Callable[[int, int], None],
) -> tuple[BudgetValue, ...]:
    """Return the value for each budget that the other limits allow.

    Parameters
    ----------
    estimator : fitted to the rows of ``frame``; its own limit on the action is replaced by each budget
    frame, scores : the features of the rows and their scores, of which at most 10 000 are gone through
    action : name of the action
    level : how often all intervals hold
    seed : of the rows that are taken
    progress : called with how many budgets are done

    """
    if len(frame) > MOST_ROWS:
        rows = np.sort(child(seed, "logs", "budget").choice(len(frame), MOST_ROWS, replace=False))
        frame, scores = frame[rows], scores.take(rows)
    found, each = [], 1 - (1 - level) / len(SHARES)  # the union of so many errors
    for number, share in enumerate(SHARES):
        with suppress(InfeasibleError):  # by the other limits
            found.append(_value(_limited(estimator, action, share), frame, scores, action, share, each))
        progress(number + 1, len(SHARES))
    return tuple(found)


def budget_limit(estimator: Any, action: str | None) -> float | None:
    """Return the share that an estimator allows an action, None where it is not limited."""
    return min((rule.share for rule in estimator.constraints if _limits(rule, action)), default=None)


def _limits(rule: Any, action: str | None) -> bool:
    return isinstance(rule, share_at_most) and rule.action == action


def _limited(estimator: Any, action: str, share: float) -> Any:
    """Return the estimator with another limit on the action."""
    other = copy(estimator)
    other.constraints = [*(rule for rule in estimator.constraints if not _limits(rule, action))]
    other.constraints.append(share_at_most(action, share))
    return other


def _value(estimator: Any, frame: pl.DataFrame, scores: Scores, action: str, share: float, level: float) -> BudgetValue:
    problem = estimator.problem(frame, scores.weight)
    oracle = open_oracle(problem.policies, problem.contexts, kind=problem.kind, constraints=problem.constraints)
    played = held_out(oracle, problem.contexts, scores.costs, scores.fold)
    value = scores.mean(scores.table[np.arange(len(played)), played], level)
    used = float(np.average(played == scores.actions.index(action), weights=scores.weight))
    return BudgetValue(share, used, value, best_reference(scores, problem.constraints).value)


def budget_section(
    points: Sequence[BudgetValue],
    action: str | None,
    unit: Unit,
    level: float,
    limit: float | None,
    *,
    missing: str,
    supported: bool,
) -> PageSection:
    """Return the curve as a picture and a table.

    ``limit`` is the share of the action that was asked for, and ``supported`` whether some rule is shown to be better.
    """
    if not points:
        return PageSection("Value against a budget", missing=missing)
    points, all_points = _that_matter(points), points

    def drawn() -> Any:
        ended = len(points) < len(all_points)
        return picture(_drawing(points, action, unit, level, limit, supported=supported, ended=ended))

    headings = ("at most", "used", unit.words, f"{percent(level)} band", "treating all alike")
    table = PageTable("Table of budgets", headings, [_row(point, unit) for point in points])
    folds = [PageSection("as a table", tables=[table])]
    return PageSection(f"Value against the budget of '{action}'", picture=drawn, folds=folds)


def _that_matter(points: Sequence[BudgetValue]) -> Sequence[BudgetValue]:
    """Return the budgets up to the first beyond which neither the value changes nor what is used."""
    last = (points[-1].used, points[-1].value.value)
    changing = [number for number, point in enumerate(points) if (point.used, point.value.value) != last]
    return points[: max(changing, default=-1) + 2]


def _row(point: BudgetValue, unit: Unit) -> list[str]:
    value = point.value
    ends = unit.ends(value.lower, value.upper)
    return [percent(point.share, 0), percent(point.used, 1), unit.value(value.value), ends, unit.value(point.alike)]


@plain()
def _drawing(
    points: Sequence[BudgetValue],
    action: str | None,
    unit: Unit,
    level: float,
    limit: float | None,
    *,
    supported: bool,
    ended: bool,
) -> Drawing:
    """Return the held-out value of learning against the share of rows that may get the action."""
    figure, axes = panel()
    shares, values = [point.share for point in points], [point.value for point in points]
    line = {"color": COLOURS[0], "marker": "o", "markersize": 5}
    axes.fill_between(shares, [v.lower for v in values], [v.upper for v in values], color=COLOURS[0], alpha=BAND, lw=0)
    axes.plot(shares, [v.value for v in values], label="rules learnt on other rows", **line)
    axes.plot(shares, [point.alike for point in points], "--", color=GREY, label="treating all alike")
    if limit is not None:
        axes.axvline(limit, color=COLOURS[1], linewidth=1.2)
        side = {"xytext": (4, -10)} if limit < shares[-1] / 2 else {"xytext": (-4, -10), "ha": "right"}
        axes.annotate("asked for", (limit, 1.0), xycoords=("data", "axes fraction"), **side,
                      textcoords="offset points", color=COLOURS[1], fontsize=SMALL)  # fmt: skip
    axes.legend(fontsize=SMALL, frameon=False, loc="best")
    labelled(axes.xaxis, f"at most this share of the people gets '{action}'", lambda share: percent(share, 0))
    labelled(axes.yaxis, unit.words, unit.tick)
    first, last = points[0], points[-1]
    chance = "" if supported else " No rule is shown to be better than treating all alike: what rises may be chance."
    end = f" Beyond {percent(last.share, 0)} the budget no longer matters: nothing changes." if ended else ""
    return Drawing(
        "budget",
        f"Value against the budget of '{action}'",
        figure,
        f"From {unit.value(first.value.value)} at {percent(first.share, 0)} to {unit.value(last.value.value)} at "
        f"{percent(last.share, 0)}.",
        "Each point is what rules learnt under its budget give on folds that they were not learnt from. The band "
        f"is one for all budgets at once ({percent(level)}); dashed is the best way to treat all alike that keeps the "
        f"budget.{end}{chance}",
    )
