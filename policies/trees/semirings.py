"""Compiled: the sum (+) of alternatives, in (min, +) and of -log weights; (x) is the sum of numbers in both.

Where ``soft`` is None, a (+) b is min(a, b); where it is a float (its value is not used), -log(e^-a + e^-b). Which of
the two is compiled in.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from milpcb.core.kernels import compiled, lower

Array = npt.NDArray[Any]
Soft = float | None

# No kernel makes NaN.
NO_NAN = {"nnan", "nsz"}
# exp(-40) is far below the rounding of 1.
_NEGLIGIBLE = 40.0


@compiled(NO_NAN)
def add(soft: Soft, a: float, b: float) -> float:
    """Return a (+) b."""
    low = lower(a, b)
    if soft is None:
        return low
    if low == np.inf:
        return low
    gap = abs(a - b)
    return low - np.log1p(np.exp(-gap)) if gap < _NEGLIGIBLE else low


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
        elif gap < _NEGLIGIBLE:
            weight += np.exp(-gap)
    return float(low - np.log(weight))
