"""Coordinate noise: one action and one sign per imagined future round (derived for this project, see half.py)."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from scipy.optimize import minimize_scalar

from milpcb.contexts.signs import rademacher_sums
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
        cells = rng.multinomial(counts, np.full(n_actions, 1 / n_actions))
        return rademacher_sums(cells.ravel(), 1, rng).reshape(cells.shape)

    def exploration(self, n_actions: int) -> float:
        """Return K - 1."""
        return float(n_actions - 1)

    def guarantee(self, scale: float, horizon: int, n_actions: int, log_size: float) -> float:
        """Return inf over a > 0 of (L log N + T (cosh a - 1)) / a, plus T (K - 1) / L.

        The first term bounds E sup of the noise by its moment generating function; at most sqrt(2 T L log N) + L log N / sqrt 12.
        """
        if log_size <= 0:
            return horizon * (n_actions - 1) / scale
        noise = minimize_scalar(
            lambda a: (scale * log_size + horizon * (np.cosh(a) - 1)) / a, bounds=(1e-6, 30.0), method="bounded"
        )
        return float(noise.fun + horizon * (n_actions - 1) / scale)

    def best_scale(self, horizon: int, n_actions: int, log_size: float) -> float:
        """Return the minimiser of the guarantee over L >= K, found numerically around its leading-order value."""
        K = n_actions
        if log_size <= 0:
            return float(K * horizon)
        near = np.log((2 * (K - 1) ** 2 * horizon / log_size) ** (1 / 3))
        best = minimize_scalar(
            lambda log_scale: self.guarantee(float(np.exp(log_scale)), horizon, K, log_size),
            bounds=(near - 2.0, near + 2.0),
            method="bounded",
        )
        return float(max(K, np.exp(best.x)))
