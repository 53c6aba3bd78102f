"""Explore-then-commit: play at random, train once, and stay with what was found."""

from __future__ import annotations

import numpy as np

from milpcb.core.checks import whole
from milpcb.errors import InputError
from milpcb.learners.base import Learner
from milpcb.learners.logged_costs import LoggedCosts, deviation, luck
from milpcb.protocols import ValueOracle
from milpcb.types import Floats


class ExploreThenCommit(Learner):
    """Uniform play for n rounds, then for ever the policy that looks best on them.

    Setting: rounds (context, costs) i.i.d.; there is no guarantee when costs change with time, and a change after the
    n-th round is never noticed.
    Guarantee: with n = (T^2 K log N / 2)^(1/3), E[regret] <= n + (T - n) sqrt(2 K log N / n) + sqrt(T log N / 2), that
    is 3 / 2^(1/3) T^(2/3) (K log N)^(1/3) = 2.38 (...) to leading order. The scheme is folklore; the constants are
    derived for this project (see milpcb.learners.logged_costs: each estimate K c has a second moment of at most K).
    Oracle: one minimiser in the whole run, so 1 / T calls a round.

    Parameters
    ----------
    oracle : the policy class, opened on the contexts of the pool
    horizon : number of rounds T
    seed : not used
    rounds : number n of uniform rounds, 1 <= n <= T; None takes the n above, rounded up, and at most T. With n = T all
        play is uniform and the oracle is never asked

    """

    kept = ("_log",)
    stochastic = True
    horizon: int

    def __init__(self, oracle: ValueOracle, *, horizon: int, seed: int = 0, rounds: int | None = None) -> None:
        super().__init__(oracle, horizon=horizon, seed=seed)
        self._log = LoggedCosts(type(self).__name__, oracle)
        T = self.horizon
        if rounds is None:
            rounds = min(T, int(np.ceil(np.cbrt(T**2 * self.n_actions * self._log.log_size / 2))))
        self.rounds = whole("rounds", rounds, 1)
        if self.rounds > T:
            raise InputError(f"rounds (n) must be at most the horizon of {T}, got {rounds!r}")

    def _act(self, row: int) -> Floats:
        """Return 1/K for every action, or all mass on the action of the chosen policy (K,)."""
        return self._log.play(row, 0.0)

    def _learn(self, row: int, action: int, cost: float, probability: float) -> None:
        """Add the estimate c / q e_y in the first n rounds; after the last of them, ask for the best policy."""
        t = self.played + 1
        if t <= self.rounds:
            self._log.add(row, action, cost / probability)
        if t == self.rounds < self.horizon:
            self._log.train()

    def guarantee(self) -> float:
        """Return the bound on expected regret for i.i.d. rounds, at this T, n, K and class."""
        n, K, log_size = self.rounds, self.n_actions, self._log.log_size
        return float(n + (self.horizon - n) * deviation(n * K, log_size, n) + luck(self.horizon, log_size))

    def estimates(self) -> Floats | None:
        """Return the estimates that policies are trained on, summed by context (m, K)."""
        return self._log.totals()
