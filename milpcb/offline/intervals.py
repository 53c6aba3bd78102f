"""Intervals of means: all that is estimated here is the mean of one number a row, up to terms of order 1 / n.

A weighted mean V = sum(u g) / sum(u), of all rows or of those in a leaf, is the mean of V + u (g - V) n / sum(u): these
numbers have the same mean, and their spread is that of the ratio. Where rows belong together in groups, which are
independent, the G numbers of the groups stand in their place: V + G / n times the sum of the deviations in a group.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import norm

from milpcb.core.decimals import estimate
from milpcb.types import Floats, Ints


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
    """A weighted mean that is wanted: of ``values`` (n,), with ``weight`` (n,)."""

    values: Floats
    weight: Floats
    known: bool = True  # whether the rows show it

    def numbers(self) -> Floats:
        """Return numbers (n,) whose plain mean is this one, with its spread."""
        mean = self.weight @ self.values / self.weight.sum()
        return np.asarray(mean + self.weight * (self.values - mean) * (len(self.values) / self.weight.sum()))


def estimates(means: Mapping[Any, Mean], level: float, group: Ints | None = None) -> dict[Any, IntervalEstimate]:
    """Return every mean with the interval estimate -+ quantile * standard error; ``group`` (n,) as in a Log."""
    members = None if group is None else np.unique(group, return_inverse=True)[1]
    numbers = np.column_stack([_grouped(mean.numbers(), members) for mean in means.values()])
    centre, error = numbers.mean(axis=0), standard_errors(numbers)
    reach = norm.ppf((1 + level) / 2) * error
    columns = np.column_stack([centre, error, centre - reach, centre + reach]).tolist()
    found = zip(means.items(), columns, strict=True)
    return {name: IntervalEstimate(*column) if mean.known else UNKNOWN for (name, mean), column in found}


def _grouped(numbers: Floats, members: Ints | None) -> Floats:
    """Return numbers (G,) of groups with the mean of ``numbers`` (n,) and the spread of a mean over groups."""
    if members is None:
        return numbers
    mean = numbers.mean()
    sums = np.bincount(members, numbers - mean)
    return np.asarray(mean + sums * (len(sums) / len(numbers)))


def standard_errors(numbers: Floats) -> Floats:
    """Return the standard error (q,) of the mean of each column (n, q)."""
    return np.asarray(numbers.std(axis=0, ddof=1) / np.sqrt(len(numbers)))


def drawn_again(rng: np.random.Generator, members: Ints) -> Floats:
    """Return how often each row is in a resample (n,), where the groups of rows, ``members`` (n,) 0.., are drawn."""
    groups = int(members.max()) + 1
    return np.bincount(rng.integers(groups, size=groups), minlength=groups).astype(float)[members]
