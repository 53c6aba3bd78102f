"""Epoch-Greedy (Langford & Zhang 2007): after each exploration, as many greedy rounds as its data justify."""

from __future__ import annotations

import numpy as np

from milpcb.learners.base import Learner
from milpcb.learners.logged_costs import LoggedCosts, luck
from milpcb.protocols import ValueOracle
from milpcb.types import Floats


class EpochGreedy(Learner):
    """Epoch l: one uniform round, a training on the l uniform rounds so far, then s_l rounds of the policy it gives.

    Setting: rounds (context, costs) i.i.d.; there is no guarantee when costs change with time. T need not be known.
    s_l = floor(1 / eps_l), where eps_l = min(1, sqrt(2 K log N / l)) bounds what the policy may lose in a round (see
    milpcb.learners.logged_costs). So each epoch loses at most 1 in its uniform round and at most s_l eps_l <= 1 in the
    others. Guarantee: E[regret] <= 2 L(T) + sqrt(T log N / 2), L(T) the number of epochs begun by round T: to leading
    order 3.30 T^(2/3) (K log N)^(1/3). The algorithm and the argument are Langford & Zhang's; eps_l and the constant
    are derived for this project.
    Oracle: one minimiser per epoch, at most L(T) in all, so about T^(-1/3) calls a round.

    Parameters
    ----------
    oracle : the policy class, opened on the contexts of the pool
    horizon : number of rounds T that the guarantee is for, and that may be played; None: no end, and no guarantee. How
        rounds are played does not depend on it
    seed : not used

    """

    kept = ("_epoch", "_greedy_left", "_log")
    stochastic = True

    def __init__(self, oracle: ValueOracle, *, horizon: int | None = None, seed: int = 0) -> None:
        super().__init__(oracle, horizon=horizon, seed=seed)
        self._log = LoggedCosts(type(self).__name__, oracle)
        self._unit = 2 * self.n_actions * self._log.log_size  # eps_l = sqrt(unit / l)
        self._epoch = 0
        self._greedy_left = 0

    def _act(self, row: int) -> Floats:
        """Return 1/K for every action in the first round of an epoch, then all mass on the policy's action (K,)."""
        return self._log.play(row, 0.0 if self._greedy_left else 1.0)

    def _learn(self, row: int, action: int, cost: float, probability: float) -> None:
        """After a uniform round add the estimate c / q e_y and train; greedy rounds add no data."""
        if self._greedy_left:
            self._greedy_left -= 1
            return
        self._log.add(row, action, cost / probability)
        self._log.train()
        self._epoch += 1
        self._greedy_left = int(max(1.0, np.sqrt(self._epoch / self._unit)))

    def guarantee(self) -> float:
        """Return the bound on expected regret for i.i.d. rounds, at this T, K and class; infinite without a horizon.

        L whole epochs take at least sum_l 1 / eps_l >= u / 3 + (2 / 3) L^(3/2) / u^(1/2) rounds, u = 2 K log N, if L >=
        u, and at least 2 L in any case. That bounds the whole epochs in T rounds, and at most one more has begun.
        """
        if self.horizon is None:
            return np.inf
        T, unit = self.horizon, self._unit
        whole_epochs = min(T / 2, (1.5 * np.sqrt(unit) * max(T - unit / 3, unit * 2 / 3)) ** (2 / 3))
        return float(2 * (whole_epochs + 1) + luck(T, self._log.log_size))

    def estimates(self) -> Floats | None:
        """Return the estimates that policies are trained on, summed by context (m, K)."""
        return self._log.totals()
