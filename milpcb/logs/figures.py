"""The pictures of a page on a log: the rule with what is known of its parts, and the value against the budget."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from matplotlib.ticker import PercentFormatter

from milpcb.experiments.results.figures.drawing import GREY, MEDIUM, SMALL, Drawing, grid
from milpcb.experiments.results.figures.looks import COLOURS
from milpcb.logs.findings import Findings


def leaf_summaries(found: Findings) -> list[Any]:
    """Return for each part of the policy its action, share, value and interval; a part without rows has no value."""
    known = {leaf.part: leaf for leaf in found.evaluation.leaves}
    summaries = found.estimator.policy_.leaves(found.source.frame)
    return [
        replace(summary, note=f"value {known[part].value}") if part in known else summary
        for part, summary in enumerate(summaries)
    ]


def rule_figure(found: Findings) -> Any:
    """Return the drawing of the rule."""
    return found.estimator.policy_.figure(leaf_summaries(found))


def budget_drawing(found: Findings) -> Drawing:
    """Return the value of the best policy against the share of rows that may get the action."""
    action, points = found.questions.budget, found.budget
    figure, (axes,) = grid(1, 1, 3.4, "")
    line = {"color": COLOURS[0], "marker": "o", "markersize": 5}
    axes.plot([point.share for point in points], [point.value for point in points], **line)
    best = found.evaluation.best_constant
    axes.axhline(found.evaluation.constants[best].value, color=GREY, linestyle="--", linewidth=1)
    label = f"always {best}"
    axes.annotate(label, (0.0, found.evaluation.constants[best].value), xytext=(4, 4), textcoords="offset points",
                  color=GREY, fontsize=SMALL, parse_math=False)  # fmt: skip
    axes.set_xlabel(f"at most this share of the rows gets '{action}'", fontsize=MEDIUM, parse_math=False)
    axes.set_ylabel("mean reward" if found.evaluation.maximise else "mean cost", fontsize=MEDIUM)
    axes.xaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    first, last = points[0], points[-1]
    return Drawing(
        "budget",
        f"Value against the budget of '{action}'",
        figure,
        f"The value goes from {first.value:.4g} at {first.share:.0%} to {last.value:.4g} at {last.share:.0%}.",
        "Each point is the best policy of the class for its budget, on the rows of the fit"
        + (", proved." if all(point.optimal for point in points) else "; not all are proved."),
    )
