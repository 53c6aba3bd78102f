"""The base class of relaxations, all of which one loop (milpcb.learners.bistro_plus) plays."""

from abc import ABC, abstractmethod
from fractions import Fraction
from typing import Any, ClassVar, Literal

import numpy as np

from milpcb.relaxations import game
from milpcb.types import Floats, Ints

Estimator = Literal["bernoulli", "ips"]
KeptRound = tuple[Fraction, Ints]


class Relaxation(ABC):
    """A law of the noise on imagined future rounds, the per-round game it makes winnable, and the guarantee it gives.

    Attributes
    ----------
    hit : totals are integers of a unit; an estimate that is not 0 counts ``hit`` of them
    shift : costs are estimated less this number, the same for every policy, which leaves regret unchanged
    queries : the ways to ask the oracle that are enough to play; "argmin" where all mass on the action of a single
        minimiser is optimal
    even_ties : whether that holds only if the action is drawn evenly from those that the minimisers play
    estimator : how c_t is estimated unless the learner is given another way
    certified : whether ``excess`` bounds what approximate values cost

    """

    hit: ClassVar[int]
    shift: ClassVar[Fraction] = Fraction(0)
    queries: ClassVar[tuple[str, ...]] = ("all", "profile", "argmin")
    even_ties: ClassVar[bool] = False
    estimator: ClassVar[Estimator] = "bernoulli"
    certified: ClassVar[bool] = True

    @property
    def probe(self) -> int:
        """Return what query i adds to action i of the current context, in units: psi_i is the least total then."""
        return self.hit

    def unit(self, scale: Any) -> Any:
        """Return one unit in units of cost; exactly for an exact L, and for each of an array of them."""
        return scale / self.hit

    def estimate(self, cost: float, probability: float, scale: float) -> tuple[float, int]:
        """Return the probability that the cost of the action just played counts, and as how many units.

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
        return game.fill(game.phi_from_psi(psi, self.probe), leftover, descending=descending)

    def excess(self, lower: Floats, upper: Floats, q_star: Floats) -> float:
        """Return a bound on what q* (K,) loses where psi_i is in [lower_i, upper_i], i = 0..K."""
        return game.excess(lower, upper, q_star, self.hit)

    def loss(self, q_star: Floats, raised: Floats, lowered: Floats, scale: float) -> float:
        """Return what q* (K,) pays above -psi_0 against the worst estimate in ``respond``'s game, in units of cost.

        A hit on action i raises min tot by ``raised[i]`` hits, or is taken off and lowers it by ``lowered[i]``; each
        cost is at worst 1 or 0. With the paper's estimate this is sum_i (q_i - phi_i)^+. Exact for exact arguments.
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
