"""The findings of a log in sentences: the verdict first, then the advice, then the reasons."""

from collections.abc import Mapping

from milpcb.core.decimals import percent
from milpcb.logs.findings import Claims, Findings
from milpcb.offline import Reference, State

MARKS = {State.TARGET: "Treat people differently", State.ALIKE: "Treat all alike", State.EARLY: "Too early to decide"}
SIGNS = {State.TARGET: "\u2713", State.ALIKE: "=", State.EARLY: "?"}  # beside the marks, for the eye
LEAST_P = 0.001  # smaller ones are not written out


def alike(reference: Reference) -> str:
    """Return a phrase, to follow "than", for a way to treat all alike."""
    if reference.constant is not None:
        return f"'{reference.constant}' for everybody"
    if reference.allowed_first:
        return reference.allowed_first
    within = "" if len(reference.lottery) == 1 else " within what was asked for"
    return f"drawing lots{within} ({reference.shares})"


def mark(found: Findings) -> str:
    """Return the verdict in three words."""
    return "Not asked" if found.state is None else MARKS[found.state]


def lead(found: Findings) -> str:
    """Return mark, verdict and advice in one paragraph."""
    return f"{mark(found)}: {verdict(found)} {advice(found)}"


def verdict(found: Findings) -> str:
    """Return the verdict in a sentence or two, for somebody who decides."""
    claims, other = found.claims, alike(found.reference)
    if claims is None:
        return f"whether a rule is better than {other} (--draws 0)."
    if not found.sound:
        return f"the propensities do not fit the log, so they do not show whether any rule is better than {other}."
    if not found.kept_surely:
        return "the log has too few events of another outcome that is limited to show that a rule keeps the limit."
    if found.own_way and found.same:
        return f"the best rule that was found is itself {other}."
    if found.own_way and claims.enough and found.state != State.ALIKE:
        shown = "deciding by the rule is" if found.proved else "it is not shown that deciding by the rule is"
        return f"{shown} better than {other}; {_own(found, claims)}."
    return f"{_by_estimates(found, claims)}{_beside(found)}"


def _sure(found: Findings) -> str:
    return f"{percent(found.questions.level)} confidence"


def _beside(found: Findings) -> str:
    if found.held_out is None or not found.shown_aside or found.state == State.TARGET:
        return ""
    aside, unit = found.held_out.gain, found.unit
    return (
        f" The hold-out rows show a gain of this one rule, {unit.gain(aside.estimate)} ({unit.interval(aside)}): p is "
        "about learning rules in this way, the interval about one rule in a few other rows, and some miss by chance."
    )


def _by_estimates(found: Findings, claims: Claims) -> str:
    unit, other, learning = found.unit, alike(found.reference), claims.learning
    p = "" if learning is None else f" ({chance(learning.p_value)})"
    if found.state == State.TARGET:
        what = "deciding by the rule" if found.proved else "deciding by a rule learnt in this way"
        return f"{what} is better than {other}{p}; {_own(found, claims)}."
    if not claims.enough:
        return f"differences between the actions rest on too few rows to show whether any rule is better than {other}."
    most = unit.gain(claims.most)
    if found.state == State.ALIKE:
        small = f"no rule of this kind gains more than {most} over it ({_sure(found)}), which is small"
        return f"no rule is shown to be better than {other}{p}, and {small}."
    if found.learning_gains:
        shown = f"rules learnt in this way are better than {other}{p}, but of this very rule it is not shown"
        return f"{shown}; {_own(found, claims)}."
    beyond = f"a rule that gains up to {most} cannot be ruled out ({_sure(found)})"
    return f"no rule is shown to be better than {other}{p}, but {beyond}."


def chance(p: float) -> str:
    """Return a p-value as it is written in sentences."""
    return "p < 0.001" if p < LEAST_P else f"p = {p:.2g}"


def _own(found: Findings, claims: Claims) -> str:
    unit, ends, by = found.unit, claims.gain, ""
    if found.held_out is not None and found.shown_aside:
        aside = found.held_out.gain
        if claims.learning is not None or aside.lower > ends.lower:
            ends, by = aside, " by the hold-out rows"
    return f"the gain of this very rule is {unit.amount(ends.lower)} to {unit.gain(ends.upper)}{by} ({_sure(found)})"


