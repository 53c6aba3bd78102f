"""Sums of random signs, exactly: a sum of n Rademacher signs is twice the popcount of n random bits, minus n."""

from __future__ import annotations

import numpy as np

from milpcb.types import Ints

_WORD = 64
_FULL = np.uint64(2**64 - 1)


def rademacher_sums(counts: Ints, n_actions: int, rng: np.random.Generator) -> Ints:
    """Return (m, K): entry (j, a) is the sum of ``counts[j]`` independent fair signs."""
    words = np.maximum(1, (counts + (_WORD - 1)) // _WORD)
    ends = np.cumsum(words)
    raw = rng.bit_generator.random_raw(int(ends[-1]) * n_actions).reshape(n_actions, -1)
    # The last word of each cell keeps only the bits that are left over.
    raw[:, ends - 1] &= _FULL >> (words * _WORD - counts).astype(np.uint64).clip(max=_WORD - 1)
    raw[:, (ends - 1)[counts == 0]] = 0
    ones = np.add.reduceat(np.bitwise_count(raw), ends - words, axis=1, dtype=np.int64)
    return (2 * ones - counts).T
