"""One page on a log: the rule, what it is worth, what can be claimed, and how far the log can be trusted."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from milpcb.experiments.results.figures.drawing import Drawing, finish, render
from milpcb.experiments.results.report import fill, picture
from milpcb.logs import words
from milpcb.logs.figures import budget_drawing, rule_figure
from milpcb.logs.findings import Findings
from milpcb.offline import IntervalEstimate

Row = list[str]


def page(found: Findings, command: str) -> str:
    """Return the HTML page, which needs no network; ``command`` makes it again."""
    log = found.source.log
    return fill(
        "learned.html.jinja",
        title=f"A policy from {found.source.name}",
        subtitle=f"{len(log):,} rows, {len(log.actions)} actions: {', '.join(log.actions)}",
        verdict=words.verdict(found),
        warnings=words.warnings(found),
        sentences=words.sentences(found),
        rules=str(found.estimator.policy_),
        drawing=_drawn(found),
        optimism=words.optimism(found.evaluation),
        level=f"{found.questions.level:.0%}",
        values=list(_values(found)),
        leaves=list(_leaves(found)),
        claims=words.claims_table(found.inference) if found.inference else [],
        budget=picture(budget_drawing(found)) if found.budget else None,
        budget_rows=[[f"{p.share:.0%}", f"{p.used:.1%}", f"{p.value:.6g}"] for p in found.budget],
        returns=_returns(found),
        depths=_depths(found),
        trust=list(_trust(found)),
        sql=_source(found, "to_sql"),
        python=_source(found, "to_python"),
        command=command,
    )


def _drawn(found: Findings) -> dict[str, Any] | None:
    """Return the picture of the rule; None for a policy that has no drawing."""
    if not hasattr(found.estimator.policy_, "figure"):
        return None
    figure = finish(rule_figure(found))
    return picture(Drawing("policy", "The rule", figure, "Drawing of the policy; its rules are written above.", ""))


def rule_pictures(found: Findings) -> dict[str, bytes]:
    """Return the drawing of the rule by the ending of its file; none where it has no drawing."""
    if not hasattr(found.estimator.policy_, "figure"):
        return {}
    return render(finish(rule_figure(found)))


def _values(found: Findings) -> Iterator[Row]:
    """Yield what is compared: its value, standard error and interval, and how much better the policy is."""
    evaluation = found.evaluation
    yield ["this policy", *_estimate(evaluation.value), ""]
    for name, value in evaluation.constants.items():
        best = " (the best constant)" if name == evaluation.best_constant else ""
        yield [f"always '{name}'{best}", *_estimate(value), str(evaluation.gain_over[name])]
    yield ["what was done", *_estimate(evaluation.logged), str(evaluation.gain_over_logged)]


def _leaves(found: Findings) -> Iterator[Row]:
    for leaf in found.evaluation.leaves:
        yield [str(leaf.part + 1), leaf.name, f"{leaf.share:.1%}", *_estimate(leaf.value), str(leaf.gain)]


def _estimate(estimate: IntervalEstimate) -> Row:
    interval = f"{estimate.lower:.4g} to {estimate.upper:.4g}"
    return [f"{estimate.value:.4g}", f"{estimate.standard_error:.2g}", interval]


def _returns(found: Findings) -> list[Row]:
    if found.stability is None:
        return []
    return [[test, f"{share:.0%}"] for test, share in found.stability.tests.items()]


def _depths(found: Findings) -> list[dict[str, str]]:
    if found.stability is None:
        return []
    return [
        {"depth": str(each.depth), "value": str(each.value), "rules": str(each.policy)}
        for each in found.stability.by_depth
    ]


def _trust(found: Findings) -> Iterator[Row]:
    """Yield for each action how often it was done, and how far what is known of it can be trusted."""
    log, known = found.source.log, found.scores.diagnostics
    counts = np.bincount(log.action, minlength=len(log.actions))
    for k, name in enumerate(log.actions):
        explained = known.outcome_r2[k]
        yield [
            name,
            f"{counts[k]:,}",
            f"{known.least_propensity[k]:.3g}",
            f"{known.effective_size[k]:,.0f}",
            f"{known.calibration[k]:.2f}",
            f"{explained:.2f}" if np.isfinite(explained) else "-",
        ]


def _source(found: Findings, method: str) -> str:
    """Return the policy as source code; "" for a class that has none."""
    decision = getattr(found.estimator.policy_, "decision", lambda: None)()
    return "" if decision is None else str(getattr(found.estimator, method)())