def advice(found: Findings) -> str:
    """Return the advice."""
    if found.claims is None:
        return "So nothing is recommended here."
    if found.state == State.TARGET:
        check = "" if found.proved else ", and watch on further rows whether it gains"
        return f"Recommended: use the rule below{check}."
    if reason := _nothing(found):
        return reason
    other = alike(found.reference)
    if found.state == State.EARLY and found.learning_gains:
        check = "" if found.held_out else " or check it on hold-out rows (--holdout 0.3),"
        return f"Recommended: {other} for now. Try the rule below beside it,{check} before it replaces it."
    kept = " It is shown to keep the limits on other outcomes." if found.questions.limits else ""
    for_now = "" if found.state == State.ALIKE else ", until there are more rows"
    unsupported = "" if found.same else " The rule that looked best stands below; it is not supported."
    return f"Recommended: {other}{for_now}.{kept}{unsupported}"


def _nothing(found: Findings) -> str:
    if not found.reference.allowed:
        return (
            "Nothing is recommended: no way of treating all alike keeps what was asked for, or has rows everywhere in "
            "the log. The rule below keeps it; it is not shown to be better than other rules that do."
        )
    if not found.sound:
        return (
            "So nothing is recommended here: fix the propensities, or leave them out, so that they are estimated from "
            "rows in memory."
        )
    if not found.kept_surely:
        few = list(dict.fromkeys(guard.asked for guard in found.guards if not guard.enough_events))
        return f"So nothing is recommended here: for {' and '.join(few)}, more rows are needed."
    if all(guard.kept_by(found.reference) for guard in found.guards):
        return ""
    return (
        f"Nothing is recommended yet: {alike(found.reference)} is the best way of treating all alike by the estimates, "
        "and not shown to keep the limits on other outcomes. The rule below is shown to keep them, not to be better."
    )


def checks(found: Findings) -> list[str]:
    """Return the possible faults of the log, a line each; [] where all is well."""
    second = [f"Of {guard.what}: {text}" for guard in found.guards for text in guard.outcome.diagnostics.words()]
    own = found.learnt.diagnostics.words()
    second = [text for text in dict.fromkeys(second) if text.partition(": ")[2] not in own]  # once for all groups
    return [*found.source.warnings, *own, *second]


def gain(found: Findings) -> str:
    """Return how much better the rule is than the reference, by valid numbers."""
    unit, parts = found.unit, []
    if not found.sound or found.same:
        return ""
    if found.claims is not None and found.claims.gain.known:
        own = found.claims.gain
        parts.append(f"at {unit.gain(own.estimate)} ({unit.interval(own)})")
    if found.held_out is not None and found.held_out.gain.known:
        aside = found.held_out.gain
        there = alike(found.held_out.reference)
        over = "" if there == alike(found.reference) else f" over {there}, the best there"
        parts.append(f"in the hold-out rows at {unit.gain(aside.estimate)} ({unit.interval(aside)}){over}")
    estimated = f"{', and '.join(parts)}; {_sure(found)}"
    return f"The gain of the rule over {alike(found.reference)} is estimated {estimated}." if parts else ""


def charges_of(treatment_cost: Mapping[str, float] | None, *, maximise: bool) -> list[str]:
    """Return a phrase on the costs of actions beside their outcome."""
    how = "already subtracted from" if maximise else "already added to"
    charged = (treatment_cost or {}).items()
    prices = ((name, f"the amount in '{cost}'" if isinstance(cost, str) else f"{cost:g}") for name, cost in charged)
    return [f"'{name}' costs {price} besides its outcome, {how} its values here." for name, price in prices]


def sentences(found: Findings) -> list[str]:
    """Return sentences on the search and the claims, for a statistician."""
    return [proof(found), found.reference.words(), *(found.claims.words if found.claims else ())]


def proof(found: Findings) -> str:
    """Return a sentence on the optimality that the search has proved."""
    estimator = found.estimator
    kept = " that keeps what was asked for" if estimator.constraints or estimator.monotone else ""
    better = "a greater guaranteed gain" if estimator.objective == "guaranteed" else "a better value"
    if estimator.optimal_:
        return f"It is proved that no rule of its class{kept} has {better} on the rows it was learnt from."
    return (
        f"The search was cut short: perhaps a rule of its class{kept} has {better}; its value is "
        f"{estimator.policy_value_:.6g}, and the bound {estimator.lower_bound_:.6g}."
    )
