"""Findings of a log in memory: scores, the best rule, and everything that follows from the rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from milpcb.core.decimals import fixed
from milpcb.errors import InputError
from milpcb.logs.curves import BudgetValue, budget_values, front, in_words, of_numbers
from milpcb.logs.findings import Asked, Claims, Findings, Step
from milpcb.logs.limits import FEWEST, Kept, guaranteed, what_is_kept
from milpcb.logs.origin import as_logged
from milpcb.logs.sections import Unit
from milpcb.logs.source import ScoredRows, Source
from milpcb.logs.what_if import Reader, as_good, what_if
from milpcb.offline import (
    NoWorseThan,
    Reference,
    Stability,
    State,
    best_reference,
    evaluate,
    inference,
    kept_aside,
    stability,
)
from milpcb.offline.restrictions import Question, gain_band
from milpcb.types import Ints

WAYS = {"more": "down", "less": "up"}  # where the action never goes as a column grows
MOST_PRICED = 200  # draws behind the intervals of prices


def foreseen(what: str, option: str, searches: int) -> str:
    """Return what is being done, how often, and the option that leaves it out; how long it takes is measured."""
    return f"{what}, {fixed(searches, 0)} searches ({option} 0 leaves it out)"


def find(source: Source, estimator: Any, questions: Asked, step: Step) -> Findings:
    """Learn from a log and ask what follows; ``step`` is entered around everything that may take long."""
    numbers, aside = _split(source, questions)
    _by_estimates(estimator, questions)
    with step("what each action would have given") as tick:
        learnt = ScoredRows.of(source, estimator, numbers, tick)
    if questions.limits:
        with step("what each action would have given of the other outcomes"):
            how = {"confidence": questions.level, "draws": questions.draws or FEWEST, "seed": questions.seed}
            limits = [guard for limit in questions.limits for guard in limit.guards(learnt, **how)]
            estimator.constraints = [*estimator.constraints, *limits]
    with step("the best rule"):
        estimator.fit_scores(learnt.frame, learnt.scores)
        as_logged(estimator, source)
        problem = estimator.problem(learnt.frame, learnt.scores.weight)
        played = np.asarray(estimator.policy_.predict(learnt.frame))
    again: dict[str, Any] = {"seed": questions.seed, "kind": problem.kind, "constraints": problem.constraints}
    claims = stable = None
    if questions.draws:
        with step(foreseen("what can be claimed of it", "--draws", questions.draws)) as tick:
            options = {**again, "draws": questions.draws, "level": questions.level, "progress": tick}
            options["policy"] = _Printed(played)
            claims = inference(problem.policies, problem.contexts, learnt.scores, **options)
    if questions.resamples and _by_estimates(estimator, questions):
        with step(foreseen("its stability", "--resamples", questions.resamples)) as tick:
            options = {**again, "resamples": questions.resamples, "progress": tick}
            options["policy"] = of_numbers(estimator.policy_)
            stable = stability(problem.policies, problem.contexts, learnt.scores, **options)
            stable = _in_words(stable, estimator.policy_)
    reference = best_reference(learnt.scores, problem.constraints) if claims is None else claims.reference
    policy, options = estimator.policy_, {"level": questions.level, "seed": questions.seed}
    own = evaluate(learnt.scores, policy, contexts=learnt.frame, reference=reference, in_sample=True, **options)
    other = held_out = None
    if aside is not None:
        with step("what each action would have given in the rows kept aside") as tick:
            other = ScoredRows.of(source, estimator, aside, tick)
        asked = estimator.problem(other.frame, other.scores.weight, guarded=False)
        theirs = best_reference(other.scores, asked.constraints)
        held_out = evaluate(other.scores, policy, contexts=other.frame, reference=theirs, **options)
    unit = Unit.of_scores(source.columns.outcome, learnt.scores, questions.unit, own.logged.standard_error)
    return Findings(
        source,
        questions,
        estimator,
        unit,
        learnt,
        other,
        played,
        own,
        held_out,
        None if claims is None else Claims.of(claims, by_estimates=_by_estimates(estimator, questions)),
        stability=stable,
        asked=_kept(estimator, learnt),
        asked_aside=() if other is None else _kept(estimator, other, guarded=False),
        budget=_budget(estimator, learnt, None if claims is None else claims.state, questions, step),
        guaranteed=guaranteed(estimator, learnt.frame, questions.level, questions.draws),
        **_otherwise(learnt, problem, reference, questions, step),
    )


def _by_estimates(estimator: Any, questions: Asked) -> bool:
    """Return whether the rule is the best one of its class by the estimates; raises InputError if it has to be."""
    own_way = bool(questions.limits or estimator.monotone) or estimator.objective != "value"
    if own_way and (questions.restrictions or questions.front or questions.near is not None):
        asked = "--what-if is" if questions.restrictions else "--front is" if questions.front else "--near is"
        raise InputError(f"{asked} for the rule that looks best; leave --no-worse, --monotone and --objective out")
    return not own_way


def _otherwise(
    rows: ScoredRows, question: Question, reference: Reference, questions: Asked, step: Step
) -> dict[str, Any]:
    if not _by_estimates(rows.estimator, questions):
        return {}
    reader = Reader(rows.estimator, rows.frame, question, rows.source.table[rows.numbers], rows.scores.weight)
    with step("how sure prices are") as tick:
        options: dict[str, Any] = {"level": questions.level, "draws": min(questions.draws, MOST_PRICED)}
        options |= {"seed": questions.seed, "progress": tick}
        band = gain_band(question, rows.scores, reference, **options) if questions.draws else None
    with step("what it would cost to have it otherwise") as tick:
        found: dict[str, Any] = {"prices": what_if(reader, rows.scores, band, questions.restrictions, tick)}
    with step("the rules that do as well"):
        policy = rows.estimator.policy_
        found["near"] = as_good(reader, policy, rows.scores, band, found["prices"], questions.near)
    if questions.front:
        with step("the front of two outcomes") as tick:
            found["front"] = front(questions.front, rows, question, tick)
    return found


@dataclass(frozen=True)
class _Printed:
    """The policy that is printed, on the rows it was learnt from: of several that are best, claims are of this one."""

    played: Ints

    def predict(self, contexts: Any) -> Ints:
        """Return what is played in each row (n,)."""
        del contexts
        return self.played


def _split(source: Source, questions: Asked) -> tuple[Ints, Ints | None]:
    if not questions.holdout:
        return np.arange(len(source.log)), None
    aside = kept_aside(source.log, questions.holdout, questions.seed)
    return np.flatnonzero(~aside), np.flatnonzero(aside)


def _kept(estimator: Any, rows: ScoredRows, *, guarded: bool = True) -> tuple[Kept, ...]:
    """Return what is kept in some rows; limits on other outcomes know the rows learnt from, which are ``guarded``."""
    asked = [rule for rule in estimator.constraints if guarded or not isinstance(rule, NoWorseThan)]
    order = (
        Kept(
            f"'{column}' {way}", f"never goes {WAYS[way]} in the order of the actions", True, "whatever the others are"
        )
        for column, way in (estimator.monotone or {}).items()
    )
    return (*what_is_kept(asked, estimator.policy_, rows.frame, rows.scores.weight), *order)


def _in_words(found: Stability, policy: Any) -> Stability:
    """Return the same with tests as ``policy`` has them: what was searched again read the numbers made of columns."""
    if not hasattr(policy, "graph"):
        return found
    rules: Any = (found.policy, policy)
    nodes = zip(*(each.graph().nodes(data="label") for each in rules), strict=True)
    words_of = {searched: words for (_, searched), (_, words) in nodes}
    tests = {words_of.get(test, test): share for test, share in found.tests.items()}
    depths = tuple(replace(each, policy=in_words(each.policy, policy)) for each in found.by_depth)
    return replace(found, tests=tests, by_depth=depths)


def _budget(
    estimator: Any, learnt: ScoredRows, state: State | None, questions: Asked, step: Step
) -> tuple[BudgetValue, ...]:
    """Return the value of learning for each share of the rows that may get an action.

    Where nothing is shown to gain anything, the curve would be of chance: it is left out unless it was asked for.
    """
    if (
        questions.budget is None
        or questions.limits
        or estimator.monotone
        or not (state == State.TARGET or questions.curve)
    ):
        return ()
    with step(f"the value against the budget of '{questions.budget}'") as tick:
        options: dict[str, Any] = {"level": questions.level, "seed": questions.seed, "progress": tick}
        return budget_values(estimator, learnt.frame, learnt.scores, questions.budget, **options)
