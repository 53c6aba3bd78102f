"""BISTRO+ as published, with a sharper guarantee: only the analysis and best L differ (derived for this project)."""

from __future__ import annotations

import numpy as np

from milpcb.relaxations.paper import Paper


class Centred(Paper):
    """The paper's noise, counted better in two places.

    The same number added to all K costs of one round changes every policy alike, so the noise may be centred over the
    actions, which takes 1/K off its variance. And with a share 1/L on every action, the leader's included, exploring
    costs (K - 1)/L a round rather than K/L, whatever the leftover rule: statements 1 and 5 of milpcb/theory/README.md.
    """

    def exploration(self, n_actions: int) -> float:
        """Return K - 1."""
        return float(n_actions - 1)

    def guarantee(self, scale: float, horizon: int, n_actions: int, log_size: float) -> float:
        """Return 2 sqrt(2 T L (K - 1) log N) + T (K - 1) / L."""
        K = n_actions
        return float(2 * np.sqrt(2 * horizon * scale * (K - 1) * log_size) + horizon * (K - 1) / scale)

    def best_scale(self, horizon: int, n_actions: int, log_size: float) -> float:
        """Return the minimiser of the guarantee over L >= K: max(K, (T (K - 1) / (2 log N))^(1/3))."""
        K = n_actions
        if log_size <= 0:
            return float(K * horizon)
        return float(max(K, (horizon * (K - 1) / (2 * log_size)) ** (1 / 3)))
