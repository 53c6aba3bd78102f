"""The verdict of an inference, one of three states: treat people differently, treat all alike, or too early."""

from __future__ import annotations

from enum import StrEnum

from milpcb.offline.band import Bounds, Claim
from milpcb.offline.reference import Reference

SAME_WAY = 0.5  # the greatest gain of the class is above the median of its noise


class State(StrEnum):
    """What follows from a log for treating people differently.

    ``TARGET``: that some policy gives more than the best allowed way that does not look at people is shown by policies
    learnt on other rows (their p-value is at most 1 - level), *and* the band over all policies points the same way
    (its p-value is at most ``SAME_WAY``). As both must hold, it is false no more often than the first alone, which is
    calibrated by itself; to ask for 1 - level twice would only cost power.
    ``ALIKE``: it is not shown by policies learnt on other rows (their p-value is above 1 - level), *and* the band shows
    that no policy of the class gains more than a stated small amount.
    ``EARLY``: neither is shown; or a few rows decide, or the two claims do not agree.
    """

    TARGET = "target"
    ALIKE = "alike"
    EARLY = "early"


def state_of(
    cross_fitted: Claim, bounds: Bounds, reference: Reference, *, level: float, small: float, enough: bool
) -> State:
    """Return the state in which both claims agree.

    Parameters
    ----------
    cross_fitted : the claim on the gain of learning
    bounds : what holds for all policies at once
    reference : what gains are over; where treating all alike breaks the constraints it is never advised
    level : how often each claim holds
    small : the gain up to which it is not worth treating people differently
    enough : whether enough rows carry the noise for either claim to hold

    """
    if not enough:
        return State.EARLY
    if cross_fitted.p_value <= 1 - level:
        return State.TARGET if bounds.claim.p_value <= SAME_WAY else State.EARLY
    return State.ALIKE if bounds.most <= small and reference.allowed else State.EARLY
