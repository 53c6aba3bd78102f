"""The findings of a log in sentences: the verdict first, then what to do, then the reasons.

A *verdict* is one of three: treat people differently, treat all alike, or too early to know. It is that of
milpcb.offline.inference, in which both claims agree, in words for somebody who has to decide.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from milpcb.logs.findings import Findings
from milpcb.logs.unit import Unit
from milpcb.offline import DepthValue, Evaluation, Inference, Reference, State

MARKS = {State.TARGET: "Treat people differently", State.ALIKE: "Treat all alike", State.EARLY: "Too early to decide"}
SIGNS = {State.TARGET: "\u2713", State.ALIKE: "=", State.EARLY: "?"}  # beside the marks, for the eye
NOT_ASKED = "Not asked"
LEAST_P = 0.001  # smaller ones are not written out


def other(found: Findings) -> str:
    """Return what treating all alike means here, to be read after "than"."""
    return alike(found.reference)


def alike(reference: Reference) -> str:
    """Return what a way to treat all alike does, to be read after "than"."""
    if reference.constant is not None:
        return f"'{reference.constant}' for everybody"
    if reference.allowed_first:
        return reference.allowed_first
    within = "" if len(reference.lottery) == 1 else " within what was asked for"
    shares = [f"'{name}' for {100 * share:.3g}" for name, share in reference.probabilities.items()]
    return f"drawing lots{within} ({', '.join(shares[:-1])} and {shares[-1]} of 100)"


def mark(found: Findings) -> str:
    """Return the verdict in three words."""
    return NOT_ASKED if found.state is None else MARKS[found.state]


def rules(policy: Any) -> str:
    """Return a rule as it prints, a leaf of a tree or list being its action alone."""
    text = str(policy)
    return re.sub(r"(?m)^(\s*)play ", r"\1", text) if text.startswith(("if ", "play ")) else text


def lead(found: Findings) -> str:
    """Return mark, verdict and advice in one paragraph."""
    return f"{mark(found)}: {verdict(found)} {advice(found)}"


def verdict(found: Findings) -> str:
    """Return what is known in a sentence or two, for somebody who decides."""
    claims, alike = found.inference, other(found)
    if claims is None:
        return f"whether a rule is better than {alike} (--draws 0)."
    if not found.sound:
        return (
            f"the propensities do not fit the log, so whether any rule is better than {alike} does not follow from "
            "them: see the warning."
        )
    if not found.kept_surely:
        return (
            "the log has too few events of another outcome that is limited: whether a rule keeps the limit is not "
            "known, whatever its own outcome."
        )
    if found.own_way and claims.enough and found.state != State.ALIKE:
        shown = "deciding by the rule is" if found.proved else "it is not shown that deciding by the rule is"
        return f"{shown} better than {alike}; {_own(found)} ({claims.level:.0%} confidence)."
    return f"{_by_estimates(found, claims)}{_beside(found)}"


def _beside(found: Findings) -> str:
    """Return why the rows kept aside may show a gain that the verdict does not; "" where they do not."""
    if found.held_out is None or not found.shown_aside or found.state == State.TARGET:
        return ""
    aside, unit = found.held_out.gain, Unit.of(found)
    return (
        f" Rows kept aside show a gain of this one rule, {unit.gain(aside.value)} ({unit.interval(aside)}). This is "
        "another question: the p-value is about learning rules in this way, the interval about one rule in a few other "
        "rows, and by chance some intervals miss. More rows show which of them is right."
    )


def _by_estimates(found: Findings, claims: Inference) -> str:
    """Return what is known of the rule that looks best, and of learning such rules."""
    unit, alike = Unit.of(found), other(found)
    p, sure = chance(claims.p_value), f"{claims.level:.0%} confidence"
    if found.state == State.TARGET:
        what = "deciding by the rule" if found.proved else "deciding by a rule learnt in this way"
        still = "" if found.proved else ", so that it is above 0 is likely, and not shown"
        return f"{what} is better than {alike} ({p}). {_expected(found, claims, unit)}; {_own(found)} ({sure}){still}."
    if not claims.enough:
        return (
            "nearly all that differs between the actions comes from a few rows, too few such events to know whether "
            f"any rule is better than {alike}."
        )
    most = f"no rule of this kind gains more than {unit.gain(claims.most)} over it ({sure})"
    if found.state == State.ALIKE:
        return f"there is no evidence that any rule is better than {alike} ({p}), and {most}, which is small."
    if claims.p_value <= 1 - claims.level:
        return (
            f"rules learnt in this way are better than {alike} ({p}), but of this very rule it is not shown. "
            f"{_expected(found, claims, unit)}; {_own(found)} ({sure})."
        )
    return (
        f"there is no evidence that any rule is better than {alike} ({p}), and none that no rule is: some rule could "
        f"gain up to {unit.gain(claims.most)}. The best of so many rules could look so good by chance."
    )


def _expected(found: Findings, claims: Inference, unit: Unit) -> str:
    sign = 1.0 if unit.maximise else -1.0
    base = found.reference.value
    return (
        f"Expect about {unit.of_value(base + sign * claims.cross_fitted.gain)} instead of {unit.value(base)}, "
        "as such rules give in rows that they were not learnt from"
    )


def chance(p: float) -> str:
    """Return a p-value as it is written in sentences."""
    return "p < 0.001" if p < LEAST_P else f"p = {p:.2g}"


def _own(found: Findings) -> str:
    """Return the range of the gain of this very rule: by the rows kept aside where they show more than the band."""
    claims, unit = found.inference, Unit.of(found)
    if found.held_out is not None and found.shown_aside:
        aside = found.held_out.gain
        return f"the gain of this very rule is {unit.between(aside.lower, aside.upper)} by the rows kept aside"
    lower, upper = (0.0, 0.0) if claims is None else (claims.lower, claims.upper)
    return f"the gain of this very rule is {unit.between(lower, upper)}"


def advice(found: Findings) -> str:
    """Return what to do."""
    if found.inference is None:
        return "So nothing is recommended here."
    if found.state == State.TARGET:
        check = "" if found.proved else ", and watch on further rows whether it gains"
        return f"Recommended: use the rule below{check}.{_simpler(found)}"
    if not found.reference.allowed:
        return (
            "No way to treat all alike keeps what was asked for; the rule below keeps it, but that it is better than "
            "other rules that keep it is not shown."
        )
    nothing = _not_shown(found)
    if nothing or found.state == State.ALIKE:
        return nothing or f"Recommended: {other(found)}. {_unsupported(found)}"
    return _until_more(found, found.inference)


def _not_shown(found: Findings) -> str:
    """Return why treating all alike cannot be recommended either; "" where it can."""
    if not found.sound:
        return "So nothing is recommended here: fix the propensities, or leave them out, so that they are estimated."
    if not found.kept_surely:
        few = [guard.name for guard in found.guards if not guard.enough_events]
        return f"So nothing is recommended here: for {' and '.join(few)}, more rows are needed."
    if all(guard.kept_by(found.reference) for guard in found.guards):
        return ""
    return (
        f"Nothing is recommended yet. By the estimates {other(found)} is the best that keeps the limits on other "
        "outcomes without looking at people, but that it keeps them is not shown. The rule below is shown to keep "
        "them; that it is better is not shown."
    )


def _until_more(found: Findings, claims: Inference) -> str:
    if found.questions.limits:
        return (
            f"Recommended: {other(found)}, until more rows are there; that it keeps the limits on other outcomes is "
            "shown. The rule below is shown to keep them too; that it is better is not shown."
        )
    learning = claims.enough and claims.p_value <= 1 - claims.level
    if not learning:
        return f"Recommended: {other(found)}, until more rows are there. {_unsupported(found)}"
    check = "" if found.held_out else " or check it on rows kept aside (--holdout 0.3),"
    return (
        f"Recommended: {other(found)} for now. Try the rule below beside it,{check} before it replaces it: it may "
        f"help, but it is not supported yet.{_simpler(found)}"
    )


def _unsupported(found: Findings) -> str:
    if found.same:
        return "" if found.reference.constant else "The rule below does just that."
    return "The rule that looked best stands below; it is not supported."


def _simpler(found: Findings) -> str:
    """Return that a simpler rule did as well, where it did."""
    simpler = simplest(found)
    if simpler is None:
        return ""
    unit, each = Unit.of(found), found.stability.by_depth if found.stability else ()
    return (
        f" A simpler rule, of depth {simpler.depth}, did as well in rows that it was not learnt from "
        f"({unit.value(simpler.value.value)} against {unit.value(each[-1].value.value)}): see below."
    )


def simplest(found: Findings) -> DepthValue | None:
    """Return the best rule of the least depth that did as well as the deepest on held-out rows; None for no other."""
    depths = found.stability.by_depth if found.stability else ()
    sign = 1.0 if found.scores.maximise else -1.0
    as_good = [each for each in depths[:-1] if sign * (each.value.value - depths[-1].value.value) >= 0]
    return as_good[0] if as_good else None


def checks(found: Findings) -> list[str]:
    """Return what may be wrong with the log, a line each; [] where all is well."""
    second = [f"Of {guard.what}: {text}" for guard in found.guards for text in guard.outcome.diagnostics.words()]
    own = found.scores.diagnostics.words()
    return [*found.source.warnings, *own, *(text for text in second if text.partition(": ")[2] not in own)]


def optimism(evaluation: Evaluation) -> str:
    """Return why the values on the rows of the fit are too good."""
    unit = "reward" if evaluation.maximise else "cost"
    return (
        f"Mean {unit} by the scores. The rule was chosen because it looks best on the rows that it was learnt from, so "
        "its own value there looks better than it is. Its interval is that of a band over all rules of its class, "
        "which holds nevertheless; those of the other lines are not chosen and have no such flaw."
    )


def gain(found: Findings) -> str:
    """Return how much better the rule is than the reference, by what holds for it."""
    unit, parts = Unit.of(found), []
    if not found.sound:
        return ""
    if found.inference is not None:
        claims = found.inference
        parts.append(f"looks like {unit.gain(claims.gain)}, and is {unit.between(claims.lower, claims.upper)}")
    if found.held_out is not None and found.held_out.gain.known:
        aside = found.held_out.gain
        parts.append(f"in the rows kept aside is {unit.gain(aside.value)} ({unit.interval(aside)})")
    return (
        f"The gain of the rule over {other(found)} {'; '.join(parts)} ({found.questions.level:.0%})." if parts else ""
    )


def charges(found: Findings) -> list[str]:
    """Return what actions were given as costing beside their outcome."""
    return charges_of(found.estimator.treatment_cost, maximise=found.scores.maximise)


def charges_of(treatment_cost: Mapping[str, float] | None, *, maximise: bool) -> list[str]:
    """Return what actions were given as costing beside their outcome."""
    sign = "off" if maximise else "to"
    verb = "taken" if maximise else "added"
    charged = (treatment_cost or {}).items()
    prices = ((name, f"the amount in '{cost}'" if isinstance(cost, str) else f"{cost:g}") for name, cost in charged)
    return [f"'{name}' costs {price} beside its outcome: {verb} {sign} its values here." for name, price in prices]


def sentences(found: Findings) -> list[str]:
    """Return what is known of the search and of the claims, for a statistician."""
    claims = [] if found.inference is None else found.inference.words()[1:]
    if found.own_way:
        claims = claims[-2:]  # the others are of rules by the estimates alone, and of learning these
    return [proof(found), found.reference.words(), *claims]


def proof(found: Findings) -> str:
    """Return what the search has proved."""
    estimator = found.estimator
    kept = " that keeps what was asked for" if estimator.constraints or estimator.monotone else ""
    if estimator.objective == "guaranteed":
        proved = "It is proved that no rule" if estimator.optimal_ else "The search was cut short: perhaps a rule"
        return f"{proved} of its class{kept} has a greater guaranteed gain."
    if estimator.optimal_:
        return f"It is proved that no rule of its class{kept} has a better value on the rows it was learnt from."
    return (
        f"The search was cut short: its value is {estimator.policy_value_:.6g}, and no rule of its class{kept} has a "
        f"better one than {estimator.lower_bound_:.6g}."
    )


def stable(found: Findings) -> list[str]:
    """Return how much of the rule comes back on other rows, or why that is not known."""
    if found.stability is None and found.own_way:
        return [
            "Not known: the rule is the best under limits on other outcomes, in an order, or of what is guaranteed."
        ]
    if found.stability is None:
        return ["Not asked (--resamples 0): whether other rows of the same kind would give the same rule."]
    return found.stability.words()


def no_budget(found: Findings) -> str:
    """Return why there is no curve of the value against a budget; "" where there is one."""
    if found.budget:
        return ""
    if found.questions.budget is None:
        return "Not asked: --budget ACTION draws the value against the share of people that may get an action."
    if found.questions.limits:
        return "The value against a budget is not drawn together with --no-worse: budgets would be without that limit."
    if found.estimator.monotone:
        return "The value against a budget is not drawn together with --monotone: budgets would be without that order."
    return (
        f"The value against the budget of '{found.questions.budget}' is not drawn: as long as no rule is shown to be "
        "better than treating all alike, such a curve is of chance. --budget draws it all the same."
    )


def no_prices(found: Findings) -> str:
    """Return why there are no prices; "" where there are some."""
    if found.prices:
        return ""
    if found.own_way:
        return (
            "Prices are of the rule that looks best: not asked together with --no-worse, --monotone or "
            "--objective guaranteed."
        )
    return "Not asked: --what-if 'without COLUMN' and the like give prices."


def guaranteed(found: Findings) -> list[str]:
    """Return what the rule by what is guaranteed is beside the one that looks best; [] where it was not asked."""
    both = found.guaranteed
    if both is None:
        return []
    unit, sure = Unit.of(found), f"{found.questions.level:.0%} confidence"
    own, other = (unit.gain(end) for end in both.lower)
    chosen = f"The rule was chosen by what is guaranteed: it gains at least {own} over {both.other} ({sure})."
    if not both.differ:
        return [chosen, "It is the rule that looks best, too."]
    looks = f"it looks better, {unit.gain(both.looks[1])} instead of {unit.gain(both.looks[0])}"
    return [chosen, f"Of the rule that looks best only {other} is guaranteed; {looks}."]


def claims_table(found: Findings) -> list[tuple[str, str, str, str]]:
    """Return the two claims: how, the gain behind it, its range, its p-value."""
    claims = found.inference
    if claims is None:
        return []
    unit = Unit.of(found)
    rows = [("this rule: a band over all rules of the class", claims.band)]
    if not found.own_way:
        rows.append(("learning one: on the folds that it was not learnt from", claims.cross_fitted))
    return [
        (
            how,
            unit.amount(claim.gain),
            f"{unit.amount(claim.lower)} to {unit.amount(claim.upper)}",
            chance(claim.p_value).removeprefix("p = ").removeprefix("p "),
        )
        for how, claim in rows
    ]
