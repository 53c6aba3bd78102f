"""Findings of a log, in memory or in one pass over its files: the best rule, and all that follows from the rows.

The band of milpcb.offline searches again and again over the rows, which are gone after one pass. It is replaced by
Bernstein's inequality for all N rules of the class at once, each compared with each of the K constants: with s the
standard error of a mean, w the length of the range of its terms and L = ln(4 N K / (1 - level)), no rule's mean is off
by more than sqrt(2 L) s + 7 w L / (3 (n - 1)) (Maurer and Pontil 2009, theorem 4, and the union bound). It holds at
every n, for terms in the range seen, and it is wide: for trees of depth 2, L is about 25, so that intervals are some
three times as long as ordinary ones. Hold-out rows have ordinary ones.
"""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np

from milpcb.core.checks import real
from milpcb.core.decimals import fixed
from milpcb.errors import InputError
from milpcb.estimators.one_pass import Layout
from milpcb.logs.files import LogFiles
from milpcb.logs.findings import Asked, Claims, Findings, Step
from milpcb.logs.limits import FEWEST, what_is_kept
from milpcb.logs.origin import as_logged
from milpcb.logs.questions import budget_section, front_section, near_section, what_if
from milpcb.logs.sections import PageSection, Unit
from milpcb.logs.source import ScoredRows, Source
from milpcb.offline import Evaluation, Stability, State, best_reference, evaluate, inference, kept_aside, stability
from milpcb.offline.compressed import CompressedLog, evaluate_sums
from milpcb.offline.evaluate import over_best
from milpcb.offline.inference import SMALL
from milpcb.offline.intervals import UNKNOWN, at_level
from milpcb.offline.restrictions import Question, gain_band
from milpcb.protocols import open_class
from milpcb.rng import uniforms
from milpcb.types import Bools, Floats, Ints

MOST_PRICED = 200  # draws behind the intervals of prices


def find(source: Source, estimator: Any, questions: Asked, step: Step) -> Findings:
    """Learn from a log and answer the questions; ``step`` is entered around everything that may take long."""
    aside = np.zeros(len(source.log), dtype=bool)
    if questions.holdout:
        aside = kept_aside(source.log, questions.holdout, questions.seed)
    own_way = bool(questions.limits or estimator.monotone) or estimator.objective != "value"
    asked: dict[str, Any] = {"--what-if": questions.restrictions, "--front": questions.front}
    asked |= {"--budget": questions.budget, "--near": questions.near is not None}
    for option, given in asked.items():
        if given and own_way:
            raise InputError(
                f"{option} is for the rule that looks best; leave --no-worse, --monotone and --objective out"
            )
    with step("scores of each action") as tick:
        learnt = ScoredRows.of(source, estimator, np.flatnonzero(~aside), tick)
    if questions.limits:
        with step("scores of the other outcomes"):
            how = {"confidence": questions.level, "draws": questions.draws or FEWEST, "seed": questions.seed}
            limits = [guard for limit in questions.limits for guard in limit.guards(learnt, **how)]
            estimator.constraints = [*estimator.constraints, *limits]
    with step("the best rule"):
        estimator.fit_scores(learnt.frame, learnt.scores)
        as_logged(estimator, source)
        problem = estimator.problem(learnt.frame, learnt.scores.weight)
        played = np.asarray(estimator.policy_.predict(learnt.frame))
    again: dict[str, Any] = {"seed": questions.seed, "kind": problem.kind, "constraints": problem.constraints}
    searched = problem.policies, problem.contexts, learnt.scores
    claims = stable = None
    if questions.draws:
        printed = SimpleNamespace(predict=lambda _contexts: played)  # of several best ones claims are of this one
        with step(f"claims about it, {fixed(questions.draws, 0)} searches (--draws 0 leaves it out)") as tick:
            more = {"draws": questions.draws, "level": questions.level, **again}
            claims = inference(*searched, policy=printed, progress=tick, **more)
    if questions.resamples and not own_way:
        with step(f"its stability, {fixed(questions.resamples, 0)} searches (--resamples 0 leaves it out)") as tick:
            numbered = replace(estimator.policy_, names=type(estimator.policy_.names)())  # as it was searched for
            found = stability(*searched, policy=numbered, resamples=questions.resamples, progress=tick, **again)
            stable = _in_words(found, estimator.policy_)
    policy, level = estimator.policy_, questions.level
    reference = best_reference(learnt.scores, problem.constraints) if claims is None else claims.reference
    own = evaluate(learnt.scores, policy, contexts=learnt.frame, reference=reference, in_sample=True, level=level)
    other = held_out = None
    if aside.any():
        with step("scores in the hold-out rows") as tick:
            other = ScoredRows.of(source, estimator, np.flatnonzero(aside), tick)
        theirs = estimator.problem(other.frame, other.scores.weight, guarded=False).constraints
        reference = best_reference(other.scores, theirs)
        held_out = evaluate(other.scores, policy, contexts=other.frame, reference=reference, level=level)
    everything = Findings(
        source,
        questions,
        estimator,
        Unit.of_scores(source.columns.outcome, learnt.scores, questions.unit, own.logged.standard_error),
        learnt,
        other,
        played,
        own,
        held_out,
        None if claims is None else Claims.of(claims, by_estimates=not own_way),
        stability=stable,
        asked=what_is_kept(estimator, learnt),
    )
    return _with_sections(everything, problem, step)


