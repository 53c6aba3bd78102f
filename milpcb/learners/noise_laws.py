"""Laws of the noise that perturbed leaders follow.

Every coordinate is independent, symmetric about 0, and of the same law in all rounds.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from milpcb.learners.kept import SavedPart
from milpcb.types import Floats


class Law(NamedTuple):
    """How ``size`` coordinates are drawn, and what is known of the law.

    ``shifts``: whether moving a coordinate by s changes no probability by more than a factor exp(|s|), as a priori
    guarantees need. ``whole`` noise consists of integers, and so does its multiplier, rounded up.
    """

    draw: Callable[[np.random.Generator, int], Floats]
    shifts: bool = False
    whole: bool = False


def laplace(generator: np.random.Generator, size: int) -> Floats:
    """Return Laplace variables of scale 1, as differences of exponential ones, which are drawn faster."""
    more, less = generator.standard_exponential((2, size))
    return np.asarray(more - less)


def normal(generator: np.random.Generator, size: int) -> Floats:
    """Return normal variables of variance 1."""
    return generator.standard_normal(size)


def geometric(generator: np.random.Generator, size: int) -> Floats:
    """Return two-sided geometric variables: each integer n with a probability proportional to exp(-|n|).

    The whole part of an exponential variable is a geometric one, and the difference of two of these is two-sided.
    """
    more, less = np.floor(generator.standard_exponential((2, size)))
    return np.asarray(more - less)


LAWS: dict[str, Law] = {
    "laplace": Law(laplace, shifts=True),
    "normal": Law(normal),
    "whole": Law(geometric, whole=True),
}


class Noise(SavedPart):
    """Vectors (size,) of independent coordinates of one law, from a generator of their own."""

    kept = ("_rng",)

    def __init__(self, law: Law, size: int, generator: np.random.Generator) -> None:
        self.law, self._size, self._rng = law, size, generator

    def draw(self) -> Floats:
        """Return a fresh vector."""
        return self.law.draw(self._rng, self._size)


class Spread(NamedTuple):
    """An estimate of E max over policies of -n(pi), by ``draws`` vectors, and its standard error."""

    mean: float
    error: float
    draws: int


FEWEST, MOST = 30, 200  # draws of an estimate
PRECISE = 0.01  # the standard error, as a share of the mean, at which an estimate stops before the most draws


def spread(noise: Noise, least: Callable[[Floats], float], draws: int | None = None) -> Spread:
    """Return an estimate by Monte Carlo; ``least(n)`` is the least total of any policy where noise n is all there is.

    A draw is half the range of n(pi) over the policies, by the least totals of n and of -n: as the law is symmetric,
    its mean is that of max -n(pi), and it is 0 where all policies are alike. ``draws`` None takes as many as the
    precision needs.
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
