"""Intervals of means: all that is estimated here is the mean of one number a row, up to terms of order 1 / n.

A weighted mean V = sum(u g) / sum(u), of all rows or of those in a leaf, is the mean of V + u (g - V) n / sum(u): these
numbers have the same mean, and their spread is that of the ratio. So every kind of interval takes numbers (n, q), a
column for each mean that is wanted, and the rows stay together. Where rows belong together in groups, which are
independent, the G numbers of the groups stand in their place: V + G / n times the sum of the deviations in a group.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import norm

from milpcb.core.decimals import estimate
from milpcb.rng import child
from milpcb.types import Floats, Ints

DRAWS = 2000  # of the bootstrap: the ends are the 50th and 1951st of them at 95 %
CELLS = 4_000_000  # numbers that the bootstrap holds at a time


@dataclass(frozen=True)
class IntervalEstimate:
    """An estimate ``value``, its ``standard_error``, and its interval from ``lower`` to ``upper``.

    All are in the unit of the outcome.
    """

    value: float
    standard_error: float
    lower: float
    upper: float

    @property
    def known(self) -> bool:
        """Whether there is an estimate."""
        return self.value == self.value

    def __str__(self) -> str:
        if not self.known:
            return "not known"
        return estimate(self.value, self.lower, self.upper, self.standard_error)


UNKNOWN = IntervalEstimate(np.nan, np.nan, np.nan, np.nan)


@dataclass(frozen=True)
class Mean:
    """A weighted mean that is wanted: of ``values`` (n,), with ``weight`` (n,), in a range of length ``width``."""

    values: Floats
    weight: Floats
    width: float
    known: bool = True  # whether the rows show it

    def numbers(self) -> Floats:
        """Return numbers (n,) whose plain mean is this one, with its spread."""
        mean = self.weight @ self.values / self.weight.sum()
        return np.asarray(mean + self.weight * (self.values - mean) * (len(self.values) / self.weight.sum()))

    def stretched(self) -> float:
        """Return the length of the range of ``numbers``."""
        return float(self.width * self.weight.max() * len(self.values) / self.weight.sum())


def estimates(
    means: Mapping[Any, Mean], interval: str, level: float, seed: int, group: Ints | None = None
) -> dict[Any, IntervalEstimate]:
    """Return the estimate of every mean, by the name of an interval in ``INTERVALS``; ``group`` (n,) as in a Log."""
    members = None if group is None else np.unique(group, return_inverse=True)[1]
    numbers = np.column_stack([_grouped(mean.numbers(), members) for mean in means.values()])
    widths = np.array([mean.stretched() for mean in means.values()])
    if members is not None:
        widths = widths * (np.bincount(members).max() * len(numbers) / len(members))
    ends = INTERVALS[interval](numbers, widths, level, seed)
    columns = np.column_stack([numbers.mean(axis=0), standard_errors(numbers), *ends]).tolist()
    found = zip(means.items(), columns, strict=True)
    return {name: IntervalEstimate(*column) if mean.known else UNKNOWN for (name, mean), column in found}


def _grouped(numbers: Floats, members: Ints | None) -> Floats:
    """Return numbers (G,) of groups with the mean of ``numbers`` (n,) and the spread of a mean over groups."""
    if members is None:
        return numbers
    mean = numbers.mean()
    sums = np.bincount(members, numbers - mean)
    return np.asarray(mean + sums * (len(sums) / len(numbers)))


Interval = Callable[[Floats, Floats, float, int], tuple[Floats, Floats]]


def standard_errors(numbers: Floats) -> Floats:
    """Return the standard error (q,) of the mean of each column (n, q)."""
    return np.asarray(numbers.std(axis=0, ddof=1) / np.sqrt(len(numbers)))


def normal(numbers: Floats, widths: Floats, level: float, seed: int) -> tuple[Floats, Floats]:
    """Return the ends (q,) of mean +- quantile * standard error, which cover as n grows."""
    del widths, seed
    return _around(numbers, norm.ppf((1 + level) / 2) * standard_errors(numbers))


def _around(numbers: Floats, reach: Floats) -> tuple[Floats, Floats]:
    mean = numbers.mean(axis=0)
    return mean - reach, mean + reach


def bootstrap(numbers: Floats, widths: Floats, level: float, seed: int) -> tuple[Floats, Floats]:
    """Return the ends (q,) of the studentised bootstrap, which follows the skewness of the numbers (Hall 1988)."""
    del widths
    rng = child(seed, "offline", "bootstrap")
    n, mean = len(numbers), numbers.mean(axis=0)
    centred = numbers - mean
    powers = np.hstack([centred, centred**2])
    most = max(1, CELLS // n)  # draws at a time
    sizes = [min(most, DRAWS - start) for start in range(0, DRAWS, most)]
    sums = np.vstack([resampled(rng, n, size) @ powers for size in sizes]) / n
    first, second = np.hsplit(sums, 2)
    spread = np.sqrt(np.maximum(second - first**2, 0) / (n - 1))
    ratio = np.divide(first, spread, out=np.zeros_like(first), where=spread > 0)
    low, high = np.quantile(ratio, [(1 - level) / 2, (1 + level) / 2], axis=0)
    error = standard_errors(numbers)
    return mean - high * error, mean - low * error


def bernstein(numbers: Floats, widths: Floats, level: float, seed: int) -> tuple[Floats, Floats]:
    """Return the ends (q,) of the empirical Bernstein bound (Maurer and Pontil 2009, theorem 4), which hold at every n.

    ``widths`` (q,) is the length of the range that the numbers of a column lie in whatever the sample.
    """
    del seed
    n, log = len(numbers), np.log(4 / (1 - level))
    return _around(numbers, np.sqrt(2 * log) * standard_errors(numbers) + 7 * widths * log / (3 * (n - 1)))


INTERVALS: dict[str, Interval] = {"normal": normal, "bootstrap": bootstrap, "bernstein": bernstein}


def resampled(rng: np.random.Generator, n: int, size: int) -> Floats:
    """Return how often each of n rows is in each of ``size`` resamples, (size, n)."""
    drawn = rng.integers(n, size=(size, n)) + n * np.arange(size)[:, None]
    return np.bincount(drawn.ravel(), minlength=size * n).reshape(size, n).astype(float)


def drawn_again(rng: np.random.Generator, members: Ints) -> Floats:
    """Return how often each row is in a resample (n,), where the groups of rows, ``members`` (n,) 0.., are drawn."""
    return np.asarray(resampled(rng, int(members.max()) + 1, 1)[0][members])
