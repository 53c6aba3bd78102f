"""Follow the perturbed leader with adaptive noise: the run itself sets its size; no horizon, minima alone.

Names and bounds are those of statements 14 and 15 of milpcb/theory/README.md. ``spread`` is estimated twice by Monte
Carlo: one estimate sets the rates, which may be anything, and the other, independent, stands in the bound, which is
right in the mean.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from milpcb.core.kept import SavedPart
from milpcb.learners.needs import proved_action
from milpcb.protocols import ValueOracle
from milpcb.protocols.oracles import Table
from milpcb.types import Floats

LAWS = ("laplace", "normal", "whole")


class Noise(SavedPart):
    """Vectors (size,) of independent variables of scale 1 of a law, from a generator of their own."""

    kept = ("_rng",)
    law = "laplace"

    def __init__(self, size: int, generator: np.random.Generator, law: str = "laplace") -> None:
        self._size, self._rng, self.law = size, generator, law

    def draw(self) -> Floats:
        """Return a fresh vector; Laplace variables are differences of exponential ones, which are drawn faster."""
        if self.law == "normal":
            return self._rng.standard_normal(self._size)
        exponential = self._rng.standard_exponential((2, self._size))
        more, less = np.floor(exponential) if self.law == "whole" else exponential
        return np.asarray(more - less)


class Spread(NamedTuple):
    """An estimate of E max over policies of -n(pi), by ``draws`` vectors, and its standard error."""

    mean: float
    error: float
    draws: int


FEWEST, MOST = 30, 200  # draws of an estimate
PRECISE = 0.01  # the standard error, as a share of the mean, at which an estimate stops before the most draws


def spread(noise: Noise, least: Callable[[Floats], float], draws: int | None = None) -> Spread:
    """Return an estimate by Monte Carlo; ``least(n)`` is the least total of any policy on noise n alone.

    A draw is half the range of n(pi) over the policies. ``draws`` None takes as many as the precision needs.
    """
    found: list[float] = []
    error = math.inf
    while len(found) < (draws or MOST):
        vector = noise.draw()
        found.append(-(least(vector) + least(-vector)) / 2)
        if len(found) >= FEWEST:
            error = float(np.std(found, ddof=1)) / math.sqrt(len(found))
            if draws is None and error <= PRECISE * float(np.mean(found)):
                break
    return Spread(float(np.mean(found)), error, len(found))


class Leaders:
    """Queries on totals of a ``table`` plus ``noise`` (n_noisy,): profiles, or minimisers of an ``oracle``."""

    def __init__(self, table: Table, oracle: ValueOracle | None = None) -> None:
        self.table, self._oracle = table, oracle

    def play(self, row: int, noise: Floats) -> int:
        """Return the action on ``row`` of the policy of least total."""
        if self._oracle is None:
            return int(self.table.profile(row, noise).argmin())
        return proved_action(self.table.minimise(noise), self._oracle, row)

    def add(self, row: int, action: int, amount: float, noise: Floats) -> float:
        """Add a cost to the table, and return by how much the least total rises under the same noise."""
        if self._oracle is None:
            profile = self.table.profile(row, noise)
            least = float(profile.min())
            profile[action] += amount  # of those policies alone that play the action
            self.table.add(row, action, amount)
            return float(profile.min()) - least
        before = self.table.minimise(noise)
        self.table.add(row, action, amount)
        if proved_action(before, self._oracle, row) != action:
            return 0.0
        return self.table.minimise(noise).value - before.value


FIRST_RATE = 2.0  # eps_1
STANDARD_ERRORS = 4.0  # added to the estimate of the spread in the guarantee


class AdaptiveNoise(SavedPart):
    """The leader of ``epsilon = "adaptive"``: plays, learns, and keeps the terms of its bound.

    ``spreads`` are two independent estimates of E max over policies of -n(pi), for the rates and for the bound. ``cap``
    is M, None for ceil(sqrt(K t)) in round t.
    """

    kept = ("_scale", "_last_scale", "_excess", "_table", "_noise")

    def __init__(
        self, queries: Leaders, noise: Noise, spreads: tuple[Spread, Spread], *, cap: int | None, n_actions: int
    ) -> None:
        self._queries, self._noise, self._cap, self._n_actions = queries, noise, cap, n_actions
        self._table = queries.table
        self._for_rates, self._for_bound = spreads
        self._scale = 1.0 if noise.law == "whole" else 1 / FIRST_RATE  # 1 / eps of the round to come
        self._last_scale = 0.0  # that of the last round learnt; 0 before there is one
        self._excess = 0.0  # Delta

    @property
    def epsilon(self) -> float:
        """The rate of the next round."""
        return 1 / self._scale

    def play(self, row: int) -> int:
        """Return the action on ``row`` of the leader on fresh noise."""
        return self._queries.play(row, self._draw())

    def learn(self, row: int, action: int, cost: float, played: int) -> float:
        """Take in the cost of the action played after ``played`` rounds, and return its estimate c J."""
        self._last_scale = self._scale
        if cost == 0:
            return 0.0
        most = math.ceil(math.sqrt(self._n_actions * (played + 1))) if self._cap is None else self._cap
        estimate = cost * self._redraws(row, action, most)
        self._excess += cost - self._gain(row, action, estimate)
        if self._for_rates.mean:
            wanted = self._excess / self._for_rates.mean
            self._scale = max(self._scale, float(math.ceil(wanted)) if self._noise.law == "whole" else wanted)
        return estimate

    def bound(self) -> float:
        """Return the second estimate of the spread, over the rate of the last round, plus Delta; 0 before round 1."""
        return self._for_bound.mean * self._last_scale + self._excess

    def guarantee(self, horizon: int | None) -> float:
        """Return the constant of statement 15, the spread taken four standard errors larger; else inf."""
        if horizon is None or self._noise.law != "laplace":
            return math.inf
        estimate = self._for_rates.mean
        if estimate == 0:  # all policies are alike
            return 0.0
        error = math.hypot(self._for_rates.error, self._for_bound.error) / 2
        spread = (estimate + self._for_bound.mean) / 2 + STANDARD_ERRORS * error
        T, K = horizon, self._n_actions
        capped = 2 * math.sqrt(K * T) if self._cap is None else K * T / self._cap
        instability = self._table.n_moved * (K - 0.5)
        chance = math.sqrt((2 * K - 1) * T)
        paid = chance + 1 + math.sqrt(2 * instability * T * estimate) + capped / math.e
        return spread / FIRST_RATE + paid + spread / estimate * (paid + chance)

    def _draw(self) -> Any:
        return self._noise.draw() * self._scale

    def _redraws(self, row: int, action: int, most: int) -> int:
        redraws = (redraw for redraw in range(1, most) if self._queries.play(row, self._draw()) == action)
        return next(redraws, most)  # the last one counts whatever its outcome, so it is not made

    def _gain(self, row: int, action: int, estimate: float) -> float:
        return self._queries.add(row, action, estimate, self._draw())
