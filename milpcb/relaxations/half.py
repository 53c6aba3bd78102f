"""Half noise: the sharpest relaxation of the same game with independent actions.

Derived for this project from the noise condition: the noise xi of a future round must satisfy
E max(xi_i, xi_j - g) >= (1 - g/L)^+ for all actions i != j and gaps g >= 0 (the value of BISTRO+'s per-round game;
statements 3 to 5 of milpcb/theory/README.md). The rate T^(2/3) (K log N)^(1/3) is that of Banihashem, Hajiaghayi, Shin
& Springer (2023); the construction here is our own.
"""

from __future__ import annotations

import numpy as np

from milpcb.contexts.draws import rademacher_sums
from milpcb.relaxations.base import KeptRound, Relaxation, sign_vectors
from milpcb.types import Ints


class Half(Relaxation):
    """Future noise eps Z / 2 with Z = L with probability 4/L: the paper's law with 1/(4 K) of its variance.

    Totals are kept in units of L/2, so an estimate is 0 or 2 and the noise 0 or +-1; phi is 0, 1/2 or 1.
    """

    hit = 2

    def least_scale(self, n_actions: int) -> float:
        """Return the smallest L for which the distributions are valid: max(K, 4)."""
        return float(max(n_actions, 4))

    def rate(self, scale: float, n_actions: int) -> float:
        """Return P[Z = L] = 4/L, whatever K."""
        del n_actions
        return 4 / scale

    def law(self, n_actions: int) -> list[KeptRound]:
        """Return the 2^K vectors eps, in units of L/2."""
        return sign_vectors(n_actions)

    def noise(self, counts: Ints, n_actions: int, rng: np.random.Generator) -> Ints:
        """Return (m, K): the summed noise, in units, of ``counts`` (m,) rounds with Z = L on each context."""
        return rademacher_sums(counts, n_actions, rng)

    def guarantee(self, scale: float, horizon: int, n_actions: int, log_size: float) -> float:
        """Return sqrt(2 T L (1 - 1/K) log N) + T (K - 1) / L (noise centred over actions; exploration: (K-1)/L)."""
        K = n_actions
        return float(np.sqrt(2 * horizon * scale * (1 - 1 / K) * log_size) + horizon * (K - 1) / scale)

    def best_scale(self, horizon: int, n_actions: int, log_size: float) -> float:
        """Return the minimiser of the guarantee over L >= max(K, 4): (2 T K (K - 1) / log N)^(1/3)."""
        K = n_actions
        if log_size <= 0:
            return float(max(K * horizon, 4))
        return float(max(self.least_scale(K), (2 * horizon * K * (K - 1) / log_size) ** (1 / 3)))
