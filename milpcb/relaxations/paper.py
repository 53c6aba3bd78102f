"""The relaxation of BISTRO+ (Syrgkanis, Luo, Krishnamurthy & Schapire 2016, section 3), and others of signs."""

from fractions import Fraction
from itertools import product
from typing import ClassVar

import numpy as np

from milpcb.contexts.draws import rademacher_sums
from milpcb.relaxations.base import KeptRound, Relaxation, water_fill
from milpcb.types import Floats, Ints


class Paper(Relaxation):
    """Future noise 2 eps Z with Z = L with probability K/L, else 0, and eps a Rademacher vector of length K.

    Totals are kept in units of L (``hit`` units make one L): estimates are 0 or 1, noise is 0 or +-2.
    """

    hit = 1
    size: ClassVar[int] = 2  # of the noise on an action, in units

    def rate(self, scale: float, n_actions: int) -> float:
        return n_actions / scale

    def law(self, n_actions: int) -> list[KeptRound]:
        return [(Fraction(1, 2**n_actions), self.size * np.array(eps)) for eps in product((-1, 1), repeat=n_actions)]

    def noise(self, counts: Ints, n_actions: int, rng: np.random.Generator) -> Ints:
        return rademacher_sums(counts, n_actions, rng, factor=self.size)

    def exploration(self, n_actions: int) -> float:
        return float(n_actions)

    def guarantee(self, scale: float, horizon: int, n_actions: int, log_size: float) -> float:
        """Return 2 sqrt(2 T K L log N) + T K / L (paper, equation (8), Theorem 3)."""
        return float(2 * np.sqrt(2 * horizon * n_actions * scale * log_size) + horizon * n_actions / scale)

    def best_scale(self, horizon: int, n_actions: int, log_size: float) -> float:
        best = n_actions * horizon if log_size <= 0 else self.stationary(horizon, n_actions, log_size)
        return float(max(self.least_scale(n_actions), best))

    def stationary(self, horizon: int, n_actions: int, log_size: float) -> float:
        """Return the L where the guarantee is stationary; the paper's own (T K / log N)^(1/3) is 1.3 % worse."""
        return float((horizon * n_actions / (2 * log_size)) ** (1 / 3))


class Centred(Paper):
    """BISTRO+ as published, with a sharper guarantee: only the analysis and best L differ (derived for this project).

    The noise may be centred over the actions, which takes 1/K off its variance, and exploring costs (K - 1)/L a round
    rather than K/L: statements 1 and 5 of milpcb/theory/README.md.
    """

    def exploration(self, n_actions: int) -> float:
        return float(n_actions - 1)

    def guarantee(self, scale: float, horizon: int, n_actions: int, log_size: float) -> float:
        """Return 2 sqrt(2 T L (K - 1) log N) + T (K - 1) / L."""
        K = n_actions
        return float(2 * np.sqrt(2 * horizon * scale * (K - 1) * log_size) + horizon * (K - 1) / scale)

    def stationary(self, horizon: int, n_actions: int, log_size: float) -> float:
        return float((horizon * (n_actions - 1) / (2 * log_size)) ** (1 / 3))


class Half(Centred):
    """Future noise eps Z / 2 with Z = L with probability 4/L: the paper's law with 1/(4 K) of its variance.

    The sharpest relaxation of the same game with independent actions, derived for this project (statements 3 to 5 of
    milpcb/theory/README.md). The rate T^(2/3) (K log N)^(1/3) is that of Banihashem, Hajiaghayi, Shin & Springer
    (2023). Totals are kept in units of L/2: an estimate is 0 or 2 and the noise 0 or +-1; phi is 0, 1/2 or 1.
    """

    hit = 2
    size = 1

    def least_scale(self, n_actions: int) -> float:
        return float(max(n_actions, 4))

    def rate(self, scale: float, n_actions: int) -> float:
        del n_actions
        return 4 / scale

    def guarantee(self, scale: float, horizon: int, n_actions: int, log_size: float) -> float:
        """Return sqrt(2 T L (1 - 1/K) log N) + T (K - 1) / L (noise centred over actions; exploration: (K-1)/L)."""
        K = n_actions
        return float(np.sqrt(2 * horizon * scale * (1 - 1 / K) * log_size) + horizon * (K - 1) / scale)

    def stationary(self, horizon: int, n_actions: int, log_size: float) -> float:
        return float((2 * horizon * n_actions * (n_actions - 1) / log_size) ** (1 / 3))


class Bistro(Paper):
    """BISTRO (Rakhlin & Sridharan 2016), the algorithm that BISTRO+ improves on: regret T^(3/4).

    Future noise 2 L eps in every round, estimates c/q as they are, and no bound on a single estimate. The
    source was read as an abstract and an algorithm box; the relaxation and its constants are derived for this project,
    with L = 1/gamma, gamma the floor under every probability. Totals are in units of L; estimates are real.
    """

    queries = ("all", "profile")
    estimator = "ips"
    certified = False

    def rate(self, scale: float, n_actions: int) -> float:
        del scale, n_actions
        return 1.0

    def respond(self, psi: Floats, leftover: Floats, *, descending: bool = False) -> Floats:
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

    def stationary(self, horizon: int, n_actions: int, log_size: float) -> float:
        return float(np.sqrt(horizon * n_actions / (2 * np.sqrt(2 * horizon * log_size))))
