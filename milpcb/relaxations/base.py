"""The base class of relaxations, all of which one loop (milpcb.learners.bistro_plus) plays, and the one-round game.

The functions of the game lead from oracle values to the distribution over actions (paper, section 4, Algorithm 2).
Each keeps the number type of its arrays: floats in a run, Fractions where a theorem is checked exactly. Lists of a few
numbers are faster than arrays.
"""

from abc import ABC, abstractmethod
from fractions import Fraction
from typing import Any, ClassVar, Literal

import numpy as np

from milpcb.types import Floats, Ints

Estimator = Literal["bernoulli", "ips"]
KeptRound = tuple[Fraction, Ints]


class Relaxation(ABC):
    """A law of the noise on imagined future rounds, the game of one round that it makes winnable, and its guarantee."""

    hit: ClassVar[int]  # units in an estimate that is not 0: totals are integers
    shift: ClassVar[Fraction] = Fraction(0)  # costs are estimated less this, for every policy, which keeps regret
    # The queries that are enough to play: "argmin" where all mass on the action of a single minimiser is optimal;
    # with ``even_ties`` only if that action is drawn evenly from those that the minimisers play.
    queries: ClassVar[tuple[str, ...]] = ("all", "profile", "argmin")
    even_ties: ClassVar[bool] = False
    estimator: ClassVar[Estimator] = "bernoulli"  # unless the learner is given another one
    certified: ClassVar[bool] = True  # whether ``excess`` bounds what approximate values cost

    @property
    def probe(self) -> int:
        """Return the units that query i adds to action i of the current context; psi_i is the least total then."""
        return self.hit

    def unit(self, scale: Any) -> Any:
        """Return one unit in units of cost: exact for an exact L, an array for an array of them."""
        return scale / self.hit

    def estimate(self, cost: float, probability: float, scale: float) -> tuple[float, int]:
        """Return the probability that the cost of the action just played counts, and the number of units it counts for.

        Paper, equation (4): L with probability c / (L q). Exact for exact arguments.
        """
        return cost / (scale * probability), self.hit

    def least_scale(self, n_actions: int) -> float:
        """Return the smallest L for which the distributions are valid: K."""
        return float(n_actions)

    @abstractmethod
    def rate(self, scale: float, n_actions: int) -> float:
        """Return the probability that a future round carries noise (exactly, for an exact ``scale``)."""

    @abstractmethod
    def law(self, n_actions: int) -> list[KeptRound]:
        """Return the noise (K,), in units, of one round that carries noise: every outcome with its probability."""

    @abstractmethod
    def noise(self, counts: Ints, n_actions: int, rng: np.random.Generator) -> Ints:
        """Return (m, K): the summed noise, in units, of ``counts`` (m,) such rounds on each context."""

    def respond(self, psi: Floats, leftover: Floats, *, descending: bool = False) -> Floats:
        """Return q* (K,) for psi_0..psi_K in units (paper, Algorithm 2)."""
        return fill(phi_from_psi(psi, self.probe), leftover, descending=descending)

    def excess(self, lower: Floats, upper: Floats, q_star: Floats) -> float:
        """Return a bound on the loss of q* (K,) against the optimal one, for psi_i in [lower_i, upper_i], i = 0..K.

        That is (Phi - q*(i*))^+, Phi the one phi_i that is not 0: at most (psi_i* - psi_0)/L - q*(i*) for bounds of
        psi, and at most the largest width / L where q* was filled in descending order from the upper bounds.
        """
        reachable = np.clip((upper[1:] - lower[0]) / self.hit, 0, 1)
        return float(min(np.maximum(reachable - q_star, 0).max(), (upper - lower).max() / self.hit, 1))

    def loss(self, q_star: Floats, raised: Floats, lowered: Floats, scale: float) -> float:
        """Return the loss of q* (K,) above -psi_0 against the worst estimate in ``respond``'s game, in units of cost.

        A hit on action i raises min tot by ``raised[i]`` hits, or is taken off and lowers it by ``lowered[i]``. With
        the paper's estimate this is sum_i (q_i - phi_i)^+. Exact for exact arguments.
        """
        del scale
        shift: Any = self.shift
        lost: float = np.maximum((1 - shift) * (q_star - raised), shift * (lowered - q_star)).sum()
        return lost

    def exploration(self, n_actions: int) -> float:
        """Return E, where exploring costs at most E / L a round: K - 1, as one of the shares 1/L is the leader's."""
        return float(n_actions - 1)

    @abstractmethod
    def guarantee(self, scale: float, horizon: int, n_actions: int, log_size: float) -> float:
        """Return the bound on expected regret."""

    @abstractmethod
    def best_scale(self, horizon: int, n_actions: int, log_size: float) -> float:
        """Return the valid L that minimises the guarantee."""


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
    """Return (K,): phi_i = (psi_i - psi_0) / probe, clipped to [0, 1], where an exact oracle has it in any case."""
    base, *raised = psi.tolist()
    return _array([min(max((value - base) / probe, 0), 1) for value in raised], psi)


def tightened(lower: Floats, upper: Floats, probe: float) -> tuple[Floats, Floats]:
    """Return bounds (K+1,) of psi that use psi_i - psi_0 between 0 and ``probe``, whatever its sign."""
    least, most = min(probe, 0), max(probe, 0)
    below = np.append(lower[0], np.maximum(lower[1:], lower[0] + least))
    top = min(upper[0], (upper[1:] - least).min())
    return below, np.append(top, np.minimum(upper[1:], top + most))


def fill(phi: Floats, leftover: Floats, *, descending: bool = False) -> Floats:
    """Return q* (K,): each action gets min(phi_i, the mass left), the rest is spread as ``leftover`` (Algorithm 2).

    q* minimises sum_i (q_i - phi_i)^+ over the simplex, for any distribution ``leftover``. ``descending`` goes through
    the actions by falling phi, not by number, which is better for approximate values.
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


def centres(low: Floats, high: Floats) -> Floats:
    """Return mu (K,), (phi_i + 1 - max_{a != i} phi_a) / 2 with phi_i = low_i and other phi = high (see Signed)."""
    second, most = np.partition(high, -2)[-2:]
    others = np.full_like(high, most)
    others[high.argmax()] = second
    return np.asarray((low + 1 - others) / 2)


def _array(numbers: list[Any], like: Floats) -> Floats:
    return np.array(numbers, object if like.dtype == object else float)
