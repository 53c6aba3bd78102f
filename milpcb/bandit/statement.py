"""Statements on one bandit's decisions, in sentences that assume no knowledge of its algorithm."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil, floor
from typing import TYPE_CHECKING, Any

from milpcb.bandit.scale import COSTS, Scale
from milpcb.blocks import ProvedChange

if TYPE_CHECKING:  # a learner is reached by its name, and with it scipy.special: a third of the time of an import
    from milpcb.bandit.groups import GroupSummary
    from milpcb.learners.base import Learner
    from milpcb.learners.conservative import Conservative

Stated = tuple[int, float]  # decisions learnt, and what was paid for them, when a statement was made


@dataclass(frozen=True)
class DecisionCounts:
    """The counts of a bandit; ``scale`` is that of its costs, or rewards.

    ``known`` are the decisions whose cost is, and ``overridden`` all that a person overrode. ``before`` is what was
    stated last, None for nothing; ``added`` names actions that came later; ``logged`` are the decisions of the log that
    it began with.
    """

    known: int
    open: int
    given_up: int
    overridden: int
    added: Sequence[str]
    logged: int
    scale: Scale
    before: Stated | None


def sentences(
    learner: Learner,
    most: float,
    covered: float,
    confidence: float,
    settings: Mapping[str, Any],
    compared: str,
    counted: DecisionCounts,
    change: ProvedChange | None = None,
) -> str:
    """Return the sentences; what is stated to be at most, or at least, a number is rounded so that it still is.

    Parameters
    ----------
    learner : that made the decisions
    most : its certificate with ``confidence``, in units of cost
    covered : as Ledger.covered, where that is no less than what was paid
    settings : of the bandit
    compared : what the best of is compared with, in words
    counted : decisions by what became of them
    change : a proof with ``confidence`` that two in turn would have been better than every single one

    """
    n, paid = counted.known, learner.ledger.cost
    if not n:
        return "\n".join(["No decision is learnt yet, so there is nothing to state.", *_others(counted)])
    total, done = counted.scale.total(n, paid), _done(counted)
    lines = [f"{_count(n)} decisions {done} {_count(total)} in all, {total / n:.4g} each."]
    lines += _since(n, paid, counted)
    best = f"the best of all {compared} would have {done} on them"
    if most < paid:
        amount = f"{_count(ceil(counted.scale.unit * most))} {'less' if counted.scale.rewards else 'more'}"
        lines.append(f"With {_percent(confidence)} confidence that is at most {amount} than {best}.")
        lines += _of_change(change, confidence, counted)
    else:
        reason = _reason(n, covered, counted)
        lines.append(f"With {_percent(confidence)} confidence nothing is known yet of what {best}: {reason}.")
    if settings["baseline"] is not None:  # the learner then is Conservative around the one that was asked for
        around: Any = learner
        lines += _of_baseline(around, settings["baseline"], counted)
    return "\n".join(lines + _others(counted))


def in_words(policies: object, *, constrained: bool) -> str:
    """Return what the policies of a class are called: "decision trees", and that they keep constraints."""
    words = re.findall(r"[A-Z][a-z]*|[A-Z]+(?![a-z])", type(policies).__name__)
    return " ".join(map(str.lower, words)) + (" that keep the constraints" if constrained else "")


def of_groups(groups: Sequence[GroupSummary], confidence: float, counted: DecisionCounts) -> list[str]:
    """Return a line on each group, none where there are none."""
    if not groups:
        return []
    lines = [f"By group, with {_percent(confidence)} confidence for all that follows at once:"]
    more = "less" if counted.scale.rewards else "more"
    for group in groups:
        most = _count(ceil(counted.scale.unit * group.certificate))
        known = group.certificate < group.paid
        lines.append(str(group))
        if known:
            lines.append(f"    in all at most {most} {more} than the best rule for this group alone")
    return lines


def _since(n: int, paid: float, counted: DecisionCounts) -> list[str]:
    """Return what came since the last statement."""
    if counted.before is None:
        return []
    more, cost = n - counted.before[0], paid - counted.before[1]
    if not more:
        return ["Nothing was learnt since the last statement."]
    return [f"Since the last statement {_count(more)} more {_done(counted)} {_count(counted.scale.total(more, cost))}."]


def _reason(n: int, covered: float, counted: DecisionCounts) -> str:
    """Return why nothing is known of the best policy, and when that may change."""
    if not covered:  # no more is certain than that no cost is below 0
        free = "cost anything" if counted.scale.best == 0 else "cost more than the least there is"
        worse = "earned less than the most there is" if counted.scale.rewards else free
        return f"nothing that was learnt shows that it would have {worse}"
    enough = _count(ceil(n / min(covered, 1.0)))
    return f"{_count(n)} are too few to rule out chance. If costs go on like this, about {enough} will be enough"


def _of_change(change: ProvedChange | None, confidence: float, counted: DecisionCounts) -> list[str]:
    """Return the sentence on a change of the world, which is only made where it is proved."""
    if change is None:
        return []
    as_good = "earned as much" if counted.scale.rewards else "cost as little"
    in_turn = f"as two in turn, the second once {_count(change.after[0])} decisions were learnt"
    none = f"no single one of them would have {as_good} {in_turn}: none is the best both before and after that."
    return [f"With {_percent(confidence)} confidence {none}"]


def _of_baseline(learner: Conservative, baseline: Mapping[str, Any], counted: DecisionCounts) -> list[str]:
    """Return the sentences on the baseline, in units of cost, of which the promise is made."""
    sure, paid = _percent(baseline["confidence"]), _count(learner.ledger.cost)
    unit = "" if counted.scale == COSTS else " (of costs from 0 to 1)"
    made = counted.known + counted.open + counted.given_up
    left = f"{_count(learner.rounds_of_baseline)} of all {_count(made)} decisions were left"
    promise = f"at most {100 * baseline['loss']:g} % more than the baseline would have{unit}"
    if learner.deviations:
        promise += f", and 1 for each of the {_count(learner.deviations)} that a person changed to something else"
    lines = [
        f"With {sure} confidence all decisions so far, at every moment, cost {promise}.",
        f"It would have cost at least {_count(floor(learner.floor))}, and {paid} was paid; {left} to the baseline.",
    ]
    if learner.at_limit:
        waits = f": {_count(learner.unknown)} costs that are not known count as 1 each" if learner.unknown else ""
        lines.append(f"The next decision is left to it too, as no more may be risked yet{waits}.")
    return lines


def _others(counted: DecisionCounts) -> list[str]:
    """Return the sentences on decisions that the numbers before them do not count, and on how to read those."""
    lines = []
    if counted.logged:
        lines.append(f"The first {_count(counted.logged)} decisions are those of the log it began with.")
    if counted.added:
        names = ", ".join(f"'{name}'" for name in counted.added)
        lines.append(f"Before {names} came, policies that name it are taken to play the first action instead.")
    if counted.overridden:
        made = _count(counted.known + counted.open + counted.given_up)
        lines.append(
            f"Of {made} decisions, {_count(counted.overridden)} were overridden by a person; they count in full."
        )
    if counted.open:
        lines.append(f"The costs of {_count(counted.open)} more are not known yet, and not counted here.")
    if counted.given_up:
        lines.append(
            f"{_count(counted.given_up)} more were given up: this holds if that depended neither on their costs nor on "
            "their actions."
        )
    return lines


def _done(counted: DecisionCounts) -> str:
    return "earned" if counted.scale.rewards else "cost"


def _count(number: float) -> str:
    return f"{number:,.0f}".replace(",", " ")


def _percent(share: float) -> str:
    return f"{100 * share:.15g} %"  # of fewer digits 0.9999999 would be all
