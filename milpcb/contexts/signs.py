"""Sums of random signs, exactly: a sum of n Rademacher signs is twice the popcount of n random bits, minus n."""

from __future__ import annotations

import numpy as np

from milpcb.types import Ints

_WORD = 64
_MANY = 1024  # of more signs a binomial draw, whose time does not grow with their number, is faster than their bits
_LOW_BITS = np.array([2**bits - 1 for bits in range(_WORD + 1)], dtype=np.uint64)
_ALL_BITS = _LOW_BITS[_WORD]


def rademacher_sums(counts: Ints, n_actions: int, rng: np.random.Generator) -> Ints:
    """Return (m, K): entry (j, a) is the sum of ``counts[j]`` independent fair signs."""
    if len(counts) and counts.max() > _MANY:
        return np.asarray(2 * rng.binomial(counts[:, None], 0.5, (len(counts), n_actions)) - counts[:, None])
    words = np.maximum((counts + (_WORD - 1)) // _WORD, 1)
    ends = words.cumsum()
    read = np.full(ends[-1], _ALL_BITS)
    read[ends - 1] = _LOW_BITS[counts - _WORD * (words - 1)]  # the last word of a context is read in part
    raw = rng.bit_generator.random_raw(len(read) * n_actions).reshape(n_actions, -1)
    ones = np.add.reduceat(np.bitwise_count(raw & read), ends - words, axis=1, dtype=np.int64)
    return (2 * ones - counts).T
