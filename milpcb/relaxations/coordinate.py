"""Coordinate noise, one action and one sign per imagined future round; and signed estimates of c - 1/2.

Both are derived for this project (statements 4 and 6 to 8 of milpcb/theory/README.md). Where a single minimiser is
drawn and its gap is not 0, the mean of q*, and the loss, may change by the probability of such an answer.
The estimate (c - 1/2) / q lies in [-h, h], h = L/2, where Rel is below the chords that the hits draw: "ips" holds too.
"""

from fractions import Fraction
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar

from milpcb.contexts.draws import coordinate_sums
from milpcb.relaxations.base import KeptRound, Relaxation, centres, phi_from_psi
from milpcb.types import Floats, Ints


class Coordinate(Relaxation):
    """Future noise delta Z e_I with Z = L with probability K/L, I a uniform action and delta a fair sign.

    Totals are kept in units of L: estimates are 0 or 1, each kept round adds +-1 to one action; phi is 0 or 1.
    """

    hit = 1

    def rate(self, scale: float, n_actions: int) -> float:
        return n_actions / scale

    def law(self, n_actions: int) -> list[KeptRound]:
        one = np.eye(n_actions, dtype=np.int64)
        return [(Fraction(1, 2 * n_actions), sign * one[i]) for i in range(n_actions) for sign in (1, -1)]

    def noise(self, counts: Ints, n_actions: int, rng: np.random.Generator) -> Ints:
        return coordinate_sums(counts, n_actions, rng)

    def guarantee(self, scale: float, horizon: int, n_actions: int, log_size: float) -> float:
        """Return inf over a > 0 of s (log N + T log(1 + r m(a))) / a, plus T (K - 1) / L.

        Here r is the rate, s the unit in units of cost and m(a) = cosh(a (1 - 1/K)) / K + (1 - 1/K) cosh(a / K) - 1
        (statement 6 of milpcb/theory/README.md): a bound for every a, wherever the numerical search for it ends.
        """
        K = n_actions
        explored = horizon * (K - 1) / scale
        if log_size <= 0:
            return explored
        rate, size = self.rate(scale, K), self.unit(scale)

        def sup(log_a: float) -> float:
            a = np.exp(log_a)  # cosh(b) - 1 is written 2 sinh(b/2)^2, which keeps its digits for small b
            moment = 2 * (np.sinh(a * (1 - 1 / K) / 2) ** 2 + (K - 1) * np.sinh(a / K / 2) ** 2) / K
            return float(size * (log_size + horizon * np.log1p(rate * moment)) / a)

        found = minimize_scalar(sup, bounds=(np.log(1e-9), np.log(30.0)), method="bounded")
        return float(found.fun) + explored

    def best_scale(self, horizon: int, n_actions: int, log_size: float) -> float:
        """Return the minimiser of the guarantee over the valid L, found numerically around its leading-order value.

        That is (2 (K - 1)^2 T / (w log N))^(1/3), where L w is the variance of one round's centred noise.
        """
        K, least = n_actions, self.least_scale(n_actions)
        if log_size <= 0:
            return float(max(K * horizon, least))
        variance = self.rate(least, K) * self.unit(least) ** 2 * (K - 1) / K**2
        near = np.log(2 * (K - 1) ** 2 * horizon * least / (variance * log_size)) / 3
        best = minimize_scalar(
            lambda log_scale: self.guarantee(float(np.exp(log_scale)), horizon, K, log_size),
            bounds=(near - 2.0, near + 2.0),
            method="bounded",
        )
        return float(max(least, np.exp(best.x)))


class Signed(Coordinate):
    """Estimates of c - 1/2, and future noise of +-L/2 on one uniform action with probability 2 (K - 1) / L.

    Totals are kept in units of L/2: estimates are 0 or +-1, each kept round adds +-1 to one action. The oracle is asked
    for psi_i with action i made cheaper by one unit: i is a leader exactly where that is psi_0 - 1. The guarantee is
    that of Coordinate at this rate and unit; to leading order it is (K - 1)/K sqrt(T L log N) + T (K - 1) / L, least at
    L = (4 K^2 T / log N)^(1/3).
    """

    hit = 1
    shift = Fraction(1, 2)
    even_ties = True

    @property
    def probe(self) -> int:
        return -self.hit

    def least_scale(self, n_actions: int) -> float:
        return float(max(n_actions, 2 * (n_actions - 1)))

    def unit(self, scale: Any) -> Any:
        return scale / (2 * self.hit)

    def rate(self, scale: float, n_actions: int) -> float:
        return 2 * (n_actions - 1) / scale

    def estimate(self, cost: float, probability: float, scale: float) -> tuple[float, int]:
        """Return ``|2 c - 1| / (L q)``, and one hit with the sign of c - 1/2."""
        twice = 2 * cost - 1
        return abs(twice) / (scale * probability), self.hit if twice > 0 else -self.hit

    def respond(self, psi: Floats, leftover: Floats, *, descending: bool = False) -> Floats:
        del leftover, descending  # nothing is left over
        phi = phi_from_psi(psi, self.probe)
        mu = centres(phi, phi)
        return np.asarray(mu / mu.sum())

    def excess(self, lower: Floats, upper: Floats, q_star: Floats) -> float:
        """Return sum_i (q*_i - mu_i)^+ for the least mu within the bounds; mu_i falls with the phi- of others."""
        low = phi_from_psi(np.append(lower[0], upper[1:]), self.probe)
        high = phi_from_psi(np.append(upper[0], lower[1:]), self.probe)
        return float(min(np.maximum(q_star - centres(low, high), 0).sum(), 1))
