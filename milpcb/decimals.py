"""Formatting of numbers: the shortest decimal in a given range, or the shortest that reads back exactly."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

import numpy as np

from milpcb.types import Floats

MOST_DIGITS = 17  # enough for any two floats to differ
_POWERS = np.array([float(f"1e{k}") for k in range(23)])  # of ten, those that floats hold exactly


def shortest_between(low: float, high: float, near: float, *, low_included: bool = True) -> float:
    """Return the decimal with the fewest digits in [low, high), or in (low, high); of several that nearest to ``near``.

    ``near`` must be in the range itself, so that there is an answer. A cut point that separates the same contexts
    wherever it lies between two neighbouring values is thus one that people can read, also aloud.
    """
    for digits in range(1, MOST_DIGITS + 1):
        allowed = [x for x in _rounded(near, digits) if (low <= x if low_included else low < x) and x < high]
        if allowed:
            return min(allowed, key=lambda x: abs(x - near))
    return near


def short_between(low: Floats, high: Floats) -> Floats:
    """Return a decimal of few digits in each range [low, high) of two arrays (n,), the greatest up to its middle.

    ``low`` itself where integers below 2^53 and powers of ten up to 10^22, which floats hold exactly, do not do.
    """
    middle = low + (high - low) / 2
    places = np.floor(-np.log10(high - low)).astype(np.int64)
    found, missing = low.copy(), np.ones(len(low), bool)
    for digits in (places, places + 1, places + 2):  # a step of at most half the range has a multiple in its lower half
        power = _POWERS[np.minimum(np.abs(digits), len(_POWERS) - 1)]
        whole = np.floor(np.where(digits > 0, middle * power, middle / power))
        decimal = np.where(digits > 0, whole / power, whole * power)
        exact = (np.abs(whole) < 2.0**53) & (np.abs(digits) < len(_POWERS))
        fits = missing & exact & (low <= decimal) & (decimal < high)
        found[fits] = decimal[fits]
        missing &= ~fits
    return found


def written(number: float) -> str:
    """Return the shortest decimal read back as exactly this number, without an exponent where that is readable."""
    text = repr(float(number))
    if "e" in text and 1e-7 <= abs(number) < 1e21:
        text = format(Decimal(text), "f")
    return text.removesuffix(".0")


def _rounded(x: float, digits: int) -> Iterator[float]:
    """Yield ``x`` to so many significant digits, and its neighbours above and below at that precision."""
    middle = Decimal(f"{x:.{digits - 1}e}")
    step = Decimal(1).scaleb(middle.adjusted() - digits + 1) if middle else Decimal(1)
    yield from (float(middle + k * step) for k in (0, -1, 1))
