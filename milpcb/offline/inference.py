"""What can be claimed of a policy that was chosen because it looked best."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from milpcb.constraints import LabelConstraint
from milpcb.offline.scores import Scores
from milpcb.protocols import Opened, Policy, PolicyClass


@dataclass(frozen=True)
class Claim:
    """A one-sided claim: the gain over the best constant is at least ``lower``, at the level; ``p_value`` of none.

    ``gain`` is the estimate behind it, in the unit of the outcome, positive is better.
    """

    gain: float
    lower: float
    p_value: float


@dataclass(frozen=True)
class Inference:
    """What holds of the best policy of a class, after the search for it.

    Attributes
    ----------
    policy : the best policy on all rows
    gain : how much better it looks than the best constant: too good, as it was chosen for it
    best_constant : name of the action of the best constant
    band : by searching again with multipliers: holds at once for all policies of the class
    cross_fitted : by learning on all folds but one: the gain of the procedure
    level : of the lower bounds
    draws : how many searches the band took

    """

    policy: Policy
    gain: float
    best_constant: str
    band: Claim
    cross_fitted: Claim
    level: float
    draws: int

    @property
    def lower(self) -> float:
        """The recommended lower bound on the gain over the best constant."""
        raise NotImplementedError

    @property
    def p_value(self) -> float:
        """The recommended p-value of "no policy of this class is better than the best constant"."""
        raise NotImplementedError

    def words(self) -> list[str]:
        """Return what follows and what does not, a sentence each."""
        raise NotImplementedError


def inference(
    policies: PolicyClass | Opened,
    contexts: Any,
    scores: Scores,
    *,
    draws: int = 1000,
    level: float = 0.95,
    folds: int = 5,
    seed: int = 0,
    kind: str = "search",
    constraints: Sequence[LabelConstraint] = (),
) -> Inference:
    """Return the best policy and what can be claimed of its gain over the best constant.

    Parameters
    ----------
    policies, contexts, kind, constraints : see ``milpcb.open_oracle``; contexts in the order of the rows of the log
    scores : see ``milpcb.offline.scores``
    draws : searches of the bootstrap
    level : of the lower bounds
    folds : of the cross-fitted claim
    seed : of multipliers and folds

    Raises
    ------
    InputError, InfeasibleError (constraints)

    """
    raise NotImplementedError


@dataclass(frozen=True)
class Stability:
    """How much of a policy comes back when the rows are drawn again.

    Attributes
    ----------
    agreement : (0..1) mean share of rows that get the same action from the policy of a resample
    tests : by test of the policy's printed rule, how often (0..1) some policy of a resample has it
    leaves : by part of the policy, how often (0..1) most of its rows get its action
    near_best : how many labelings of the class are within one standard error of the best; None where the class is too
        large to list
    by_depth : depth, printed best policy and held-out value of each depth that the class has been tried at

    """

    agreement: float
    tests: dict[str, float]
    leaves: tuple[float, ...]
    near_best: int | None
    by_depth: tuple[tuple[int, Policy, float], ...]


def stability(
    policies: PolicyClass,
    contexts: Any,
    scores: Scores,
    *,
    resamples: int = 100,
    seed: int = 0,
    kind: str = "search",
) -> Stability:
    """Return how stable the best policy is: a query for each resample of the rows.

    Parameters
    ----------
    policies, contexts, kind : see ``milpcb.open_oracle``
    scores : see ``milpcb.offline.scores``
    resamples : how often the rows are drawn again, with replacement
    seed : of the resamples

    """
    raise NotImplementedError
