"""From oracle values to the distribution over actions: the mathematics of one round (paper, section 4, Algorithm 2).

Every function keeps the number type of its arrays: floats in a run, Fractions where a theorem is checked exactly.
"""

from __future__ import annotations

import numpy as np

from milpcb.types import Floats


def psi_from_profile(profile: Floats, hit: float) -> Floats:
    """Return (K+1,): psi_0 = min V and psi_i = min(min_{a != i} V[a], V[i] + L) (paper, equation (9)).

    ``profile`` (K,) holds V[a], the least total cost of the policies that play a now; ``hit`` is L in its units.
    """
    least, second = np.partition(profile, 1)[:2]
    psi = np.full(len(profile) + 1, least)
    if second > least:  # only the action that every minimiser plays can lift psi
        psi[1 + profile.argmin()] = min(second, least + hit)
    return psi


def phi_from_psi(psi: Floats, hit: float) -> Floats:
    """Return (K,): phi_i = (psi_i - psi_0) / L, clipped to [0, 1] where an exact oracle leaves it anyway."""
    return np.asarray(np.clip((psi[1:] - psi[0]) / hit, 0, 1))


def fill(phi: Floats, leftover: Floats, *, descending: bool = False) -> Floats:
    """Return q* (K,): each action gets min(phi_i, what is left), the rest is spread as ``leftover`` (Algorithm 2).

    q* minimises sum_i (q_i - phi_i)^+ over the simplex, whatever distribution ``leftover`` is. The paper goes through the
    actions by number; ``descending`` goes by phi, which is the same for exact values and better for approximate ones.
    """
    q = np.empty_like(phi)
    left = 1
    for i in phi.argsort(kind="stable")[::-1] if descending else range(len(phi)):
        q[i] = min(phi[i], left)
        left -= q[i]
    return q + left * leftover


def water_fill(psi: Floats, hit: float) -> Floats:
    """Return q* (K,), the minimiser of max_j (q_j L - psi_j): q_j = (theta + psi_j)^+ / L with theta such that sum q = 1.

    ``psi`` (K,) holds psi_1..psi_K. The per-round problem of BISTRO (Rakhlin & Sridharan 2016), where one estimate may
    have all of the adversary's mass.
    """
    falling = np.sort(psi)[::-1]
    thetas = (hit - falling.cumsum()) / np.arange(1, len(psi) + 1)
    theta = thetas[thetas > -falling][-1]
    return np.asarray(np.maximum(theta + psi, 0) / hit)


def mix(q_star: Floats, scale: float) -> Floats:
    """Return q = (1 - K/L) q* + 1/L (paper, equation (6))."""
    return (1 - len(q_star) / scale) * q_star + 1 / scale


def excess(lower: Floats, upper: Floats, q_star: Floats, hit: float) -> float:
    """Return a bound on what q* loses against the optimal one, where psi_i lies in [lower_i, upper_i], i = 0..K.

    The loss is (Phi - q*(i*))^+ with Phi the one phi_i that is not 0. It is at most (psi_i* - psi_0)/L - q*(i*) for bounds of
    psi, and at most the largest width / L when q* was filled in descending order from the upper bounds.
    """
    reachable = np.clip((upper[1:] - lower[0]) / hit, 0, 1)
    return float(min(np.maximum(reachable - q_star, 0).max(), (upper - lower).max() / hit, 1))
