"""Whether to treat people differently: one of three states, in which both claims of an inference agree."""

from __future__ import annotations

from enum import StrEnum

from milpcb.offline.band import Bounds, Claim
from milpcb.offline.reference import Reference


class State(StrEnum):
    """What follows from a log for treating people differently.

    ``TARGET``: policies learnt on other rows are shown to give more than the best allowed way that does not look at
    people (the cross-fitted p-value is at most 1 - level), *and* this very policy is shown to gain, whatever it was
    chosen for (the lower end of its band is above 0).
    ``ALIKE``: there is no such evidence (the p-value is above 1 - level), *and* the band shows that no policy of the
    class gains more than a stated small amount.
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
        return State.TARGET if bounds.claim.lower > 0 else State.EARLY
    return State.ALIKE if bounds.most <= small and reference.allowed else State.EARLY
