"""The findings of a log in sentences: the verdict first, then what to do, then the reasons."""

from collections.abc import Mapping

from milpcb.core.decimals import percent
from milpcb.logs.findings import Claims, Findings
from milpcb.offline import DepthValue, Reference, State

MARKS = {State.TARGET: "Treat people differently", State.ALIKE: "Treat all alike", State.EARLY: "Too early to decide"}
SIGNS = {State.TARGET: "\u2713", State.ALIKE: "=", State.EARLY: "?"}  # beside the marks, for the eye
NOT_ASKED = "Not asked"
LEAST_P = 0.001  # smaller ones are not written out
NOWHERE = (
    "No action occurs in all parts of the log, so none can be recommended for everybody. The rule below plays an "
    "action only where the log has rows of it."
)
WITH = " together with --no-worse, --monotone or --objective guaranteed"


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
    return f"drawing lots{within} ({reference.shares})"


def mark(found: Findings) -> str:
    """Return the verdict in three words."""
    return NOT_ASKED if found.state is None else MARKS[found.state]


def lead(found: Findings) -> str:
    """Return mark, verdict and advice in one paragraph."""
    return f"{mark(found)}: {verdict(found)} {advice(found)}"


def verdict(found: Findings) -> str:
    """Return what is known in a sentence or two, for somebody who decides."""
    claims, alike = found.claims, other(found)
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
    if found.own_way and found.same:
        return f"the best rule that was found is itself {alike}."
    if found.own_way and claims.enough and found.state != State.ALIKE:
        shown = "deciding by the rule is" if found.proved else "it is not shown that deciding by the rule is"
        return f"{shown} better than {alike}; {_own(found, claims)} ({_sure(found)})."
    return f"{_by_estimates(found, claims)}{_beside(found)}"


def _sure(found: Findings) -> str:
    return f"{percent(found.questions.level)} confidence"


def _beside(found: Findings) -> str:
    if found.held_out is None or not found.shown_aside or found.state == State.TARGET:
        return ""
    aside, unit = found.held_out.gain, found.unit
    return (
        f" Rows kept aside show a gain of this one rule, {unit.gain(aside.value)} ({unit.interval(aside)}). This is "
        "another question: the p-value is about learning rules in this way, the interval about one rule in a few other "
        "rows, and by chance some intervals miss. More rows show which of them is right."
    )


def _by_estimates(found: Findings, claims: Claims) -> str:
    unit, alike, learning = found.unit, other(found), claims.learning
    p = "" if learning is None else f" ({chance(learning.p_value)})"
    if found.state == State.TARGET:
        what = "deciding by the rule" if found.proved else "deciding by a rule learnt in this way"
        still = "" if found.proved else ", so a gain is likely but not established"
        shown = f"{what} is better than {alike}{p}{'; ' if learning is None else '. '}"
        return f"{shown}{_expected(found, claims)}{_own(found, claims)} ({_sure(found)}){still}."
    if not claims.enough:
        return (
            "nearly all differences between the actions come from a few rows, too few to know whether any rule is "
            f"better than {alike}."
        )
    most = unit.gain(claims.most)
    if found.state == State.ALIKE:
        small = f"no rule of this kind gains more than {most} over it ({_sure(found)}), which is small"
        return f"no rule is shown to be better than {alike}{p}, and {small}."
    if found.learning_gains:
        return (
            f"rules learnt in this way are better than {alike}{p}, but of this very rule it is not shown. "
            f"{_expected(found, claims)}{_own(found, claims)} ({_sure(found)})."
        )
    luck = "" if learning is None else " The best of so many rules could look so good by chance."
    return (
        f"no rule is shown to be better than {alike}{p}, but a rule that gains up to {most} cannot be ruled out "
        f"({_sure(found)}).{luck}"
    )


def _expected(found: Findings, claims: Claims) -> str:
    if claims.learning is None:
        return ""
    unit, base = found.unit, found.reference.value
    sign = 1.0 if unit.maximise else -1.0
    return (
        f"Expect about {unit.of_value(base + sign * claims.learning.gain)} instead of {unit.value(base)}, "
        "as such rules give in rows that they were not learnt from; "
    )


def chance(p: float) -> str:
    """Return a p-value as it is written in sentences."""
    return "p < 0.001" if p < LEAST_P else f"p = {p:.2g}"


def _own(found: Findings, claims: Claims) -> str:
    """Return the range of the gain of this very rule, by the rows kept aside where they show more."""
    unit, ends, by = found.unit, claims.gain, ""
    if found.held_out is not None and found.shown_aside:
        aside = found.held_out.gain
        if claims.learning is not None or aside.lower > ends.lower:
            ends, by = aside, " by the rows kept aside"
    return f"the gain of this very rule is {unit.between(ends.lower, ends.upper)}{by}"


def advice(found: Findings) -> str:
    """Return what to do."""
    if found.claims is None:
        return "So nothing is recommended here."
    if found.state == State.TARGET:
        check = "" if found.proved else ", and watch on further rows whether it gains"
        return f"Recommended: use the rule below{check}.{_simpler(found)}"
    if not found.reference.allowed:
        if not any(value.known for value in found.evaluation.constants.values()):
            return NOWHERE
        return (
            "No way of treating all alike keeps what was asked for. The rule below keeps it; it is not shown to be "
            "better than other rules that do."
        )
    nothing = _not_shown(found)
    if nothing or found.state == State.ALIKE:
        return nothing or f"Recommended: {other(found)}. {_unsupported(found)}"
    return _until_more(found)


