"""Pairs of contexts with equal sums: no score is above a cut at both of one pair and below it at both of the other."""

from __future__ import annotations

import numpy as np

from milpcb.types import Floats, Ints
from policies.cuts import Distinct

# More rows (5) of program_bigm than two for each of this many parallelograms per context slow the solver down; above
# MOST_PAIRED contexts listing the pairs takes too much memory.
PARALLELOGRAMS = 30
MOST_PAIRED = 500


def parallelograms(X: Floats) -> tuple[Ints, Ints]:
    """Return pairs of contexts (n, 2) and (n, 2) with equal sums, x_a + x_b = x_c + x_d, the smallest ones.

    Of three contexts evenly spaced on a line the middle one is a pair with itself.
    """
    none = np.zeros((0, 2), dtype=np.int64)
    if len(X) > MOST_PAIRED or not X.shape[1]:
        return none, none
    pairs = np.column_stack(np.triu_indices(len(X)))
    length = np.abs(X[pairs[:, 0]] - X[pairs[:, 1]]).sum(axis=1)
    total = Distinct.rows(X[pairs].sum(axis=1)).group
    order = np.lexsort((length, total))
    pairs, length, total = pairs[order], length[order], total[order]
    most, size, found = PARALLELOGRAMS * len(X), 0, [none]
    for lag in range(1, len(pairs)):
        first = np.flatnonzero(total[:-lag] == total[lag:])
        found.append(np.column_stack([first, first + lag]))
        size += len(first)
        if not len(first) or size >= most:
            break
    both = np.concatenate(found)
    both = both[np.argsort(length[both].sum(axis=1), kind="stable")[:most]]
    return pairs[both[:, 0]], pairs[both[:, 1]]
