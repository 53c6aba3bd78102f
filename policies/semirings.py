"""Compiled: the sums (+) of alternatives in the two semirings of all searches; (x) is the sum of numbers in both.

Where ``soft`` is None, a (+) b is min(a, b); where it is a float (its value is not used), numbers are -log of weights,
and a (+) b is -log(e^-a + e^-b). Which of the two is compiled in.

The weights of one sum may be further apart than numbers reach. So a sum in the making is a pair, (least, weight), which
stands for least - log(weight); or, where sums are multiplied by each other many times, a pair (mass, power), which
stands for mass * 2^(512 power).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from milpcb.core.kernels import compiled, lower
from milpcb.types import Floats

Array = npt.NDArray[Any]
Soft = float | None

# No kernel makes NaN.
NO_NAN = {"nnan", "nsz"}
# exp(-60), a million times over, is far below the rounding of 1.
NEGLIGIBLE = 60.0

LOG_STEP = 512 * np.log(2.0)
NOTHING = -(2**50)  # the power of a sum of nothing
MIXED = 2**50  # stands for several powers
_LOG2_E = 1.4426950408889634
# log(2) in two parts, so that whole multiples of the first are exact
_LOG_2, _LOG_2_REST = 0.693147180369123816490, 1.90821492927058770002e-10
# A number added to this one is rounded to the nearest whole k, and the last bits are those of k + 1023.
_SHIFT = 1.5 * 2.0**52 + 1023.0


@compiled(NO_NAN)
def cost_of(soft: Soft, least: float, weight: float) -> float:
    """Return the number that a sum in the making of something stands for."""
    return float(least if soft is None else least - np.log(weight))


@compiled(NO_NAN)
def add(soft: Soft, a: float, b: float) -> float:
    """Return a (+) b."""
    low = lower(a, b)
    if soft is None:
        return low
    if low == np.inf:
        return low
    gap = abs(a - b)
    return low - np.log1p(np.exp(-gap)) if gap < NEGLIGIBLE else low


@compiled(NO_NAN)
def add_all(soft: Soft, ways: Array) -> float:
    """Return the sum (+) over ``ways`` (n,)."""
    low = ways[0]
    for i in range(1, len(ways)):
        low = lower(low, ways[i])
    if soft is None:
        return float(low)
    weight = 0.0
    for i in range(len(ways)):
        gap = ways[i] - low
        if gap == 0.0:
            weight += 1.0
        elif gap < NEGLIGIBLE:
            weight += np.exp(-gap)
    return cost_of(soft, low, weight)


@compiled()
def add_sums(soft: Soft, least: float, weight: float, other: float, other_weight: float) -> tuple[float, float]:
    """Return the sum of two sums in the making; that of nothing is (infinity, 0)."""
    low = lower(least, other)
    if soft is None:
        return low, 0.0
    gap = abs(least - other)
    rest = np.exp(-gap) if gap < NEGLIGIBLE else 0.0
    return low, weight * rest + other_weight if other < least else weight + other_weight * rest


@compiled(NO_NAN)
def sum_products(p: int, least: Array, others: Array, masses: Array, factors: Array, terms: Array) -> float:
    """Return -log of the sum over g < p of masses[g] factors[g] exp(-least[g] - others[g])."""
    low = least[0] + others[0]
    for g in range(p):
        low = lower(low, least[g] + others[g])
    for g in range(p):
        terms[0, g] = low - least[g] - others[g]
    exponentials(terms, p)
    mass = 0.0
    for g in range(p):
        mass += terms[0, g] * masses[g] * factors[g]
    return cost_of(1.0, low, mass)


@compiled(NO_NAN)
def exponentials(terms: Array, n: int) -> None:
    """Replace the first ``n`` of terms[0], none above 0, by their exponentials, to a rounding or two.

    e^x = 2^k e^r with whole k and |r| <= log(2) / 2: a polynomial, and k moved into the exponent of a number. All
    steps are plain loops, which the compiler turns into vectors; so a call of exp for each is twelve times slower.
    Below -700, where no other term of a sum leaves a trace of it, x is -700. Working space: terms[1].
    """
    bits = terms[1].view(np.int64)
    for i in range(n):
        x = max(terms[0, i], -700.0)
        moved = x * _LOG2_E + _SHIFT
        terms[1, i] = moved
        k = moved - _SHIFT
        r = x - k * _LOG_2 - k * _LOG_2_REST
        value = 1.0 / 479001600.0
        value = value * r + 1.0 / 39916800.0
        value = value * r + 1.0 / 3628800.0
        value = value * r + 1.0 / 362880.0
        value = value * r + 1.0 / 40320.0
        value = value * r + 1.0 / 5040.0
        value = value * r + 1.0 / 720.0
        value = value * r + 1.0 / 120.0
        value = value * r + 1.0 / 24.0
        value = value * r + 1.0 / 6.0
        value = value * r + 0.5
        value = value * r + 1.0
        terms[0, i] = value * r + 1.0
    for i in range(n):
        bits[i] <<= 52
    for i in range(n):
        terms[0, i] *= terms[1, i]


@compiled()
def weight_of(cost: float) -> tuple[float, int]:
    """Return exp(-cost) as mass and power."""
    power = -np.rint(cost / LOG_STEP)
    return np.exp(-(cost + power * LOG_STEP)), int(power)


def fill_weights(rate: float, costs: Floats, masses: Floats, powers: Array) -> None:
    """Fill masses and powers (n,) of exp(-rate * costs), as ``weight_of`` gives each."""
    np.multiply(costs, -rate / LOG_STEP, out=masses)
    powers[:] = np.rint(masses, out=masses)
    masses *= -LOG_STEP
    masses -= rate * costs
    np.exp(masses, out=masses)


@compiled()
def add_at(masses: Array, powers: Array, k: int, mass: float, power: int) -> None:
    """Add mass * 2^(512 power) to the sum k."""
    masses[k], powers[k] = plus(masses[k], powers[k], mass, power)


@compiled()
def plus(mass: float, power: int, other: float, other_power: int) -> tuple[float, int]:
    """Return the sum of two; where powers are three apart, the lesser is nothing to rounding."""
    if power == other_power:
        return mass + other, power
    if power < other_power:
        mass, power, other, other_power = other, other_power, mass, power
    return mass + other * _scale(power - other_power), power


@compiled()
def _scale(gap: int) -> float:
    """Return 2^(-512 gap), 0 from 3 on."""
    return 2.0**-512 if gap == 1 else 2.0**-1024 if gap == 2 else 0.0


@compiled()
def normal(mass: float, power: int) -> tuple[float, int]:
    """Return the same sum with a mass between 2^-256 and 2^256."""
    if mass == 0.0:
        return mass, NOTHING
    while mass >= 2.0**256:
        mass, power = mass * 2.0**-512, power + 1
    while mass < 2.0**-256:
        mass, power = mass * 2.0**512, power - 1
    return mass, power


@compiled()
def common_power(masses: Array, powers: Array, first: int, stop: int) -> int:
    """Return the power of the sums from ``first`` to before ``stop`` that are something; MIXED: there are several."""
    power = NOTHING
    for k in range(first, stop):
        if masses[k] > 0.0:
            if power != NOTHING and power != powers[k]:
                return MIXED
            power = powers[k]
    return power


@compiled()
def cost_of_mass(mass: float, power: int) -> float:
    """Return -log of the sum mass * 2^(512 power), infinity of nothing."""
    return -(np.log(mass) + power * LOG_STEP) if mass > 0.0 else np.inf
