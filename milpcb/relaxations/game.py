"""From oracle values to the distribution over actions: the mathematics of one round (paper, section 4, Algorithm 2).

Every function keeps the number type of its arrays: floats in a run, Fractions where a theorem is checked exactly. What
every round asks for goes through lists: of a few numbers, these are faster than arrays.
"""

from typing import Any

import numpy as np

from milpcb.types import Floats


def psi_from_profile(profile: Floats, probe: float) -> Floats:
    """Return (K+1,): psi_0 = min V and psi_i = min(min_{a != i} V[a], V[i] + probe) (paper, equation (9), probe L).

    ``profile`` (K,) holds V[a], the least total cost of the policies that play a now; ``probe`` may have any sign.
    """
    V = profile.tolist()
    least, second = sorted(V)[:2]
    if probe < 0:  # every action may bring psi down
        psi = [least, *(min(least, value + probe) for value in V)]
    else:
        psi = [least] * (len(V) + 1)
        if second > least:  # only the action that every minimiser plays can lift psi
            psi[1 + V.index(least)] = min(second, least + probe)
    return _array(psi, profile)


def phi_from_psi(psi: Floats, probe: float) -> Floats:
    """Return (K,): phi_i = (psi_i - psi_0) / probe, clipped to [0, 1] where an exact oracle leaves it anyway."""
    base, *raised = psi.tolist()
    return _array([min(max((value - base) / probe, 0), 1) for value in raised], psi)


def tightened(lower: Floats, upper: Floats, probe: float) -> tuple[Floats, Floats]:
    """Return bounds (K+1,) of psi that use psi_i - psi_0 between 0 and ``probe``, whatever its sign."""
    least, most = min(probe, 0), max(probe, 0)
    below = np.append(lower[0], np.maximum(lower[1:], lower[0] + least))
    top = min(upper[0], (upper[1:] - least).min())
    return below, np.append(top, np.minimum(upper[1:], top + most))


def fill(phi: Floats, leftover: Floats, *, descending: bool = False) -> Floats:
    """Return q* (K,): each action gets min(phi_i, what is left), the rest is spread as ``leftover`` (Algorithm 2).

    q* minimises sum_i (q_i - phi_i)^+ over the simplex, whatever distribution ``leftover`` is. ``descending`` goes
    through the actions by phi, which is better for approximate values, and not by number.
    """
    q = phi.tolist()
    left = 1
    for i in phi.argsort(kind="stable")[::-1] if descending else range(len(q)):
        q[i] = min(q[i], left)
        left -= q[i]
    return _array(q, phi) + left * leftover


def water_fill(psi: Floats, hit: float) -> Floats:
    """Return q* (K,), the minimiser of max_j (q_j L - psi_j): q_j = (theta + psi_j)^+ / L with theta so that sum q = 1.

    ``psi`` (K,) holds psi_1..psi_K. The per-round problem of BISTRO, where one estimate may have all of the mass.
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

    The loss is (Phi - q*(i*))^+ with Phi the one phi_i that is not 0. It is at most (psi_i* - psi_0)/L - q*(i*) for
    bounds of psi, and at most the largest width / L when q* was filled in descending order from the upper bounds.
    """
    reachable = np.clip((upper[1:] - lower[0]) / hit, 0, 1)
    return float(min(np.maximum(reachable - q_star, 0).max(), (upper - lower).max() / hit, 1))


def centres(low: Floats, high: Floats) -> Floats:
    """Return mu (K,), (phi_i + 1 - max_{a != i} phi_a) / 2 with phi_i = low_i and other phi = high (see Signed)."""
    second, most = np.partition(high, -2)[-2:]
    others = np.full_like(high, most)
    others[high.argmax()] = second
    return np.asarray((low + 1 - others) / 2)


def _array(numbers: list[Any], like: Floats) -> Floats:
    return np.array(numbers, object if like.dtype == object else float)
