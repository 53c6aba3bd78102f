"""From oracle values to the distribution over actions: the mathematics of one round (paper, section 4, Algorithm 2)."""

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
    return np.asarray(np.clip((psi[1:] - psi[0]) / hit, 0.0, 1.0))


def fill(phi: Floats, leftover: Floats) -> Floats:
    """Return q* (K,): each action gets min(phi_i, what is left), the rest is spread as ``leftover`` (Algorithm 2).

    q* minimises sum_i (q_i - phi_i)^+ over the simplex, whatever distribution ``leftover`` is.
    """
    q = np.empty_like(phi)
    left = 1.0
    for i, share in enumerate(phi):
        q[i] = min(share, left)
        left -= q[i]
    return q + left * leftover


def mix(q_star: Floats, scale: float) -> Floats:
    """Return q = (1 - K/L) q* + 1/L (paper, equation (6))."""
    return (1.0 - len(q_star) / scale) * q_star + 1.0 / scale
