"""Compiled: the sums (+) of alternatives in the two semirings of the search over trees; (x) is + in both.

Where ``soft`` is None, a (+) b is min(a, b); where it is a float (its value is not used), numbers are -log of weights,
and a (+) b is -log(e^-a + e^-b). Which of the two is compiled in.

The weights of one sum may be further apart than numbers reach. So a sum in the making is a pair, (least, weight), which
stands for least - log(weight).
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from milpcb.core.kernels import compiled
from milpcb.types import Floats

Array = npt.NDArray[Any]
Soft = float | None

# No kernel makes NaN.
NO_NAN = {"nnan", "nsz"}

_LOG2_E = 1.4426950408889634
# log(2) in two parts, so that whole multiples of the first are exact
_LOG_2, _LOG_2_REST = 0.693147180369123816490, 1.90821492927058770002e-10
# A number added to this one is rounded to the nearest whole k, and the last bits are those of k + 1023.
_SHIFT = 1.5 * 2.0**52 + 1023.0


def add_up(soft: Soft, alternatives: Floats) -> Floats:
    """Return the sum (+) of ``alternatives`` (n, ...) over their first axis; it is not compiled."""
    least = np.asarray(alternatives.min(axis=0))
    if soft is None or len(alternatives) == 1:
        return least
    base = np.where(least < np.inf, least, 0.0)
    weights = base - alternatives
    mass = np.exp(weights, out=weights).sum(axis=0)
    return np.asarray(base - np.log(mass, out=np.full_like(mass, -np.inf), where=mass > 0.0))


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
