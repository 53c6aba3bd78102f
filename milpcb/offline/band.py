"""Bounds on values and gains that hold for all policies of a class at once, by searching again on resampled rows.

With scores Gamma_j turned so that larger is better, weights u_j of sum 1 and a lottery p over actions (see reference),
the gain of a policy pi over p is v(pi) = sum_j u_j d_j(pi), where d_j(a) = Gamma_j(a) - Gamma_j . p. Its variance is at
most about V(pi) = sum_j u_j^2 d_j(pi)^2. If a resample has row j c_j times, then N(pi) = sum_j u_j (c_j - 1) d_j(pi),
with the multipliers c_j - 1 centred, imitates the noise of v, and sum_j c_j u_j^2 d_j(pi)^2 that of V. All of them are
totals of costs by row and action: the greatest value A of N - lambda V over *all* policies is one exact query, and that
of -N - lambda V, B, another. If q is the 1 - alpha quantile of max(A, r B) over the draws, then with probability
1 - alpha, for every policy pi of the class at once, whichever of them is then chosen, and why,

    v(pi) - lambda V(pi) - q  <=  true gain of pi over p  <=  v(pi) + lambda V(pi) + q / r.

The penalty lambda V studentises: without it policies that differ from p in most of the rows, whose gains are noisiest,
make the bounds wide for all others. By c sqrt(V) <= c (s + V / s) / 2, with equality where V = s^2, lambda = c / (2 s)
stands for c standard errors near s; c and s do not depend on the choice, and any value of them is valid. So is any r;
r < 1 moves the upper end out, so that the lower one, which decides, has nearly all of the error. Where A or B are below
0 they count as 0.

The lottery that is truly the best is not known. The gain over the best is the least of those over any p, and so is its
lower end: it is wrong only if the end for the truly best lottery is wrong. The same holds for p-values, of which
the greatest is taken. The gain over any p, also over the one that looks best, is an upper end if it holds for all p, so
there B is the greatest over all p, and q the largest of the quantiles.

An upper bound on every gain needs no band: the best policy is a fixed one, whichever it is. With probability 1 -
alpha its v is at most z standard errors below its gain, z the normal quantile, so its gain is at most the greatest v +
z sqrt(V) of the class, and by the same step as above the greatest v + z (s + V / s) / 2, for any s: one query each. If
there are R lotteries p the quantile is that of 1 - alpha / R. Rows that belong together have the greatest v + lambda V
+ q / r in its place.

The p-value is the share of draws whose noise A reaches T, the greatest v - lambda V.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import ceil

import numpy as np
from numpy.random import Generator
from scipy.stats import norm

from milpcb.core.checks import ROUNDING, whole
from milpcb.offline.intervals import check_level
from milpcb.offline.reference import Reference, against
from milpcb.offline.scores import Scores
from milpcb.oracles.base import Oracle
from milpcb.types import Floats, Ints

WORK = 1e9  # of all draws: rows times actions times pairs of features; a quarter of a minute on one core
FEW = 12  # lotteries: of more, draws are fewer
REACH = 3.0  # c: about the quantile of the greatest of thousands of standard normals
SHAPE = 0.75  # s, as a share of the standard error of the labeling that differs most from p
UPPER = 0.75  # r

Progress = Callable[[int, int], None]  # how many parts of a question are done, and how many there are


def affordable(asked: int, least: int, n: int, oracle: Oracle, lotteries: int = 1) -> int:
    """Return the number of draws on ``n`` rows, at most ``asked``: fewer where each takes long."""
    work = n * oracle.n_actions * max(1.0, oracle.contexts.shape[1] ** 2 / 2) * max(1.0, lotteries / FEW)
    return max(least, min(asked, int(WORK / work)))


def fewest_draws(level: float) -> int:
    """Return the least number of draws that have a quantile at the ``level``."""
    return ceil(level / (1 - level) - ROUNDING)


def drawn_again(rng: Generator, members: Ints, times: int, progress: Progress | None = None) -> Iterator[Floats]:
    """Yield how often each row (n,) is in each of several resamples of groups of rows, ``members`` (n,) 0, 1, ..."""
    groups = int(members.max()) + 1
    for draw in range(times):
        yield np.bincount(rng.integers(groups, size=groups), minlength=groups).astype(float)[members]
        if progress is not None:
            progress(draw + 1, times)


@dataclass(frozen=True)
class Claim:
    """Estimated ``gain`` over the reference, positive if better; the true one lies between ``lower`` and ``upper``.

    The ``p_value`` is that of "no policy of the class is better than the reference".
    """

    gain: float
    lower: float
    upper: float
    p_value: float


def least_favourable(claims: Sequence[Claim]) -> Claim:
    """Return the claim over the lottery that is truly the best, from the claims over each."""
    gain, lower, upper = (min(getattr(claim, end) for claim in claims) for end in ("gain", "lower", "upper"))
    return Claim(gain, lower, upper, max(claim.p_value for claim in claims))


def band(
    oracle: Oracle,
    scores: Scores,
    chosen: Ints,
    reference: Reference,
    *,
    draws: int,
    level: float,
    rng: Generator,
    progress: Progress | None,
) -> tuple[Claim, tuple[float, float], float]:
    """Return the claim on the gain of the policy that plays ``chosen`` (n,), however it was found, and two bounds.

    The bounds are the interval of its value, in the unit and sign of the outcome, and the most that any policy
    gains. There are at least level / (1 - level) ``draws``; ``progress`` is called after each.
    """
    own = scores.gains[np.arange(len(chosen)), chosen]
    centre = float(scores.weight / scores.weight.sum() @ own)
    value = Process(oracle, scores, np.full(len(own), centre))
    gains = [Process(oracle, scores, reference.ways.mixed(p, scores.gains)) for p in against(reference)]
    noise, spread = np.empty((draws, len(gains), 2)), np.empty(draws)
    for draw, counts in enumerate(drawn_again(rng, scores.log.members, draws, progress)):
        spread[draw] = max(value.greatest(counts))
        noise[draw] = np.maximum([gain.greatest(counts) for gain in gains], 0.0)
    reach = quantile(spread, level) + value.penalty(chosen)
    ends = sorted(scores.sign * (centre + end) for end in (-reach, reach))
    ups, down = noise[:, :, 0].T, noise[:, :, 1].max(axis=1)
    reaches = [quantile(np.maximum(up, UPPER * down), level) for up in ups]
    widest = max(reaches) / UPPER
    z = float(norm.ppf(1 - (1 - level) / len(gains)))
    grouped = scores.log.group is not None
    most = min(gain.greatest_on_all(-1.0) + widest if grouped else gain.most(z) for gain in gains)
    claims = [gain.claim(chosen, up, reach, widest) for gain, up, reach in zip(gains, ups, reaches, strict=True)]
    return least_favourable(claims), (ends[0], ends[1]), most


class Process:
    """The gains d = gains - ``base`` (n,) of all policies, their noise, and the greatest of each, less the penalty."""

    def __init__(self, oracle: Oracle, scores: Scores, base: Floats) -> None:
        self._oracle, self._members = oracle, scores.log.members
        self._u = scores.weight / scores.weight.sum()
        self._own = self._u[:, None] * (scores.gains - base[:, None])
        squares = self._own**2
        s = SHAPE * np.sqrt(squares.max(axis=1).sum())
        self._slope = REACH / (2 * s) if s > 0 else 0.0
        self._penalty = self._slope * squares

    def greatest(self, counts: Floats) -> tuple[float, float]:
        """Return the greatest of N - lambda V and of -N - lambda V in a resample with ``counts`` (m,)."""
        return self._ask(counts - self._u @ counts, counts), self._ask(self._u @ counts - counts, counts)

    def reach(
        self, asked: int, level: float, rng: Generator, *, both: bool = False, tick: Progress | None = None
    ) -> float:
        """Return q: in the share ``level`` of the draws the noise of lower ends, or of ``both``, is at most this."""
        times = affordable(whole("draws", asked, 1), fewest_draws(check_level(level)), len(self._own), self._oracle)
        noise = []
        for counts in drawn_again(rng, self._members, times, tick):
            up, down = self.greatest(counts) if both else (self._ask(counts - self._u @ counts, counts), 0.0)
            noise.append(max(up, UPPER * down, 0.0))
        return quantile(np.array(noise), level)

    def _ask(self, multipliers: Floats, counts: Floats) -> float:
        costs = counts[:, None] * self._penalty
        costs -= multipliers[:, None] * self._own
        return -self._oracle.value(costs)

    def at(self, chosen: Ints) -> Floats:
        """Return the parts (n,) of v, one a row, of the policy that plays ``chosen`` (n,)."""
        return np.asarray(self._own[np.arange(len(chosen)), chosen])

    def total(self, chosen: Ints) -> float:
        """Return v of the policy that plays ``chosen`` (n,)."""
        return float(self.at(chosen).sum())

    def penalty(self, chosen: Ints) -> float:
        """Return lambda V of the policy that plays ``chosen`` (n,)."""
        return float(self._slope * np.square(self.at(chosen)).sum())

    def claim(self, chosen: Ints, noise: Floats, reach: float, widest: float) -> Claim:
        """Return the claim on the policy that plays ``chosen`` (n,), by q and q / r; its gain over itself is 0."""
        gain, penalty, itself = self.total(chosen), self.penalty(chosen), not self.at(chosen).any()
        ends = (0.0, 0.0) if itself else (gain - penalty - reach, gain + penalty + widest)
        return Claim(gain, *ends, self.p_value(noise))

    def most(self, z: float) -> float:
        """Return a bound that the gain of the best policy exceeds no more often than a normal variable does ``z``."""
        s = float(np.sqrt((self._own**2).max(axis=1).sum()))
        near = [s * part for part in (1.0, 0.5, 0.25, 0.125)]
        return min(z * s / 2 + self.greatest_on_all(-1.0, z / (2 * s)) for s in near) if s else 0.0

    def p_value(self, noise: Floats) -> float:
        """Return (1 + n) / (1 + draws), n the draws whose ``noise`` (draws,) reaches the greatest v - lambda V."""
        reached = noise >= self.greatest_on_all(1.0) - ROUNDING * float(np.abs(self._own).sum())
        return float((1 + reached.sum()) / (1 + len(reached)))

    def floor(self, sign: float = 1.0, slope: float | None = None) -> Floats:
        """Return the table (n, K) whose totals are v - ``sign`` lambda V; ``slope`` is lambda."""
        return np.asarray(self._own - sign * (self._slope if slope is None else slope) * self._own**2)

    def greatest_on_all(self, sign: float, slope: float | None = None) -> float:
        """Return the greatest total of a ``floor``, on all rows."""
        return -self._oracle.value(-self.floor(sign, slope))


def quantile(draws: Floats, level: float) -> float:
    """Return the draw that a further one exceeds with probability 1 - level at most; the largest of few."""
    place = ceil(level * (len(draws) + 1) - ROUNDING) - 1
    return float(np.sort(draws)[min(place, len(draws) - 1)])
