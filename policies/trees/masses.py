"""Compiled: sums of weights as mass * 2^(512 * power), so that none underflows beside another, however small."""

from __future__ import annotations

import numpy as np

from milpcb.core.kernels import compiled
from policies.trees.semirings import Array

LOG_STEP = 512 * np.log(2.0)
NOTHING = -(2**50)  # the power of a sum of nothing
MIXED = 2**50  # stands for several powers


@compiled()
def weight_of(cost: float) -> tuple[float, int]:
    """Return exp(-cost) as mass and power."""
    power = -np.rint(cost / LOG_STEP)
    return np.exp(-(cost + power * LOG_STEP)), int(power)


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