def _with_sections(found: Findings, question: Question, step: Step) -> Findings:
    rows: Any = found.learnt
    questions, sections = found.questions, dict[str, PageSection]()
    if questions.budget is not None:
        with step(f"the value against the budget of '{questions.budget}'") as tick:
            sections["budget"] = budget_section(found, tick)
    if not found.own_way:
        with step("prices of restrictions") as tick:
            how: dict[str, Any] = {"level": questions.level, "seed": questions.seed, "progress": tick}
            draws, band = min(questions.draws, MOST_PRICED), None
            if draws:
                band = gain_band(question, rows.scores, found.reference, draws=draws, **how)
            found = replace(found, prices=what_if(found, question, band, tick))
            sections["near"] = near_section(found, question, band)
        if questions.front:
            with step("the front of two outcomes") as tick:
                sections["front"] = front_section(found, question, tick)
    return replace(found, sections=sections)


def _in_words(found: Stability, policy: Any) -> Stability:
    """Return the same with tests as ``policy`` has them: what was searched again read the numbers made of columns."""
    rules: Any = (found.policy, policy)
    nodes = zip(*(each.graph().nodes(data="label") for each in rules), strict=True)
    words_of = {searched: words for (_, searched), (_, words) in nodes}
    tests = {words_of.get(test, test): share for test, share in found.tests.items()}
    return replace(found, tests=tests)


def learn_in_one_pass(files: LogFiles, source: Source, estimator: Any, questions: Asked, step: Step) -> Findings:
    """Learn from sums over the files of a log, given a sample of it; raises InputError with a damaged file."""
    if questions.holdout:
        real("holdout", questions.holdout, "between 0 and 1 (0.3 is usual)", lambda value: 0 < value < 1)
    with step("how rows are counted, by the sample"):
        read = replace(source.columns, features=tuple(source.frame.columns))
        learnt = np.flatnonzero(~aside_in_pass(source.numbers, questions))
        layout: Layout = estimator.layout(source.table, read, source.numbers, learnt)
    parts = [layout.empty() for _ in range(2 if questions.holdout else 1)]

    def add(frame: Any, number: int) -> None:
        aside = aside_in_pass(number + np.arange(len(frame)), questions)
        layout.add(frame, number, *zip(parts, (~aside, aside), strict=False))

    with step(f"adding up {fixed(files.n, 0)} rows of {fixed(len(files.paths), 0)} files") as tick:
        files.read((*layout.log.names, *layout.features), source.columns.missing, add, tick)
    with step("the best rule"):
        estimator.fit_statistics(layout, parts[0])
        as_logged(estimator, source)
    rows, columns, level = estimator.compressed_, source.columns, questions.level
    own = value_of(estimator, layout, rows, level, in_sample=True)
    (y, yy), (least, most) = parts[0].outcomes.sum(axis=0)[:2], parts[0].outcome_range
    zero_one = least >= 0 and most <= 1 and y == yy  # y^2 is at most y, and y only at 0 and 1
    binary = bool(zero_one and not any((estimator.treatment_cost or {}).values()))
    claims = claims_of(estimator, layout.contexts(rows.codes), level)
    aside = layout.compressed(parts[1]) if questions.holdout else None
    return Findings(
        source,
        questions,
        estimator,
        Unit(columns.outcome, columns.maximise, binary, own.logged.standard_error, questions.unit),
        rows,
        aside,
        estimator.played_,
        own,
        None if aside is None else value_of(estimator, layout, aside, level),
        replace(claims, words=_words(files, len(source.log), estimator, claims)),
        files=len(files.paths),
    )


