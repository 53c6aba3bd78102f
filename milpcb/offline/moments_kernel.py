"""The compiled loop that adds rows of a log to the sums of milpcb/offline/moments.py."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from milpcb.core.kernels import compiled
from milpcb.types import Floats, Ints

BLOCK = 4096  # rows whose terms stay in the processor's cache while the sets of columns go over them


@compiled()
def add_terms(
    sets: Ints,
    starts: Ints,
    bins: Ints,
    codes: npt.NDArray[np.int32],
    action: Ints,
    inverse: Floats,
    outcome: Floats,
    cells: Floats,
) -> None:
    """Add the terms of rows to the cells of every set of columns."""
    terms, where = np.empty((BLOCK, 6)), np.empty(BLOCK, dtype=np.int64)
    for first in range(0, len(action), BLOCK):
        n = min(BLOCK, len(action) - first)
        for j in range(n):
            u, y = inverse[first + j], outcome[first + j]
            terms[j, 0], terms[j, 1], terms[j, 2] = 1.0, u, u * y
            terms[j, 3], terms[j, 4], terms[j, 5] = u * u, u * u * y, (u * y) * (u * y)
        for s in range(len(sets)):
            where[:n] = 0
            for f in sets[s]:
                for j in range(n):
                    where[j] = where[j] * bins[f] + codes[f, first + j]
            for j in range(n):
                cell = cells[starts[s] + where[j], action[first + j]]
                for t in range(6):
                    cell[t] += terms[j, t]
