"""The relaxation of BISTRO+ (Syrgkanis, Luo, Krishnamurthy & Schapire 2016, section 3)."""

from __future__ import annotations

import numpy as np

from milpcb.contexts.draws import rademacher_sums
from milpcb.relaxations.base import KeptRound, Relaxation, sign_vectors
from milpcb.types import Ints


class Paper(Relaxation):
    """Future noise 2 eps Z with Z = L with probability K/L, else 0, and eps a Rademacher vector of length K.

    Totals are kept in units of L (``hit`` units make one L): estimates are 0 or 1, noise is 0 or +-2.
    """

    hit = 1

    def rate(self, scale: float, n_actions: int) -> float:
        """Return P[Z = L] = K/L."""
        return n_actions / scale

    def law(self, n_actions: int) -> list[KeptRound]:
        """Return the 2^K vectors 2 eps."""
        return [(p, 2 * eps) for p, eps in sign_vectors(n_actions)]

    def noise(self, counts: Ints, n_actions: int, rng: np.random.Generator) -> Ints:
        """Return (m, K): the summed noise, in units, of ``counts`` (m,) rounds with Z = L on each context."""
        return rademacher_sums(counts, n_actions, rng, factor=2)

    def exploration(self, n_actions: int) -> float:
        """Return K, the paper's price of exploration."""
        return float(n_actions)

    def guarantee(self, scale: float, horizon: int, n_actions: int, log_size: float) -> float:
        """Return 2 sqrt(2 T K L log N) + T K / L (paper, equation (8), Theorem 3)."""
        return float(2 * np.sqrt(2 * horizon * n_actions * scale * log_size) + horizon * n_actions / scale)

    def best_scale(self, horizon: int, n_actions: int, log_size: float) -> float:
        """Return the minimiser of the guarantee over L >= K: max(K, (T K / (2 log N))^(1/3)).

        The paper's own choice (T K / log N)^(1/3) is 1.3 % worse. With one policy (log N = 0) any large L will do.
        """
        if log_size <= 0:
            return float(n_actions * horizon)
        return float(max(n_actions, (horizon * n_actions / (2 * log_size)) ** (1 / 3)))
