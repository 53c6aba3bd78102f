"""Formatting of numbers: the shortest decimal in a given range, or exact, or as many digits as people can rely on."""

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from math import log10

import numpy as np

from milpcb.types import Floats

THIN = "\u202f"  # a narrow space that no line is broken at, between thousands
MOST_DIGITS = 17  # enough for any two floats to differ
KEPT = 4  # first digits of an integer that are never rounded away
WIDTH = 2 * 1.96  # of a 95 % interval, in standard errors
LEAST = 1e-9  # numbers nearer to 0 are rounding errors of sums
_POWERS = np.array([float(f"1e{k}") for k in range(23)])  # of ten, those that floats hold exactly


def shortest_between(low: float, high: float, near: float, *, low_included: bool = True) -> float:
    """Return the decimal of fewest digits in [low, high), or (low, high), the nearest to ``near``, which lies in it."""
    for digits in range(1, MOST_DIGITS + 1):
        allowed = [x for x in _rounded(near, digits) if (low <= x if low_included else low < x) and x < high]
        if allowed:
            return min(allowed, key=lambda x: abs(x - near))
    return near


def short_between(low: Floats, high: Floats) -> Floats:
    """Return a decimal of few digits in each range [low, high) of two arrays (n,), the greatest up to its middle.

    It is ``low`` where integers below 2^53 and powers of ten up to 10^22, which floats hold exactly, do not do.
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


def snapped(table: Floats, cuts: Mapping[int, Sequence[float] | None]) -> Floats:
    """Return numbers (n, d) in which a cut of its column that has been rounded to 32 bits is that cut."""
    found = table
    for column, points in cuts.items():
        for cut in points or ():
            with np.errstate(over="ignore"):
                single = float(np.float32(cut))  # of 0.1 it is 0.10000000149
            if single != cut and (there := table[:, column] == single).any():
                found = table.copy() if found is table else found
                found[there, column] = cut
    return found


def in_32_bits(what: str, number: float, cut: float) -> str:
    """Return a warning on a number that equals a cut in 32 bits, but lies on the other side of it."""
    return (
        f"{what} is {written(number)}, which is the cut {written(cut)} in 32 bits, and on its other side: give 64 "
        "bits, as astype(float).round(6) does"
    )


def written(number: float) -> str:
    """Return the shortest decimal read back as exactly this number, without an exponent where that is readable."""
    text = repr(float(number))
    if "e" in text and 1e-7 <= abs(number) < 1e21:
        text = format(Decimal(text), "f")
    return text.removesuffix(".0")


def number(value: float, error: float = np.nan) -> str:
    """Return a number as people write it: narrow spaces between thousands, no exponent, "none" if it is not finite.

    With its standard error it ends at the greatest power of ten that is at most half the error (0.49 for 0.4879 with
    0.02), but an integer keeps four digits. Without, it has no decimals from 100 on, one from 1 on, three digits below.
    """
    return fixed(value, places(value, error))


def percent(share: float, decimals: int | None = None) -> str:
    """Return a share (0..1) as "30 %", with so many decimals; without, with all: a level of 0.999 is not 100 %."""
    hundredths = 100 * share
    text = f"{hundredths:.10g}" if decimals is None else fixed(hundredths, decimals)
    return f"{text}{THIN}%"


def estimate(value: float, low: float, high: float, error: float = np.nan) -> str:
    """Return "0.49 (0.45 to 0.53)", with the decimals of the standard ``error``, by default of a 95 % interval's."""
    known = error if np.isfinite(error) else (high - low) / WIDTH
    digits = places(value, known)
    return f"{fixed(value, digits)} ({fixed(low, digits)} to {fixed(high, digits)})"


def places(value: float, error: float = np.nan) -> int:
    """Return the number of decimals that ``number`` gives a value; below 0 where it rounds to tens, hundreds, ..."""
    size = abs(value)
    if not np.isfinite(size):
        return 0
    if np.isfinite(error) and error > LEAST:
        decimals = -_power(error / 2)
        return decimals if decimals >= 0 else max(decimals, min(0, KEPT - 1 - _power(max(size, 1.0))))
    if size >= 1 or size < LEAST:
        return int(1 <= size < 100)
    return 2 - _power(float(f"{size:.3g}"))  # 0.09996 is 0.100


def fixed(value: float, decimals: int) -> str:
    """Return a number with so many decimals, narrow spaces between thousands and a minus sign; "none" if not finite."""
    if not np.isfinite(value):
        return "none"
    text = f"{round(value, decimals):,.{max(decimals, 0)}f}"
    return text.replace(",", THIN).replace("-", "\u2212" if text.strip("-0.,") else "")


def spaced(number: float, form: str = "") -> str:
    """Return a number in a format of Python, with narrow spaces between thousands; an integer may be of any size."""
    return f"{number:,{form}}".replace(",", THIN)


def about(number: int) -> str:
    """Return a count as ``spaced`` does, from 10^12 on as a power of ten; it may be of any size."""
    return spaced(number) if number < 10**12 else f"10^{log10(number):.1f}"


def beyond(number: int, most: int, counted: str, remedy: str) -> str:
    """Return why a number, ``counted`` as in "{} columns", is too large, and a remedy; "" where it is not."""
    return "" if number <= most else f"{counted.format(about(number))}, more than {spaced(most)}; {remedy}"


def _power(x: float) -> int:
    return Decimal(x).adjusted()


def _rounded(x: float, digits: int) -> Iterator[float]:
    """Yield ``x`` to so many significant digits, and its neighbours above and below at that precision."""
    middle = Decimal(f"{x:.{digits - 1}e}")
    step = Decimal(1).scaleb(middle.adjusted() - digits + 1) if middle else Decimal(1)
    yield from (float(middle + k * step) for k in (0, -1, 1))
