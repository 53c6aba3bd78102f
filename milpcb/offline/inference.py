"""What can be claimed of a policy that was chosen because it looked best."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any

import numpy as np
from scipy.stats import norm

from milpcb.actions import check_order
from milpcb.checks import ROUNDING, real, whole
from milpcb.constraints import LabelConstraint
from milpcb.errors import InputError, OracleInexact
from milpcb.offline.band import Claim, band, least_favourable
from milpcb.offline.evaluate import held_out_actions
from milpcb.offline.intervals import IntervalEstimate, Mean, estimates
from milpcb.offline.scores import Scores
from milpcb.oracles import open_oracle
from milpcb.oracles.base import Oracle
from milpcb.protocols import FoundPolicy, Opened, Policy, PolicyClass
from milpcb.rng import child
from milpcb.types import Floats, Ints


@dataclass(frozen=True)
class Inference:
    """What holds of the best policy of a class, after the search for it.

    Attributes
    ----------
    policy : the best policy on all rows
    gain : how much better it looks than the best constant: too good, as it was chosen for it
    best_constant : name of the action of the best constant
    band : by searching again: its lower bound holds for every policy of the class at once, so for the chosen one
    cross_fitted : by learning on all folds but one: the gain of the procedure, and a p-value of more power; its lower
        bound is that of the procedure, not of ``policy``
    level : of the lower bounds
    draws : of the band

    """

    policy: FoundPolicy
    gain: float
    best_constant: str
    band: Claim
    cross_fitted: Claim
    level: float
    draws: int

    @property
    def lower(self) -> float:
        """The lower bound on the gain of ``policy`` over the best constant: that of the band."""
        return self.band.lower

    @property
    def p_value(self) -> float:
        """The p-value of "no policy of this class is better than the best constant": the cross-fitted one."""
        return self.cross_fitted.p_value

    def words(self) -> list[str]:
        """Return what follows and what does not, a sentence each."""
        constant, p = f"always '{self.best_constant}'", self.p_value
        evidence = [f"There is evidence that some policy of the class gives more than {constant} (p = {p:.2g})."]
        if p > 1 - self.level:
            evidence = [
                f"There is no evidence that treating people differently gives more than {constant} (p = {p:.2g}).",
                "The best of so many policies looks so good by chance.",
            ]
        learnt, bound = f"{self.cross_fitted.gain:.4g}", f"{self.lower:.4g} ({self.level:.0%})"
        return [
            f"The best policy of the class looks better than {constant} by {self.gain:.4g}.",
            *evidence,
            f"Learnt on all folds but one and evaluated on the rest, its gain is {learnt}: expect about that.",
            f"Whichever policy of the class is chosen, and why: the gain of this one is at least {bound}.",
        ]


def inference(
    policies: PolicyClass | Opened,
    contexts: Any,
    scores: Scores,
    *,
    draws: int = 1000,
    level: float = 0.95,
    seed: int = 0,
    kind: str = "search",
    constraints: Sequence[LabelConstraint] = (),
) -> Inference:
    """Return the best policy and what can be claimed of its gain over the best constant.

    Parameters
    ----------
    policies, contexts, kind, constraints : see ``milpcb.open_oracle``; contexts in the order of the rows of the log
    scores : see ``milpcb.offline.scores``; their folds are those of the cross-fitted claim
    draws : of the band, 2 K queries each; at least 19 at 95 %
    level : of the lower bounds
    seed : of the resamples

    Constants that the constraints forbid are not compared with, unless they forbid all.

    Raises
    ------
    InputError, InfeasibleError (constraints)

    """
    check_order(policies, scores.actions)
    oracle = open_oracle(policies, contexts, kind=kind, constraints=constraints)
    if oracle.n_contexts != len(scores.table):
        raise InputError(f"there are {oracle.n_contexts} contexts for {len(scores.table)} scores; give one a row")
    share = real("level", level, "strictly between 0 and 1 (0.95 is usual)", lambda value: 0 < value < 1)
    constants = _allowed_constants(constraints, oracle)
    policy = best_policy(oracle, scores.costs)
    found = band(
        oracle,
        scores.gains,
        scores.weight,
        np.asarray(policy.predict(contexts)),
        constants,
        draws=whole("draws", draws, ceil(share / (1 - share) - ROUNDING)),
        level=share,
        rng=child(seed, "offline", "band"),
    )
    means = scores.weight @ scores.gains
    best = max(constants, key=lambda k: float(means[k]))
    crossed = _cross_fitted(oracle, contexts, scores, constants, share)
    return Inference(policy, found.gain, scores.actions[best], found, crossed, share, draws)


def best_policy(oracle: Oracle, costs: Floats) -> Policy:
    """Return the proved best policy; raises OracleInexact where the oracle could not prove it."""
    answer = oracle.minimise(costs)
    if answer.policy is None:
        raise OracleInexact("the oracle found no policy in time; give it more time")
    _ = answer.value  # raises unless proved
    return answer.policy


def held_out(oracle: Oracle, contexts: Any, scores: Scores) -> Ints:
    """Return what is played in each row (n,) by the best policy of the other folds of the scores.

    The rows of the fold cost nothing while it is searched for: the same oracle answers.
    """

    def learn(rows: Ints) -> Policy:
        costs = np.zeros_like(scores.costs)
        costs[rows] = scores.costs[rows]
        return best_policy(oracle, costs)

    return held_out_actions(learn, _numbers, scores.fold, contexts)


def _numbers(policy: Policy, contexts: Any) -> Ints:
    """Return the columns (n,) of the scores that a policy plays, which the oracle found by their table."""
    return np.asarray(policy.predict(contexts))


def _cross_fitted(oracle: Oracle, contexts: Any, scores: Scores, constants: list[int], level: float) -> Claim:
    """Return the claim on the gain of learning, from the rows that were not learnt from.

    It is compared with every constant and the least favourable counts, as the one that is best in truth is not known.
    """
    played, rows = held_out(oracle, contexts, scores), np.arange(len(scores.table))
    own = scores.gains[rows, played]
    means = {k: Mean(own - scores.gains[:, k], scores.weight, np.inf) for k in constants}
    return least_favourable([_one_sided(each) for each in estimates(means, "normal", 2 * level - 1, seed=0).values()])


def _one_sided(gain: IntervalEstimate) -> Claim:
    """Return the claim that the lower end makes; where the rows do not differ at all, nothing is gained."""
    p_value = float(norm.sf(gain.value / gain.standard_error)) if gain.standard_error else 1.0
    return Claim(gain.value, gain.lower, p_value)


def _allowed_constants(constraints: Sequence[LabelConstraint], oracle: Oracle) -> list[int]:
    """Return the actions that a policy may always play; all where there is none."""
    allowed = np.ones(oracle.n_actions, dtype=bool)
    for constraint in constraints:
        weights = constraint.matrix(oracle.n_contexts, oracle.n_actions)
        allowed &= weights.sum(axis=0) <= constraint.largest(weights)
    return np.flatnonzero(allowed if allowed.any() else ~allowed).tolist()