def _not_shown(found: Findings) -> str:
    if not found.sound:
        return (
            "So nothing is recommended here: fix the propensities, or leave them out, so that they are estimated from "
            "rows in memory."
        )
    if not found.kept_surely:
        few = [guard.name for guard in found.guards if not guard.enough_events]
        return f"So nothing is recommended here: for {' and '.join(few)}, more rows are needed."
    if all(guard.kept_by(found.reference) for guard in found.guards):
        return ""
    return (
        f"Nothing is recommended yet. By the estimates {other(found)} is the best way of treating all alike within the "
        "limits on other outcomes, but it is not shown to keep them. The rule below is shown to keep them, and not "
        "shown to be better."
    )


def _until_more(found: Findings) -> str:
    if found.questions.limits:
        rule = "" if found.same else " The rule below is shown to keep them too, and not shown to be better."
        kept = "it is shown to keep the limits on other outcomes"
        return f"Recommended: {other(found)}, until there are more rows; {kept}.{rule}"
    if not found.learning_gains:
        return f"Recommended: {other(found)}, until there are more rows. {_unsupported(found)}"
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
    simpler = simplest(found)
    if simpler is None:
        return ""
    unit, each = found.unit, found.stability.by_depth if found.stability else ()
    return (
        f" A simpler rule, of depth {simpler.depth}, did as well in rows that it was not learnt from "
        f"({unit.value(simpler.value.value)} against {unit.value(each[-1].value.value)}): see below."
    )


def simplest(found: Findings) -> DepthValue | None:
    """Return the best rule of the least depth that did as well as the deepest on held-out rows; None for no other."""
    depths = found.stability.by_depth if found.stability else ()
    sign = 1.0 if found.unit.maximise else -1.0
    as_good = [each for each in depths[:-1] if sign * (each.value.value - depths[-1].value.value) >= 0]
    return as_good[0] if as_good else None


def checks(found: Findings) -> list[str]:
    """Return what may be wrong with the log, a line each; [] where all is well."""
    second = [f"Of {guard.what}: {text}" for guard in found.guards for text in guard.outcome.diagnostics.words()]
    own = found.learnt.diagnostics.words()
    second = [text for text in dict.fromkeys(second) if text.partition(": ")[2] not in own]  # once for all groups
    return [*found.source.warnings, *own, *second]


def optimism(found: Findings) -> str:
    """Return why the values on the rows of the fit are too good."""
    return (
        f"Mean {'reward' if found.unit.maximise else 'cost'} by the scores. The rule was chosen because it looks best "
        "on the rows that it was learnt from, so its own value there looks better than it is. Its interval holds for "
        "all rules of its class at once, so also for this one. The other lines were not chosen in this way, and "
        "their intervals hold as they are."
    )


def gain(found: Findings) -> str:
    """Return how much better the rule is than the reference, by what holds for it."""
    unit, parts = found.unit, []
    if not found.sound or found.same:
        return ""
    if found.claims is not None and found.claims.gain.known:
        own = found.claims.gain
        parts.append(f"at {unit.gain(own.value)} ({unit.interval(own)})")
    if found.held_out is not None and found.held_out.gain.known:
        aside = found.held_out.gain
        there = alike(found.held_out.reference)
        over = "" if there == other(found) else f" over {there}, the best there"
        parts.append(f"in the rows kept aside at {unit.gain(aside.value)} ({unit.interval(aside)}){over}")
    gained = f"The gain of the rule over {other(found)} is estimated {', and '.join(parts)}; {_sure(found)}."
    return gained if parts else ""


def charges_of(treatment_cost: Mapping[str, float] | None, *, maximise: bool) -> list[str]:
    """Return what actions were given as costing beside their outcome."""
    how = "already subtracted from" if maximise else "already added to"
    charged = (treatment_cost or {}).items()
    prices = ((name, f"the amount in '{cost}'" if isinstance(cost, str) else f"{cost:g}") for name, cost in charged)
    return [f"'{name}' costs {price} besides its outcome, {how} its values here." for name, price in prices]


def sentences(found: Findings) -> list[str]:
    """Return what is known of the search and of the claims, for a statistician."""
    return [proof(found), found.reference.words(), *(found.claims.words if found.claims else ())]


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


# Of each question about the rule: why it is not answered for other rules, what needs the rows, and how it is asked.
QUESTIONS = {
    "stability": (
        f"Whether other rows would give the same rule is not computed{WITH}.",
        "to draw them again needs",
        "Not asked (--resamples 0): whether other rows of the same kind would give the same rule.",
    ),
    "budget": (
        "The value against a budget is not drawn together with --monotone or --no-worse: budgets would be without.",
        "the band of such a curve needs",
        "Not asked: --budget ACTION draws the value against the share of people that may get an action.",
    ),
    "prices": (
        f"Prices are not computed{WITH}.",
        "the intervals of prices need",
        "Not asked: --what-if 'without COLUMN' and the like give prices.",
    ),
    "near": (
        f"Other rules are not counted{WITH}.",
        "which rules it can distinguish needs",
        "Not asked (--draws 0): how many rules are not shown to be worse.",
    ),
}


def missing(found: Findings, question: str) -> str:
    """Return why the answer to a question is not on the page."""
    refused, needs, asked = QUESTIONS[question]
    budget = found.questions.budget if question == "budget" else None
    if found.questions.limits or found.estimator.monotone or (found.own_way and question != "budget"):
        return refused
    if found.files:
        return (
            f"Not known: the log was read in one pass, and {needs} the rows themselves. Ask it of a sample in memory."
        )
    if budget is None:
        return asked
    return (
        f"The value against the budget of '{budget}' is not drawn: as long as no rule is shown to be better than "
        "treating all alike, such a curve is of chance. --budget draws it all the same."
    )


def stable(found: Findings) -> list[str]:
    """Return how much of the rule comes back on other rows, or why that is not known."""
    return [missing(found, "stability")] if found.stability is None else found.stability.words()
