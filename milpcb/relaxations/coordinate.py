"""Coordinate noise: one action and one sign per imagined future round (derived for this project, see half.py)."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from scipy.optimize import minimize_scalar

from milpcb.contexts.draws import coordinate_sums
from milpcb.relaxations.base import KeptRound, Relaxation
from milpcb.types import Ints


class Coordinate(Relaxation):
    """Future noise delta Z e_I with Z = L with probability K/L, I a uniform action and delta a fair sign.

    Totals are kept in units of L: estimates are 0 or 1, each kept round adds +-1 to one action; phi is 0 or 1.
    """

    hit = 1

    def rate(self, scale: float, n_actions: int) -> float:
        """Return P[Z = L] = K/L."""
        return n_actions / scale

    def law(self, n_actions: int) -> list[KeptRound]:
        """Return the 2 K signed unit vectors."""
        one = np.eye(n_actions, dtype=np.int64)
        return [(Fraction(1, 2 * n_actions), sign * one[i]) for i in range(n_actions) for sign in (1, -1)]

    def noise(self, counts: Ints, n_actions: int, rng: np.random.Generator) -> Ints:
        """Return (m, K): the summed noise, in units; each of the ``counts`` (m,) rounds falls on one action."""
        return coordinate_sums(counts, n_actions, rng)

    def guarantee(self, scale: float, horizon: int, n_actions: int, log_size: float) -> float:
        """Return inf over a > 0 of s (log N + T log(1 + r m(a))) / a, plus T (K - 1) / L.

        Here r is the rate, s the unit in units of cost and m(a) = cosh(a (1 - 1/K)) / K + (1 - 1/K) cosh(a / K) - 1.

        Statement 6 of milpcb/theory/README.md, which holds for every a: so the number is a bound wherever the numerical
        search for a ends.
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

        To leading order the guarantee is sqrt(2 T L w log N) + T (K - 1) / L, where L w is the variance of one round's
        centred noise; that is least at L = (2 (K - 1)^2 T / (w log N))^(1/3).
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
