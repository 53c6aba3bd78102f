"""Statements on one bandit's decisions, in sentences that assume no knowledge of its algorithm."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from math import ceil, floor
from typing import TYPE_CHECKING, Any, cast

from milpcb.protocols import Learner

if TYPE_CHECKING:  # a learner is reached by its name, and with it scipy.special: a third of the time of an import
    from milpcb.learners.conservative import Conservative


def sentences(
    learner: Learner,
    most: float,
    confidence: float,
    settings: Mapping[str, Any],
    rewards: Sequence[float] | None,
    compared: str,
    n_open: int,
) -> str:
    """Return the sentences; what is stated to be at most, or at least, a number is rounded so that it still is.

    Parameters
    ----------
    learner : that made the decisions
    most : its certificate with ``confidence``, in units of cost
    settings : of the bandit
    rewards : least and greatest reward, None where costs are learnt
    compared : what the best of is compared with, in words
    n_open : decisions whose cost is not known yet

    """
    n, paid = learner.played, learner.ledger.cost
    if not n:
        return "No decision is learnt yet, so there is nothing to state."
    unit = 1.0 if rewards is None else rewards[1] - rewards[0]
    total = paid if rewards is None else n * rewards[1] - unit * paid
    done, less = ("cost", "more") if rewards is None else ("earned", "less")
    best = f"the best of all {compared} would have {done} on them"
    lines = [f"{_count(n)} decisions {done} {_count(total)} in all, {total / n:.4g} each."]
    if most < paid:
        amount = f"{_count(ceil(unit * most))} {less}"
        lines.append(f"With {_percent(confidence)} confidence that is at most {amount} than {best}.")
    else:  # no more is certain than that no cost is below 0
        lines.append(f"What {best} is not known yet with {_percent(confidence)} confidence.")
    if settings["baseline"] is not None:  # the learner then is Conservative around the one that was asked for
        lines += _of_baseline(
            cast("Conservative", learner), settings["baseline"], "" if rewards is None else " (of costs from 0 to 1)"
        )
    if n_open:
        lines.append(f"The costs of {_count(n_open)} more are not known yet, and not counted here.")
    return "\n".join(lines)


def in_words(policies: object, *, constrained: bool) -> str:
    """Return what the policies of a class are called: "decision trees", and that they keep constraints."""
    words = re.findall(r"[A-Z][a-z]*|[A-Z]+(?![a-z])", type(policies).__name__)
    return " ".join(map(str.lower, words)) + (" that keep the constraints" if constrained else "")


def _of_baseline(learner: Conservative, settings: Mapping[str, Any], unit: str) -> list[str]:
    """Return the sentences on the baseline, in units of cost, of which the promise is made."""
    sure, paid = _percent(settings["confidence"]), _count(learner.ledger.cost)
    promise = f"at most {100 * settings['loss']:g} % more than the baseline would have"
    known = f"It would have cost at least {_count(floor(learner.floor))}, and {paid} was paid"
    return [
        f"With {sure} confidence all decisions so far, at every moment, cost {promise}{unit}.",
        f"{known}; {_count(learner.rounds_of_baseline)} decisions were left to the baseline.",
    ]


def _count(number: float) -> str:
    return f"{number:,.0f}".replace(",", " ")


def _percent(share: float) -> str:
    return f"{100 * share:.15g} %"  # of fewer digits 0.9999999 would be all
