"""Variants that test the verification itself: some it must accept, and mutants, with one thing changed, it must reject.

The noise condition behind their numbers (derived for this project): with xi the noise of a future round,
E max(xi_i, xi_j - g) >= (1 - g/L)^+ must hold for all actions i != j and all g >= 0. For independent signs, kappa Z eps
with Z = L with probability p, that is kappa >= 1/2 and p kappa L >= 2; for one sign on one action, kappa >= 1. Where c
- 1/2 is estimated, see milpcb.relaxations.coordinate.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from milpcb.relaxations.base import KeptRound
from milpcb.relaxations.coordinate import Coordinate, Signed
from milpcb.relaxations.game import fill, phi_from_psi
from milpcb.relaxations.paper import Paper
from milpcb.theory.player import Variant
from milpcb.types import Floats


class Signs(Paper):
    """Noise kappa Z eps with Z = L with probability ``kept`` / L; ``kept`` None is K."""

    hit = 12  # units in one L: kappa may be a number of twelfths

    def __init__(self, kappa: Fraction | None, kept: int | None = None) -> None:
        self._kappa, self._kept = kappa, kept

    def rate(self, scale: float, n_actions: int) -> float:
        """Return ``kept`` / L."""
        return (n_actions if self._kept is None else self._kept) / scale

    def law(self, n_actions: int) -> list[KeptRound]:
        """Return the vectors kappa eps; kappa None is the least that is enough at the rate K/L, max(1/2, 2/K)."""
        kappa = max(Fraction(1, 2), Fraction(2, n_actions)) if self._kappa is None else self._kappa
        return [(p, int(kappa * self.hit) * noise // 2) for p, noise in super().law(n_actions)]


class OneSign(Coordinate):
    """Noise kappa delta Z e_I, and a price of (K - less) / L a round for exploring."""

    hit = 4  # kappa may be a number of quarters

    def __init__(self, kappa: Fraction, less: int = 0) -> None:
        self._kappa, self._less = kappa, less

    def law(self, n_actions: int) -> list[KeptRound]:
        """Return the 2 K vectors +-kappa e_i."""
        return [(p, int(self._kappa * self.hit) * noise) for p, noise in super().law(n_actions)]

    def exploration(self, n_actions: int) -> float:
        """Return K - ``less``."""
        return float(n_actions - self._less)


class FreeExploration(Paper):
    """The paper's relaxation, its Rel without the price of exploring."""

    def exploration(self, n_actions: int) -> float:
        """Return 0."""
        del n_actions
        return 0.0


class IgnoresTheOracle(Paper):
    """The paper's relaxation, played uniformly whatever the oracle answers."""

    def respond(self, psi: Floats, leftover: Floats, *, descending: bool = False) -> Floats:
        """Return the leftover distribution, uniform."""
        del psi, descending
        return leftover


class Reversed(Paper):
    """The paper's relaxation, played with 1 - phi in the place of phi."""

    def respond(self, psi: Floats, leftover: Floats, *, descending: bool = False) -> Floats:
        """Fill up to 1 - phi."""
        return fill(1 - phi_from_psi(psi, self.hit), leftover, descending=descending)


class ThinSigned(Signed):
    """Half of the rounds that must carry noise."""

    def rate(self, scale: float, n_actions: int) -> float:
        """Return (K - 1) / L."""
        return super().rate(scale, n_actions) / 2


class SignedFromK(Signed):
    """L from K on, where the rate 2 (K - 1) / L may be cut off at 1."""

    def least_scale(self, n_actions: int) -> float:
        """Return K."""
        return float(n_actions)

    def rate(self, scale: float, n_actions: int) -> float:
        """Return min(1, 2 (K - 1) / L)."""
        return min(super().rate(scale, n_actions), 1)


class WrongSign(Signed):
    """Hits with the sign of 1/2 - c."""

    def estimate(self, cost: float, probability: float, scale: float) -> tuple[float, int]:
        """Return the chance, and the hit with the other sign."""
        chance, units = super().estimate(cost, probability, scale)
        return chance, -units


class Unshifted(Signed):
    """The paper's estimate in the place of the signed one: of c, with hits of L/2."""

    def estimate(self, cost: float, probability: float, scale: float) -> tuple[float, int]:
        """Return c / (L q), and one hit."""
        return cost / (scale * probability), self.hit


class OneLeader(Signed):
    """All mass on one leader, as a single minimiser would have it, where every leader has mu = 1/2."""

    def respond(self, psi: Floats, leftover: Floats, *, descending: bool = False) -> Floats:
        """Return the indicator of the first leader."""
        del descending
        q_star = 0 * leftover
        q_star[psi[1:].argmin()] += 1
        return q_star


class CheapSigned(Signed):
    """A price of (K - 2) / L a round for exploring."""

    def exploration(self, n_actions: int) -> float:
        """Return K - 2."""
        return float(n_actions - 2)


def unmixed(q_star: Floats, scale: Any) -> Floats:
    """Return q = q*: no exploration."""
    del scale
    return q_star


ALSO_ADMISSIBLE = [
    Variant("signs, max(1/2,2/K), p K/L", Signs(None)),
    Variant("signs, kappa 2, p 1/L", Signs(Fraction(2), kept=1)),
    Variant("coordinate, kappa 2", OneSign(Fraction(2))),
    Variant("coordinate, price K", OneSign(Fraction(1))),
]

MUTANTS = [
    Variant("M0 coordinate, price K-2", OneSign(Fraction(1), less=2)),
    Variant("M1 coordinate, kappa 3/4", OneSign(Fraction(3, 4))),
    Variant("M2 signs, kappa 1, p 1/L", Signs(Fraction(1), kept=1)),
    Variant("M3 signs, kappa 1/4, p K/L", Signs(Fraction(1, 4))),
    Variant("M4 no noise", Signs(Fraction(0))),
    Variant("M5 paper, no price", FreeExploration()),
    Variant("M6 paper, leader, no mix", Paper(), leftover="leader", mix=unmixed),
    Variant("M7 paper, uniform play", IgnoresTheOracle()),
    Variant("M8 paper, 1 - phi for phi", Reversed()),
    Variant("M9 signed, p (K-1)/L", ThinSigned()),
    Variant("M10 signed, L from K", SignedFromK()),
    Variant("M11 signed, wrong sign", WrongSign()),
    Variant("M12 signed, c for c - 1/2", Unshifted()),
    Variant("M13 signed, one leader", OneLeader()),
    Variant("M14 signed, price K-2", CheapSigned()),
]
