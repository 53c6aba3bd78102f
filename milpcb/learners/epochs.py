"""Learners that play a low-variance mixture of policies, recomputed whenever the number of rounds has doubled."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np

from milpcb.core.checks import check_delta
from milpcb.learners.base import Learner
from milpcb.learners.low_variance import LowVariance, best_policy, completed, descend, smooth
from milpcb.learners.needs import require, require_contexts
from milpcb.protocols import ValueOracle
from milpcb.types import Floats


class EpochLearner(Learner):
    """Base of ILOVETOCONBANDITS and RandomizedUCB: epochs that end after rounds 2, 4, 8, ...

    At the end of an epoch (OP) is solved on all rounds so far, from the Q of the epoch before (warm start), and the
    weight that Q lacks to 1 goes to the policy with the best estimate. In between, ``act`` reads a table. The oracle is
    asked O(log T) times for the best policy, and once a coordinate step (see milpcb.learners.low_variance).
    """

    kept = ("_mu", "_counts", "_rewards", "_mass", "_table")
    stochastic = True
    oracle: ValueOracle

    def __init__(self, oracle: ValueOracle, *, horizon: int | None, seed: int, delta: float) -> None:
        super().__init__(oracle, horizon=horizon, seed=seed)
        require(type(self).__name__, oracle, "minimise")
        require_contexts(type(self).__name__, oracle)
        K = self.n_actions
        self.delta = check_delta(delta)
        self._counts = np.zeros(oracle.n_contexts)
        self._rewards = np.zeros((oracle.n_contexts, K))
        self._mass = np.zeros_like(self._rewards)
        self._mu = 0.5 / K
        _, first = best_policy(oracle, self._rewards)  # nothing is known yet: the paper lets it be any policy
        self._table = smooth(completed(self._mass, first), self._mu)

    @abstractmethod
    def exploration(self, t: int) -> float:
        """Return mu <= 1/(2K), the least probability of an action after ``t`` rounds."""

    @abstractmethod
    def slope(self, t: int) -> float:
        """Return b_pi per unit of estimated regret after ``t`` rounds."""

    def _act(self, row: int) -> Floats:
        """Return Q^mu (K,) on the context ``row``."""
        return np.array(self._table[row])

    def _learn(self, row: int, action: int, cost: float, probability: float) -> None:
        """Add the estimated reward (1 - cost) / q of the action played; at the end of an epoch solve (OP)."""
        self._counts[row] += 1
        self._rewards[row, action] += (1.0 - cost) / probability
        t = self.played + 1
        if t >= 2 and t & (t - 1) == 0:
            self._solve(t)

    def estimates(self) -> Floats | None:
        """Return the estimated rewards (m, K) as costs: their negatives, as every reward is 1 - cost."""
        return -self._rewards

    def _solve(self, t: int) -> None:
        """Find the empirically best policy after ``t`` rounds, and the Q of the next epoch."""
        least_cost, best = best_policy(self.oracle, -self._rewards)
        self._mu = self.exploration(t)
        problem = LowVariance(self._counts, self._rewards, -least_cost / t, self._mu, self.slope(t))
        for mass in descend(problem, self._mass, self.oracle):
            self._mass = mass
        self._table = smooth(completed(self._mass, best), self._mu)
