"""RandomizedUCB (Dudik, Hsu, Kale, Karampatziakis, Langford, Reyzin & Zhang 2011), in a form that one can run."""

from __future__ import annotations

import numpy as np

from milpcb.learners.epochs import EpochLearner
from milpcb.protocols import ValueOracle


class RandomizedUCB(EpochLearner):
    """RandomizedUCB's constraint on the play, met by coordinate descent instead of the ellipsoid method. No guarantee.

    Setting: pairs of context and costs i.i.d. Oracle: best policies, as many as ILOVETOCONBANDITS asks for.

    Published (constants as we know them): with n = t - 1 rounds seen, C = 2 log(N n / delta), beta = n / (180 C) and
    D(pi) the estimated regret, P minimises sum_pi P(pi) D(pi) such that for every distribution Z over policies

        V_Z(P) <= max(4K, beta D(Z)^2).                                                                         (1)

    Here, derived for this project: ask V_pi(P) <= 2K + sqrt(K beta) D(pi) of every policy, and sum_pi P(pi) sqrt(K
    beta) D(pi) <= 2K. That is (OP) of milpcb.learners.low_variance, which is always feasible. It is linear in pi, so it
    holds for every Z, and it implies (1): with u = sqrt(beta) D(Z), 2K + sqrt(K) u is 4K at u = 2 sqrt(K), and is at
    most u^2 from there on. It also implies the pointwise form V_pi <= 4K + beta D(pi)^2. The minimum is not sought, but
    sum_pi P(pi) D(pi) <= 2 sqrt(K / beta) = 2 sqrt(180 K C / n).

    What differs from the paper: that minimum, and that P is found after rounds 2, 4, 8, ... only. Whether the published
    regret O(sqrt(T K log(T N / delta)) + K log(N K / delta)) survives is not proved here, so ``guarantee`` is infinite.

    Parameters
    ----------
    oracle : the policy class, opened on the contexts of the pool; proves its answers
    horizon : number of rounds T that may be played, None for no end; the algorithm does not use it
    seed : not used
    delta : the failure chance in the confidence widths

    """

    def __init__(self, oracle: ValueOracle, *, horizon: int | None = None, seed: int = 0, delta: float = 0.05) -> None:
        super().__init__(oracle, horizon=horizon, seed=seed, delta=delta)

    def exploration(self, t: int) -> float:
        """Return mu = min(1/(2K), sqrt(C / (2 K t))), with the C and t of the round after ``t``."""
        return float(min(0.5 / self.n_actions, np.sqrt(self._c(t + 1) / (2 * self.n_actions * (t + 1)))))

    def slope(self, t: int) -> float:
        """Return sqrt(K beta) = sqrt(K t / (180 C))."""
        return float(np.sqrt(self.n_actions * t / (180 * self._c(t))))

    def _c(self, t: int) -> float:
        """Return C_t = 2 log(N t / delta)."""
        return float(2 * (self.oracle.log_size + np.log(t / self.delta)))
