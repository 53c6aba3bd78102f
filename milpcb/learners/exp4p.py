"""Exp4.P (Beygelzimer, Langford, Li, Reyzin & Schapire 2011): a regret bound that holds with high probability."""

from __future__ import annotations

import numpy as np

from milpcb.core.checks import check_delta
from milpcb.errors import InputError
from milpcb.learners.base import Learner
from milpcb.learners.needs import EnumeratedOracle, require
from milpcb.types import Floats


class Exp4P(Learner):
    """Exponential weights over all listed policies and the uniform-random one, with a bonus for what is uncertain.

    Setting: contexts and costs may be adversarial. With N experts, the uniform one counted, and rewards r = 1 - c,

        q(a) = (1 - K p) W_a / W + p,    p = sqrt(log N / (K T)),
        log w(pi) += (p / 2) (r / q(y) [pi(x) = y] + sqrt(log(N / delta) / (K T)) / q(pi(x))).

    Guarantee (their Theorem 2, constant as quoted): with probability 1 - delta the regret, of the rewards really
    collected, is at most 6 sqrt(K T log(N / delta)), if log(N / delta) <= K T. Where T < K log N that is more than T,
    whatever is played: p is then 1/K, which is uniform play. A round is one pass over the list.

    Parameters
    ----------
    oracle : the policy class, opened with kind "enumeration"
    horizon : number of rounds T
    seed : not used
    delta : the probability, 0 < delta < 1, with which the guarantee may fail

    """

    kept = ("_log_weights", "_q")
    horizon: int

    def __init__(self, oracle: EnumeratedOracle, *, horizon: int, seed: int = 0, delta: float = 0.05) -> None:
        super().__init__(oracle, horizon=horizon, seed=seed)
        require("exp4p", oracle, "enumerate")
        K = self.n_actions
        self._labelings = np.ascontiguousarray(oracle.labelings.T)  # (m, N - 1): a round reads one row
        n_experts = self._labelings.shape[1] + 1
        rounds = K * horizon
        self._confidence = float(np.log(n_experts / check_delta(delta)) / rounds)
        if self._confidence > 1.0:
            raise InputError(
                f"exp4p needs log(N / delta) <= K T, but {self._confidence * rounds:.4g} > {rounds}: "
                "raise the horizon or delta"
            )
        self._floor = min(1.0 / K, float(np.sqrt(np.log(n_experts) / rounds)))
        self._log_weights = np.zeros(n_experts)  # the uniform expert is the last
        self._q = np.full(K, 1.0 / K)

    def _act(self, row: int) -> Floats:
        """Return the weight of the experts on each action, lifted to the floor p (K,)."""
        weights = np.exp(self._log_weights - self._log_weights.max())
        mass = np.bincount(self._labelings[row], weights[:-1], minlength=self.n_actions)
        share = (mass + weights[-1] / self.n_actions) / weights.sum()
        self._q = (1.0 - self.n_actions * self._floor) * share + self._floor
        return self._q.copy()

    def _learn(self, row: int, action: int, cost: float, probability: float) -> None:
        """Credit every expert with the estimated reward of its action and a bonus for the actions seldom played."""
        credit = np.sqrt(self._confidence) / self._q
        credit[action] += (1.0 - cost) / probability
        credit *= self._floor / 2
        self._log_weights[:-1] += credit[self._labelings[row]]
        self._log_weights[-1] += credit.mean()

    def guarantee(self) -> float:
        """Return 6 sqrt(K T log(N / delta)), which holds with probability 1 - delta."""
        return float(6 * self.n_actions * self.horizon * np.sqrt(self._confidence))
