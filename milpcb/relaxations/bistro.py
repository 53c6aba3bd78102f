"""The relaxation of BISTRO (Rakhlin & Sridharan 2016), the algorithm that BISTRO+ improves on: regret T^(3/4).

The source was read as an abstract and an algorithm box; the relaxation and its constants are derived for this project.
"""

from __future__ import annotations

import numpy as np

from milpcb.relaxations.game import water_fill
from milpcb.relaxations.paper import Paper
from milpcb.types import Floats


class Bistro(Paper):
    """Future noise 2 L eps in every round, estimates c/q as they are, and no bound on what one estimate may weigh.

    Written with L = 1/gamma, so that it is the same loop: gamma, the floor under every probability, is 1/L. Totals are
    in units of L; estimates are real numbers from 0 to 1.
    """

    queries = ("all", "profile")
    estimator = "ips"
    certified = False

    def rate(self, scale: float, n_actions: int) -> float:
        """Return 1: every future round carries noise."""
        del scale, n_actions
        return 1.0

    def respond(self, psi: Floats, leftover: Floats, *, descending: bool = False) -> Floats:
        """Return the minimiser of max_j (q_j L - psi_j): Phi on the leader's action, the rest shared by all."""
        del leftover, descending  # nothing is left over: the minimiser is unique
        return water_fill(psi[1:], self.hit)

    def loss(self, q_star: Floats, raised: Floats, lowered: Floats, scale: float) -> float:
        """Return L max_i (q_i - phi_i)^+: one L e_i may have all of the probability."""
        del lowered
        lost: float = scale * np.maximum(q_star - raised, 0).max()
        return lost

    def guarantee(self, scale: float, horizon: int, n_actions: int, log_size: float) -> float:
        """Return 2 L sqrt(2 T log N) + T K / L."""
        return float(2 * scale * np.sqrt(2 * horizon * log_size) + horizon * n_actions / scale)

    def best_scale(self, horizon: int, n_actions: int, log_size: float) -> float:
        """Return the minimiser of the guarantee over L >= K: max(K, sqrt(T K / (2 sqrt(2 T log N))))."""
        if log_size <= 0:
            return float(n_actions * horizon)
        return float(max(n_actions, np.sqrt(horizon * n_actions / (2 * np.sqrt(2 * horizon * log_size)))))
