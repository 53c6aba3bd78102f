"""What a relaxation is: one file each implements this class, and one loop (milpcb.learners.bistro_plus) plays all of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from fractions import Fraction
from itertools import product
from typing import ClassVar, Literal

import numpy as np

from milpcb.relaxations.game import fill, phi_from_psi
from milpcb.types import Floats, Ints

Estimator = Literal["bernoulli", "ips"]
KeptRound = tuple[Fraction, Ints]


def sign_vectors(n_actions: int) -> list[KeptRound]:
    """Return all vectors of K independent fair signs, each with its probability."""
    return [(Fraction(1, 2**n_actions), np.array(eps)) for eps in product((-1, 1), repeat=n_actions)]


class Relaxation(ABC):
    """A law of the noise on imagined future rounds, the per-round game that it makes winnable, and the guarantee it gives.

    Totals are whole numbers of a unit, ``hit`` of which make one L. ``estimator`` is how c_t is estimated unless the
    learner is given another; ``certified`` means that milpcb.relaxations.game.excess bounds what approximate values cost.
    """

    hit: ClassVar[int]
    estimator: ClassVar[Estimator] = "bernoulli"
    certified: ClassVar[bool] = True

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
        return fill(phi_from_psi(psi, self.hit), leftover, descending=descending)

    def loss(self, q_star: Floats, phi: Floats, scale: float) -> float:
        """Return what q* (K,) pays above -psi_0 against the worst estimate in the game of ``respond``, in units of cost.

        Here L e_i has probability 1/L at most: sum_i (q_i - phi_i)^+ (paper, section 4). Exact for exact arguments.
        """
        del scale
        lost: float = np.maximum(q_star - phi, 0).sum()
        return lost

    @abstractmethod
    def exploration(self, n_actions: int) -> float:
        """Return E, where exploring costs at most E / L a round."""

    @abstractmethod
    def guarantee(self, scale: float, horizon: int, n_actions: int, log_size: float) -> float:
        """Return the bound on expected regret."""

    @abstractmethod
    def best_scale(self, horizon: int, n_actions: int, log_size: float) -> float:
        """Return the valid L that minimises the guarantee."""
