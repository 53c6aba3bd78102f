"""ILOVETOCONBANDITS (Agarwal, Hsu, Kale, Langford, Li & Schapire 2014): sqrt(T) regret for i.i.d. rounds."""

from __future__ import annotations

from typing import Any

import numpy as np

from milpcb.core.checks import real
from milpcb.learners.epochs import EpochLearner
from milpcb.protocols import ValueOracle

PSI = 100.0  # the psi of the theorem


class ILoveToConBandits(EpochLearner):
    """Plays, smoothed, a distribution over policies that estimates every policy as well as its regret calls for.

    Setting: pairs of context and costs i.i.d.; the law of contexts need not be known. Not for adversarial costs.
    Oracle: one best policy an epoch and one a coordinate step, O~(sqrt(K T / log(N / delta))) in all.
    With d_t = log(16 t^2 N / delta): mu = min(1/(2K), sqrt(d_t / (K t))) and b_pi = regret of pi / (psi mu) in (OP).

    Parameters
    ----------
    oracle : the policy class, opened on the contexts of the pool; proves its answers
    horizon : number of rounds T that the guarantee is for, and that may be played; the algorithm does not use it. None:
        no end, and no guarantee
    seed : not used
    psi : how little estimated regret excuses variance. 100 in the theorem, where bad policies go on being estimated as
        well as good ones for very long; 0.01 to 1 has far less regret at T <= 1e6, without a guarantee
    delta : the chance that the theorem may fail

    """

    def __init__(
        self,
        oracle: ValueOracle,
        *,
        horizon: int | None = None,
        seed: int = 0,
        psi: float = PSI,
        delta: float = 0.05,
    ) -> None:
        self.psi = real("psi", psi, "finite and positive (the theorem has 100)", lambda number: number > 0)
        super().__init__(oracle, horizon=horizon, seed=seed, delta=delta)

    def exploration(self, t: int) -> float:
        """Return mu_m = min(1/(2K), sqrt(d_t / (K t)))."""
        return float(min(0.5 / self.n_actions, np.sqrt(self._d(t) / (self.n_actions * t))))

    def slope(self, t: int) -> float:
        """Return 1 / (psi mu)."""
        return 1.0 / (self.psi * self.exploration(t))

    def guarantee(self) -> float:
        """Return a bound on expected regret: the theorem's, plus delta T for when it fails.

        It is infinite unless psi = 100 and T is set. The constant is near 900, so the bound exceeds T until T is
        about 1e9: at any practical horizon it is no use. The theorem compares with the policy of least expected cost;
        the best in hindsight may cost less by sqrt(T log N / 2) in expectation, which is not added.
        """
        if self.psi != PSI or self.horizon is None:
            return np.inf
        return self.high_probability_bound() + self.delta * self.horizon

    def high_probability_bound(self) -> float:
        """Return the bound that regret keeps with probability 1 - delta (constants of arXiv 1402.0555v2)."""
        if self.horizon is None:
            return np.inf
        T, K = self.horizon, self.n_actions
        taus = 2.0 ** np.arange(1, 200)
        d = self._d(taus)
        rare = taus[np.argmax(d / taus <= 1 / (4 * K)) - 1]  # the last epoch before m_0
        last = taus[np.argmax(taus >= T)]
        constant = 4 * PSI + 4 * np.sqrt(2.0) * (1 + 94.1)
        estimation = 4 * K * self._d(rare) + np.sqrt(8 * K * self._d(last) * last)
        return float(constant * estimation + np.sqrt(8 * T * np.log(2 / self.delta)))

    def _d(self, t: Any) -> Any:
        """Return d_t = log(16 t^2 N / delta)."""
        return np.log(16.0) + 2 * np.log(t) + self.oracle.log_size - np.log(self.delta)
