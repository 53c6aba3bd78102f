"""Confidence bounds by betting: bounds on the policies' true costs from the estimated costs of one run.

Formulas are those of statement 16 of milpcb/theory/confidence.md, derived for this project: c is the cost of the action
played, e >= 0 its estimate, lambda a stake and l = -log(1 - lambda).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log, log1p, sqrt
from typing import Literal

# Stakes that every run is prepared for: each is nearly the best one for some length of the run, up to about 1e8 rounds.
STAKES = tuple(0.001 * 2**step for step in range(9))


def loss(stake: float) -> float:
    """Return l = -log(1 - lambda), by which a cost of 1 lowers the logarithm of the wealth."""
    return -log1p(-stake)


def proved(cost: float, estimate: float, stake: float) -> float:
    """Return c + log(1 + lambda (e - c)) / l, from 0 to e: the proved cost of policies that play the round's action."""
    return cost + log1p(stake * (estimate - cost)) / loss(stake)


def price(stake: float, log_size: float, n_stakes: int, confidence: float) -> float:
    """Return log(N G / delta) / l, the price of the failure probability delta for N policies and G stakes."""
    return (log_size + log(n_stakes) - log1p(-confidence)) / loss(stake)


class Floor:
    """A lower confidence bound on the total cost of one policy, valid at all times: statement 16, or costs seen."""

    def __init__(self, confidence: float, stakes: Sequence[float] = STAKES) -> None:
        self._bets = [(stake, 1 / loss(stake)) for stake in stakes]
        self._prices = [price(stake, 0.0, len(stakes), confidence) for stake in stakes]
        self._sums = [0.0] * len(stakes)
        self._seen = 0.0
        self.value = 0.0

    def add(self, cost: float, estimate: float) -> None:
        """Take in a round in which the policy's action was played, with its cost and the estimate e >= 0 of it."""
        if cost == 0.0:
            return
        self._seen += cost
        more = estimate - cost
        for place, (stake, inverse) in enumerate(self._bets):  # proved()
            self._sums[place] += cost + log1p(stake * more) * inverse
        proved_so_far = (total - own for total, own in zip(self._sums, self._prices, strict=True))
        self.value = max(self._seen, *proved_so_far)

    def state(self) -> list[float]:
        """Return everything as plain data."""
        return [self.value, self._seen, *self._sums]

    def restore(self, state: Sequence[float]) -> None:
        """Go on from a saved state; raises ValueError on one of other stakes."""
        self.value, self._seen, *sums = map(float, state)
        if len(sums) != len(self._sums):
            raise ValueError(f"there are {len(sums)} sums, not {len(self._sums)}")
        self._sums = sums


class RunningMean:
    """Confidence sequence for the mean of the expectations of numbers in [0, 1], valid at all times simultaneously.

    Statement L2 of milpcb/theory/confidence.md: with g_s a guess of X_s from the past, V the sum of the (X_s - g_s)^2
    and psi(lambda) = -log(1 - lambda) - lambda, with probability 1 - delta the sum is never off by more than
    (psi(lambda) V + log(2 G / delta)) / lambda.
    """

    def __init__(self) -> None:
        self.count, self.total, self._squares = 0, 0.0, 0.0

    def add(self, number: float) -> None:
        """Take in the next number."""
        guess = (self.total + 0.5) / (self.count + 1)
        self._squares += (number - guess) ** 2
        self.total += number
        self.count += 1

    def within(self, delta: float) -> tuple[float, float, float]:
        """Return the mean of the numbers, and the least and the greatest that the mean of expectations may be."""
        if not self.count:
            return 0.0, 0.0, 1.0
        unions = log(2 * len(STAKES) / delta)
        margin = min(((loss(stake) - stake) * self._squares + unions) / stake for stake in STAKES)
        mean, off = self.total / self.count, margin / self.count
        return mean, max(0.0, mean - off), min(1.0, mean + off)

    def state(self) -> list[float]:
        """Return everything as plain data."""
        return [self.count, self.total, self._squares]

    def restore(self, state: Sequence[float]) -> None:
        """Go on from a saved state; raises ValueError on other data."""
        count, self.total, self._squares = state
        if not isinstance(count, int) or not 0 <= self.total <= count:
            raise ValueError(f"{state} are no sums of numbers from 0 to 1")
        self.count = count


Estimates = Literal["unbiased", "optimistic"]
# Stakes, in units of sqrt(log N / (K T)) with a horizon, else of sqrt(log N / (K t)) in round t: for Exp4, of those
# tried at T = 1e4 and 1e5, the ones with the least confident certificates.
WITH_HORIZON, ANYTIME, BOLDEST = 4.0, 1.5, 0.5


class Optimism:
    """Optimistic estimates, so that actions that were seldom tried are tried again.

    x = c + log(1 + lambda (e - c)) / l stands in the place of e >= c; the stakes lambda never increase (statement 17 of
    milpcb/theory/confidence.md). ``log_size`` is log N, ``factor`` multiplies all stakes.
    """

    def __init__(self, log_size: float, n_actions: int, horizon: int | None, factor: float = 1.0) -> None:
        size = sqrt(max(log_size, log(2)) / n_actions)
        self._horizon = horizon
        self._unit = factor * (ANYTIME * size if horizon is None else WITH_HORIZON * size / sqrt(horizon))

    def stake(self, t: int) -> float:
        """Return the stake of round t (1, 2, ...); with a horizon it is that of every round."""
        return min(BOLDEST, self._unit if self._horizon is not None else self._unit / sqrt(t))

    def estimate(self, cost: float, estimate: float, t: int) -> float:
        """Return x for the cost c of round t and its estimate e."""
        return proved(cost, estimate, self.stake(t))
