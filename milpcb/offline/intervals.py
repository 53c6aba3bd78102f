"""Intervals of means: every estimate here is the mean of one number a row, up to terms of order 1 / n.

A weighted mean V = sum(u g) / sum(u), of all rows or of those in a leaf, is the mean of V + u (g - V) n / sum(u): these
numbers have the same mean, and their spread is that of the ratio. Where rows belong together in groups, which are
independent, the G numbers of the groups stand in their place: V + G / n times the sum of the deviations in a group.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import norm

from milpcb.core.checks import real
from milpcb.core.decimals import estimate as written
from milpcb.types import Floats, Ints


@dataclass(frozen=True)
class IntervalEstimate:
    """An ``estimate`` with its ``standard_error``, and its interval from ``lower`` to ``upper``."""

    estimate: float
    standard_error: float
    lower: float
    upper: float

    @property
    def known(self) -> bool:
        """Whether there is an estimate."""
        return self.estimate == self.estimate

    def __str__(self) -> str:
        if not self.known:
            return "not known"
        return written(self.estimate, self.lower, self.upper, self.standard_error)


UNKNOWN = IntervalEstimate(np.nan, np.nan, np.nan, np.nan)


def check_level(level: Any) -> float:
    """Return the confidence level of an interval; raises InputError."""
    return real("level", level, "strictly between 0 and 1 (0.95 is usual)", lambda value: 0 < value < 1)


def at_level(estimate: tuple[float, float], quantile: float, beyond: float = 0.0) -> IntervalEstimate:
    """Return an estimate with its interval: so many standard errors, and a length beyond them, to each side."""
    value, error = estimate
    reach = quantile * error + beyond
    return IntervalEstimate(value, error, value - reach, value + reach)


def mean_of(values: Floats, weight: Floats, level: float, group: Ints | None = None) -> IntervalEstimate:
    """Return the mean of ``values`` (n,) by ``weight`` (n,) with a normal interval; ``group`` (n,) as in a Log."""
    mean, whole = weight @ values / weight.sum(), weight.sum()
    numbers = mean + weight * (values - mean) * (len(values) / whole)
    if group is not None:
        sums = np.bincount(np.unique(group, return_inverse=True)[1], numbers - mean)
        numbers = mean + sums * (len(sums) / len(numbers))
    error = float(numbers.std(ddof=1) / np.sqrt(len(numbers)))
    return at_level((float(mean), error), float(norm.ppf((1 + level) / 2)))
