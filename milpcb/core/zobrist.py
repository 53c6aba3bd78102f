"""Zobrist hashes: numbers that are equal where two labelings are, and nearly always differ where they do.

Each cell (context, action) has a random key, by a fixed seed, and the hash of a labeling is the sum of the keys of its
cells, modulo 2^64, so that hashes come from totals. Among n labelings two different ones have the same hash with a
chance of about n^2 / 2^65: 3e-8 for a million.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from milpcb.types import Floats

Hashes = npt.NDArray[np.uint64]

_ODD = np.uint64(0x9E3779B97F4A7C15)  # 2^64 over the golden ratio: the second key fills the upper bits


def key_tables(n_contexts: int, n_actions: int) -> list[Floats]:
    """Return two tables (n, K) of integer keys, small enough for two totals over all contexts to add up exactly."""
    most = 2**52 // max(1, n_contexts)
    return list(np.random.default_rng(0).integers(most, size=(2, n_contexts, n_actions)).astype(float))


def zobrist_hashes(totals: Sequence[Floats]) -> Hashes:
    """Return the hashes (n,) of labelings by the totals (n,) of both tables of keys, or these less one constant."""
    first, second = (np.rint(total).astype(np.int64).view(np.uint64) for total in totals)
    return np.asarray(first + second * _ODD)


def first_of_each(found: Hashes) -> npt.NDArray[np.int64]:
    """Return where each hash occurs first, in the order of the places."""
    order = np.argsort(found)
    ranked = found[order]
    starts = np.flatnonzero(np.append(True, ranked[1:] != ranked[:-1])[: len(found)])
    return np.sort(np.minimum.reduceat(order, starts)) if len(starts) else order
