"""A lower bound on gains that holds for all policies of a class at once, by searching again on resampled rows.

With scores Gamma_j turned so that larger is better, weights u_j of sum 1 and a constant k, the gain of a policy pi over
k is v(pi) = sum_j u_j d_j(pi), where d_j(a) = Gamma_j(a) - Gamma_j(k). Its variance is at most about
V(pi) = sum_j u_j^2 d_j(pi)^2. If a resample has row j c_j times, then N(pi) = sum_j u_j (c_j - 1) d_j(pi), with the
multipliers c_j - 1 centred, imitates the noise of v, and sum_j c_j u_j^2 d_j(pi)^2 that of V. All of them are totals of
costs by row and action: the greatest value of N - lambda V over *all* policies is one exact query. If q is its
1 - alpha quantile over the draws, then with probability 1 - alpha

    true gain of pi over k  >=  v(pi) - lambda V(pi) - q        for every policy pi at once,

whichever of them is then chosen, and why. The penalty lambda V studentises: without it policies that differ from k in
most of the rows, whose gains are noisiest, make the bound wide for all others. By c sqrt(V) <= c (s + V / s) / 2, with
equality where V = s^2, lambda = c / (2 s) stands for c standard errors near s; c and s do not depend on the choice, and
any value of them is valid.

The gain over the best constant is the least of those over any k, and so is its bound: it is wrong only if the one for
the constant that is best in truth is. The same goes for p-values, of which the greatest is taken.

The p-value is the share of draws that reach the greatest v - lambda V. Draws are recentred (Andrews and Soares 2010,
their function phi(4)): policies that look worse than k need not be feared to be as good, so v(pi) / sqrt(log n) is
added to N(pi). That is less than nothing for them, but more for those that look better; the lesser of the two maxima,
with and without it, is at least the maximum of N + min(0, v / sqrt(log n)) - lambda V, which is what is wanted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

import numpy as np

from milpcb.checks import ROUNDING
from milpcb.offline.intervals import resampled
from milpcb.oracles.base import Oracle
from milpcb.types import Floats, Ints

REACH = 3.0  # c: about the quantile of the greatest of thousands of standard normals
SHAPE = 0.75  # s, as a share of the standard error of the labeling that differs most from k


@dataclass(frozen=True)
class Claim:
    """What is claimed of a gain over the best constant, in the unit of the outcome; positive is better.

    ``gain`` is estimated, the true gain is at least ``lower``, and ``p_value`` belongs to "no policy of the class is
    better than the best constant".
    """

    gain: float
    lower: float
    p_value: float


def least_favourable(claims: Sequence[Claim]) -> Claim:
    """Return what is claimed of the gain over the best constant by claims over each, as it is not known which is."""
    gain, lower, p_value = zip(*((claim.gain, claim.lower, claim.p_value) for claim in claims), strict=True)
    return Claim(min(gain), min(lower), max(p_value))


def band(
    oracle: Oracle,
    gains: Floats,
    weight: Floats,
    chosen: Ints,
    constants: list[int],
    *,
    draws: int,
    level: float,
    rng: np.random.Generator,
) -> Claim:
    """Return what can be claimed of a policy of the class, however it was chosen.

    Parameters
    ----------
    oracle : of the class, on the n rows
    gains : (n, K) scores, larger is better
    weight : (n,) of the rows
    chosen : (n,) what the policy plays
    constants : the actions whose constant policies it is compared with
    draws : number of draws, at least level / (1 - level); 2 queries each for every constant
    level : how often ``lower`` holds
    rng : draws the resamples

    """
    shares = weight / weight.sum()
    tables = [_Against(oracle, gains, shares, k) for k in constants]
    drawn = (resampled(rng, len(gains), 1)[0] for _ in range(draws))
    found = np.array([[table.greatest_noise(counts) for table in tables] for counts in drawn])
    claims = [table.claim(chosen, found[:, i], level) for i, table in enumerate(tables)]
    return least_favourable(claims)


class _Against:
    """The gains over one constant, their noise, and the greatest of each over the class, less the penalty."""

    def __init__(self, oracle: Oracle, gains: Floats, shares: Floats, k: int) -> None:
        self._oracle, self._shares, self._constant = oracle, shares, k
        self._gains = shares[:, None] * (gains - gains[:, [k]])
        squares = self._gains**2
        s = SHAPE * np.sqrt(squares.max(axis=1).sum())
        self._penalty = squares * (REACH / (2 * s) if s > 0 else 0.0)
        self._recentring = 1 / np.sqrt(np.log(len(gains)))

    def greatest_noise(self, counts: Floats) -> tuple[float, float]:
        """Return the greatest noise less penalty, as it is and recentred, in a resample with ``counts`` (n,)."""
        centred = counts - self._shares @ counts
        plain = self._greatest(centred, counts)
        return plain, min(plain, self._greatest(centred + self._recentring, counts))

    def claim(self, chosen: Ints, noise: Floats, level: float) -> Claim:
        """Return what can be claimed of the policy that plays ``chosen`` (n,), from the draws (draws, 2)."""
        plain, recentred = noise.T
        rows = np.arange(len(chosen))
        gain, penalty = self._gains[rows, chosen].sum(), self._penalty[rows, chosen].sum()
        lower = gain - penalty - _quantile(plain, level)
        if (chosen == self._constant).all():
            lower = 0.0  # its gain over itself is known
        once = np.ones(len(chosen))
        reached = recentred >= self._greatest(once, once) - ROUNDING * np.abs(self._gains).sum()
        return Claim(float(gain), float(lower), float((1 + reached.sum()) / (1 + len(reached))))

    def _greatest(self, multipliers: Floats, counts: Floats) -> float:
        return -self._oracle.value(counts[:, None] * self._penalty - multipliers[:, None] * self._gains)


def _quantile(draws: Floats, level: float) -> float:
    """Return the draw that a further one exceeds with probability 1 - level at most."""
    return float(np.sort(draws)[ceil(level * (len(draws) + 1) - ROUNDING) - 1])
