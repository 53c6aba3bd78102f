"""The guarantee computed instead of bounded: Rel(empty) for one class on its own contexts, by Monte Carlo.

The theorem is E[regret] <= Rel(empty) = E sup over policies of the future noise + T E / L: an average over draws that
an oracle evaluates, with a confidence interval (derived for this project).
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from scipy.special import stdtrit

from milpcb.core.checks import whole
from milpcb.errors import InputError
from milpcb.protocols import ContextModel, ValueOracle
from milpcb.relaxations.base import Relaxation
from milpcb.types import Floats, Ints

DRAWS, PRECISION, POINTS, FACTOR = 50, 0.01, 15, 4.0
LOOK = 10  # draws between two looks at the precision: fewer give a poor estimate of their own spread
Tick = Callable[[int], None]


def _silent(_done: int) -> None: ...


class Estimate(NamedTuple):
    """Rel(empty) at one L, in units of cost: ``mean`` +- ``half_width`` (95 %), and the closed form that bounds it."""

    scale: float
    mean: float
    half_width: float
    closed_form: float

    @property
    def upper(self) -> float:
        """Upper end of the interval."""
        return self.mean + self.half_width


class RelaxationValue(NamedTuple):
    """Rel(empty) over a ``grid`` of L, all from the same draws, and at the ``best`` of these, from fresh draws.

    The least of several means is biased downwards; the fresh draws are not.
    """

    grid: list[Estimate]
    best: Estimate


@dataclass(frozen=True)
class Setting:
    """Arguments of Rel(empty); raises InputError where they do not fit, or the law of the contexts is not known."""

    relaxation: Relaxation
    oracle: ValueOracle
    pool: ContextModel
    horizon: int

    def __post_init__(self) -> None:
        whole("horizon", self.horizon, 1)
        if not self.pool.known:
            raise InputError(
                f"Rel(empty) is an average over the law of the contexts, which {type(self.pool).__name__} "
                "does not know; use a FinitePool, a Transductive or a Sampler"
            )
        self.pool.attach(self.oracle, self.horizon)

    def noise(self, scales: Floats, rng: np.random.Generator) -> Iterator[Ints]:
        """Yield (m, K): one draw of the noise of all T rounds, in units, at the largest L of ``scales`` first.

        ``scales`` (G,) ascend. At each L the law is that of fresh noise. The L share their rounds: one that carries
        noise at rate r carries the same noise at a lower rate r' with probability r'/r, else none.
        """
        K = self.oracle.n_actions
        rates = [self.relaxation.rate(float(scale), K) for scale in scales]
        counts = [self.pool.future(-1, self.horizon, rates[0], rng)]
        for before, after in pairwise(rates):
            counts.append(rng.binomial(counts[-1], after / before))
        dropped = [more - less for more, less in pairwise(counts)]
        total: Any = 0
        for rounds in (counts[-1], *reversed(dropped)):
            total = total + self.relaxation.noise(rounds, K, rng)
            yield total

    def sups(self, scales: Floats, rng: np.random.Generator) -> Floats:
        """Return (G,): one draw of the largest -noise of any policy, centred over the actions, in units, at each L."""
        sups: list[float] = []
        last: Any = None
        for noise in self.noise(scales, rng):
            if not np.array_equal(noise, last):  # they are equal where every round carries noise, as in BISTRO
                sup = noise.sum() / self.oracle.n_actions - self.oracle.value(noise.astype(float))
            sups.append(sup)
            last = noise
        return np.array(sups[::-1])

    def estimates(
        self, scales: Floats, rng: np.random.Generator, draws: int, tick: Tick = _silent, precision: float = 0.0
    ) -> list[Estimate]:
        """Return Rel(empty) at each L, by Student's intervals of ``draws``, or fewer once the least mean is precise."""
        K, size = self.oracle.n_actions, self.relaxation.unit(scales)
        explored = self.horizon * self.relaxation.exploration(K) / scales
        sups: list[Floats] = []
        while True:
            sups.append(self.sups(scales, rng))
            n = len(sups)
            tick(n)
            if n % LOOK and n < draws:
                continue
            mean = size * np.mean(sups, axis=0) + explored
            half_width = size * (np.std(sups, axis=0, ddof=1) / np.sqrt(n)) * stdtrit(n - 1, 0.975)
            if n == draws or half_width[mean.argmin()] < precision * mean.min():
                break
        guarantee, log_size = self.relaxation.guarantee, self.oracle.log_size
        closed = [float(guarantee(scale, self.horizon, K, log_size)) for scale in scales.tolist()]
        return [Estimate(*at) for at in zip(scales.tolist(), mean.tolist(), half_width.tolist(), closed, strict=True)]

    def value(self, rng: np.random.Generator, draws: int = DRAWS, tick: Tick = _silent) -> RelaxationValue:
        """Estimate Rel(empty) over 15 L, log-spaced around the closed form's best one, and where it is least.

        There are ``draws`` draws of the whole future, and as many again for the best L; the grid stops earlier once
        its least mean has a half-width of 1 %. ``tick`` is called with the number of draws done, of 2 * ``draws``.
        Raises OracleInexact where the oracle stopped early.
        """
        whole("draws", draws, 2)
        K = self.oracle.n_actions
        around = self.relaxation.best_scale(self.horizon, K, self.oracle.log_size)
        least = max(self.relaxation.least_scale(K), around / FACTOR)
        grid = self.estimates(np.geomspace(least, around * FACTOR, POINTS), rng, draws, tick, PRECISION)
        best = np.array([min(grid, key=lambda at: at.mean).scale])
        return RelaxationValue(grid, *self.estimates(best, rng, draws, lambda done: tick(draws + done)))
