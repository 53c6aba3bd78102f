"""All that is asked of a log: the best policy, its worth, what can be claimed of it, its stability, and its budget."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any

import polars as pl

from milpcb.errors import InfeasibleError
from milpcb.estimators import BudgetPoint, budget_curve, costs, share_at_most
from milpcb.logs.source import Source
from milpcb.offline import Evaluation, Inference, Scores, Stability, evaluate, inference, stability

SHARES = tuple(round(0.1 * step, 1) for step in range(11))


@dataclass(frozen=True)
class Asked:
    """How the questions are asked.

    level : how often intervals and lower bounds hold
    draws, resamples : searches of the band and of the stability; 0 leaves the question out
    budget : name of the action whose share is limited in the curve of values; None for no curve
    seed : of everything that is drawn
    """

    level: float = 0.95
    draws: int = 1000
    resamples: int = 100
    budget: str | None = None
    seed: int = 0


@dataclass(frozen=True, eq=False)
class Findings:
    """What came out.

    ``evaluation`` is of the policy on the rows that it was learnt from, so its values are too good; ``inference`` has
    what can be claimed nevertheless. Those that were not asked for are None, or ().
    """

    source: Source
    estimator: Any
    scores: Scores
    evaluation: Evaluation
    inference: Inference | None
    stability: Stability | None
    budget: tuple[BudgetPoint, ...]
    questions: Asked


def find(source: Source, estimator: Any, questions: Asked, note: Callable[[str], None]) -> Findings:
    """Learn from a log and ask what follows; ``note`` is called with what is being done."""
    note("scores of what each action would have given, and the best policy")
    scores = estimator.estimate_scores(source.log)
    estimator.fit_scores(source.frame, scores)
    problem = estimator.problem(source.frame)
    again: dict[str, Any] = {"seed": questions.seed, "kind": problem.kind}
    claims = stable = None
    if questions.draws:
        note(f"what can be claimed of it: {questions.draws} searches on reweighted rows")
        options = {**again, "draws": questions.draws, "level": questions.level}
        claims = inference(problem.policies, problem.contexts, scores, constraints=problem.constraints, **options)
    if questions.resamples and not problem.constraints:
        note(f"its stability: {questions.resamples} searches on resampled rows")
        found = stability(problem.policies, problem.contexts, scores, resamples=questions.resamples, **again)
        stable = _in_words(found, estimator.policy_)
    if questions.budget is not None:
        note("the value against the budget")
    return Findings(
        source,
        estimator,
        scores,
        evaluate(scores, estimator.policy_, contexts=source.frame, level=questions.level, seed=questions.seed),
        claims,
        stable,
        tuple(_budget(source, estimator, scores, questions.budget)),
        questions,
    )


def _in_words(found: Stability, policy: Any) -> Stability:
    """Return the same with tests as ``policy`` has them: what was searched again read the numbers made of columns."""
    if not hasattr(policy, "graph"):
        return found
    rules: Any = (found.policy, policy)
    nodes = zip(*(each.graph().nodes(data="label") for each in rules), strict=True)
    words_of = {searched: words for (_, searched), (_, words) in nodes}
    tests = {words_of.get(test, test): share for test, share in found.tests.items()}
    depths = tuple(replace(each, policy=_named(each.policy, policy)) for each in found.by_depth)
    return replace(found, tests=tests, by_depth=depths)


def _named(searched: Any, policy: Any) -> Any:
    return replace(searched, names=policy.names)


def _budget(source: Source, estimator: Any, scores: Scores, action: str | None) -> list[BudgetPoint]:
    """Return the best policy for each share of the rows that may get ``action``, by the scores as they are."""
    if action is None:
        return []
    table = pl.DataFrame(scores.table, schema=list(scores.actions))
    points = []
    for share in SHARES:
        try:
            points += budget_curve(_on_costs(estimator, action), source.frame, table, action=action, shares=[share])
        except InfeasibleError:  # by the other constraints
            continue
    return points


def _on_costs(estimator: Any, action: str) -> Any:
    """Return the estimator that learns from a table as this one from its scores, with no limit on the action."""
    cls = getattr(costs, type(estimator).__name__.replace("Logged", "Optimal"))
    known = {field.name for field in fields(cls)}
    settings = {name: value for name, value in estimator.get_params(deep=False).items() if name in known}
    kept = [rule for rule in estimator.constraints if not (isinstance(rule, share_at_most) and rule.action == action)]
    return cls(**{**settings, "constraints": kept, "maximise": estimator.maximise_})
