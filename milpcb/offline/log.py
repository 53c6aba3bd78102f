"""A log: features, what was done, what came of it, and with which probability it was done."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from milpcb.types import Floats, Ints


@dataclass(frozen=True, eq=False)
class Log:
    """n rows of what was done under K actions; ``read_log`` makes and checks one.

    Attributes
    ----------
    features : (n, d) table for the models of outcome and propensity: an array or a data frame, in the order of the rows
    action : (n,) numbers 0..K-1
    outcome : (n,) in the caller's own unit
    maximise : True where the outcome is a reward, False where it is a cost
    actions : K names
    propensity : None (estimated from the log), or (n, K), what is not known of a row being NaN: the probability of each
        action; a column of the logged actions alone is filled into it
    randomised : whether the propensities are the same for every row, as in a randomised trial

    """

    features: Any
    action: Ints
    outcome: Floats
    maximise: bool
    actions: tuple[str, ...]
    propensity: Floats | None = None
    randomised: bool = False

    def __len__(self) -> int:
        return len(self.outcome)

    def take(self, rows: Ints) -> Log:
        """Return the log of ``rows``; the names of the actions stay, so one may be absent."""
        raise NotImplementedError


def read_log(
    features: Any,
    action: Any,
    *,
    reward: Any = None,
    cost: Any = None,
    propensity: Any = None,
    actions: Sequence[Any] | None = None,
) -> Log:
    """Return a checked log.

    Parameters
    ----------
    features : (n, d) array or data frame, whatever the models of ``scores`` can read; the default models take numbers
        and NaN
    action : (n,) what was done: names or whole numbers
    reward, cost : (n,) what came of it; give one of the two, in any unit
    propensity : with which probability it was done. None: estimated from the log. "randomised": the same for every
        row, and estimated by the shares of the log. (K,): the same for every row, in the order of ``actions``. (n,): of
        the logged action of each row. (n, K): of every action
    actions : the K names in order; None takes the distinct ones of ``action``, sorted

    Raises
    ------
    InputError, one line: which row has a missing outcome, a propensity outside (0, 1] or a sum that is not 1; an action
    never taken; one action only; tables that differ in length

    """
    raise NotImplementedError
