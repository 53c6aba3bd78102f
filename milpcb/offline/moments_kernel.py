"""The compiled loop that adds rows of a log to the sums of milpcb/offline/sufficient_statistics.py."""

import numpy as np
import numpy.typing as npt

from milpcb.core.kernels import compiled
from milpcb.types import Floats, Ints

BLOCK = 4096  # rows whose terms stay in the processor's cache while the sets of columns go over them


@compiled()
def add_terms(
    sets: Ints, starts: Ints, bins: Ints, codes: npt.NDArray[np.int32], slot: Ints, terms: Floats, cells: Floats
) -> None:
    """Add the ``terms`` (n, t) of rows to their ``slot`` (n,) of the ``cells`` (cells, slots, t), by set of columns."""
    where = np.empty(BLOCK, dtype=np.int64)
    for first in range(0, len(slot), BLOCK):
        n = min(BLOCK, len(slot) - first)
        for s in range(len(sets)):
            where[:n] = 0
            for f in sets[s]:
                for j in range(n):
                    where[j] = where[j] * bins[f] + codes[f, first + j]
            for j in range(n):
                cell = cells[starts[s] + where[j], slot[first + j]]
                for t in range(cells.shape[2]):
                    cell[t] += terms[first + j, t]
