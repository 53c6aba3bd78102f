"""Variants that test the verification itself: some it must accept, and mutants, with one thing changed, it must reject.

Their numbers are those of statement 4 of milpcb/theory/README.md, with r = p.
"""

from fractions import Fraction
from typing import Any

from milpcb.plugins import registry
from milpcb.relaxations.base import KeptRound, Relaxation, fill, phi_from_psi
from milpcb.relaxations.coordinate import Coordinate, Signed
from milpcb.relaxations.paper import Paper
from milpcb.theory.exact import Variant
from milpcb.theory.verdicts import variants
from milpcb.types import Floats


def changed(relaxation: type[Relaxation], **members: Any) -> Relaxation:
    """Return a relaxation with other methods and numbers."""
    made: Relaxation = type(relaxation.__name__, (relaxation,), members)()
    return made


def signs(kappa: Fraction | None, kept: int | None = None) -> Relaxation:
    """Return noise kappa Z eps, Z = L with probability ``kept`` / L, None for K; kappa None is the least there."""

    def law(self: Paper, K: int) -> list[KeptRound]:
        least = max(Fraction(1, 2), Fraction(2, K)) if kappa is None else kappa
        return [(p, int(least * self.hit) * noise // 2) for p, noise in Paper.law(self, K)]

    return changed(Paper, hit=12, rate=lambda _self, scale, K: (kept or K) / scale, law=law)


def one_sign(kappa: Fraction, less: int = 0) -> Relaxation:
    """Return noise kappa delta Z e_I, at a price of (K - less) / L a round for exploring."""

    def law(self: Coordinate, K: int) -> list[KeptRound]:
        return [(p, int(kappa * self.hit) * noise) for p, noise in Coordinate.law(self, K)]

    return changed(Coordinate, hit=4, law=law, exploration=lambda _self, K: float(K - less))


def opposite(self: Paper, psi: Floats, leftover: Floats, *, descending: bool = False) -> Floats:
    """Fill up to 1 - phi in the place of phi."""
    return fill(1 - phi_from_psi(psi, self.hit), leftover, descending=descending)


def wrong_sign(self: Signed, cost: float, probability: float, scale: float) -> tuple[float, int]:
    """Return the chance, and the hit with the sign of 1/2 - c."""
    chance, units = Signed.estimate(self, cost, probability, scale)
    return chance, -units


def one_leader(_self: Signed, psi: Floats, leftover: Floats, **_: bool) -> Floats:
    """Return the indicator of the first leader, as a single minimiser would, where every leader has mu = 1/2."""
    q_star = 0 * leftover
    q_star[psi[1:].argmin()] += 1
    return q_star


ADMISSIBLE = [
    *(variant for name in registry.names("relaxation") for variant in variants(name)),
    Variant("signs, max(1/2,2/K), p K/L", signs(None)),
    Variant("signs, kappa 2, p 1/L", signs(Fraction(2), kept=1)),
    Variant("coordinate, kappa 2", one_sign(Fraction(2))),
    Variant("coordinate, price K", one_sign(Fraction(1))),
]

MUTANTS = [
    Variant("M0 coordinate, price K-2", one_sign(Fraction(1), less=2)),
    Variant("M1 coordinate, kappa 3/4", one_sign(Fraction(3, 4))),
    Variant("M2 signs, kappa 1, p 1/L", signs(Fraction(1), kept=1)),
    Variant("M3 signs, kappa 1/4, p K/L", signs(Fraction(1, 4))),
    Variant("M4 no noise", signs(Fraction(0))),
    Variant("M5 paper, no price", changed(Paper, exploration=lambda _self, _n_actions: 0.0)),
    Variant("M6 paper, leader, no mix", Paper(), leftover="leader", mix=lambda q_star, _scale: q_star),
    Variant("M7 paper, uniform play", changed(Paper, respond=lambda _self, _psi, leftover, **_: leftover)),
    Variant("M8 paper, 1 - phi for phi", changed(Paper, respond=opposite)),
    Variant("M9 signed, p (K-1)/L", changed(Signed, rate=lambda _self, scale, n_actions: (n_actions - 1) / scale)),
    Variant(
        "M10 signed, L from K",  # where the rate may be cut off at 1
        changed(
            Signed,
            least_scale=lambda _self, n_actions: float(n_actions),
            rate=lambda self, scale, n_actions: min(Signed.rate(self, scale, n_actions), 1),
        ),
    ),
    Variant("M11 signed, wrong sign", changed(Signed, estimate=wrong_sign)),
    Variant("M12 signed, c for c - 1/2", changed(Signed, estimate=lambda self, c, q, L: (c / (L * q), self.hit))),
    Variant("M13 signed, one leader", changed(Signed, respond=one_leader)),
    Variant("M14 signed, price K-2", changed(Signed, exploration=lambda _self, n_actions: float(n_actions - 2))),
]
