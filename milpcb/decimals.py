"""Numbers that are printed as they are used: short where any of several would do, in full otherwise."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

MOST_DIGITS = 17  # enough for any two floats to differ


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