def aside_in_pass(numbers: Ints, questions: Asked) -> Bools:
    """Return the hold-out rows (n,) of a log in one pass: by a hash of their numbers in it."""
    salt = np.uint64((questions.seed % 2**16) << 48)
    return np.asarray(uniforms(salt | numbers.astype(np.uint64)) < questions.holdout)


def value_of(
    estimator: Any, layout: Layout, rows: CompressedLog, level: float, *, in_sample: bool = False
) -> Evaluation:
    """Return the value of the policy of a fitted estimator in some rows."""
    contexts = layout.contexts(rows.codes)
    played, part = (np.asarray(ask(contexts)) for ask in (estimator.found_.predict, estimator.found_.apply))
    return evaluate_sums(rows, played, part, level, in_sample=in_sample)


def _words(files: LogFiles, sampled_rows: int, estimator: Any, claims: Claims) -> tuple[str, ...]:
    rows: CompressedLog = estimator.compressed_
    passed = (
        f"The log was read in one pass: {fixed(rows.n, 0)} rows of {fixed(len(files.paths), 0)} files were added up to "
        f"sums for {fixed(len(rows.codes), 0)} contexts, in which every rule has the total that it has over the rows. "
        f"Cut points are those of a sample of {fixed(sampled_rows, 0)} rows."
    )
    models = (
        f"; models of the outcome were fitted to rows of the sample in {estimator.cv} folds, and none predicts a row "
        "that it was fitted to"
    )
    scores = f"Scores by {estimator.method}, with the propensities given{models if estimator.method == 'dr' else ''}."
    bernstein = (
        "The intervals of the rule hold for all rules of its class at once, by Bernstein's inequality for "
        f"exp({claims.log_size:.1f}) rules, each compared with each of {len(rows.counts)} constants, and for outcomes "
        "in the range that was seen."
    )
    return passed, scores, bernstein


def claims_of(estimator: Any, contexts: Floats, level: float) -> Claims:
    """Return claims about the policy of a fitted estimator, and about all of its class, on ``contexts`` (m, d)."""
    found: CompressedLog = estimator.compressed_
    log_size = float(open_class(estimator.policies_, contexts).log_size)
    each = np.log(4 / (1 - level)) + log_size + np.log(len(found.constants))
    quantile, beyond = np.sqrt(2 * each), 7 * each / (3 * (found.n - 1))
    value = at_level(found.value(estimator.played_), quantile, beyond * found.ranges.entry)
    gains = {
        k: at_level(found.gain(estimator.played_, k), quantile, beyond * found.ranges.difference)
        for k in np.flatnonzero(found.known).tolist()
    }
    gain = over_best(gains[found.best_action], gains, gains) if gains else UNKNOWN
    best, squares = found.best_action, found.squares(found.best_action)
    least = float(Question(estimator.policies_, contexts).oracle.minimise(-squares).lower)
    spread = np.sqrt(max(0.0, -least) / found.n / (found.n - 1))
    sign = 1.0 if found.maximise else -1.0
    looks = sign * (estimator.lower_bound_ - found.constants[best])  # no rule looks better than the bound of the search
    most = max(0.0, looks + quantile * spread + beyond * found.ranges.difference)
    small = SMALL * found.spread
    state = State.TARGET if gain.lower > 0 else State.ALIKE if most <= small and gains else State.EARLY
    if not found.diagnostics.fits:
        state = State.EARLY
    return Claims(value, gain, most, small, state, log_size=log_size)
