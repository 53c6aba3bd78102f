"""Compiled draws, exact in law, from random words of 64 bits.

Of n fair bits the number of ones is Binomial(n, 1/2). A Binomial(n, p) draw compares n uniform numbers with p, a bit of
all of them at a time: where the bit of p is 1, numbers with bit 0 are below p; where it is 0, numbers with bit 1 are
above; half of them go on to the next bit. A multinomial draw splits the rounds in two, and each part again, down to
single contexts. Words are a sequence of SplitMix64 (Steele, Lea & Flood 2014) from ``state`` (1,), a word of a
generator.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from milpcb.core.kernels import compiled

Array = npt.NDArray[Any]

WORD = 64
_ONE, _TWO, _FOUR, _TOP = np.uint64(1), np.uint64(2), np.uint64(4), np.uint64(56)
_PAIRS, _QUADS = np.uint64(0x5555555555555555), np.uint64(0x3333333333333333)
_BYTES, _EACH = np.uint64(0x0F0F0F0F0F0F0F0F), np.uint64(0x0101010101010101)
_STEP = np.uint64(0x9E3779B97F4A7C15)
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_30, _27, _31 = np.uint64(30), np.uint64(27), np.uint64(31)


@compiled()
def _bits(word: Any, n: int) -> int:
    """Return the number of ones among the lowest ``n`` <= 64 bits of a word, n >= 1."""
    x = word << np.uint64(WORD - n)
    x -= (x >> _ONE) & _PAIRS
    x = (x & _QUADS) + ((x >> _TWO) & _QUADS)
    return np.int64((((x + (x >> _FOUR)) & _BYTES) * _EACH) >> _TOP)  # type: ignore[return-value]  # compiled, it is an int


@compiled()
def ones(n: int, state: Array) -> int:
    """Return the number of ones among ``n`` fair bits."""
    total, word = 0, state[0]
    while n > 0:
        word += _STEP
        mixed = (word ^ (word >> _30)) * _FIRST
        mixed = (mixed ^ (mixed >> _27)) * _SECOND
        total += _bits(mixed ^ (mixed >> _31), min(n, WORD))
        n -= WORD
    state[0] = word
    return total


@compiled()
def binomial(n: int, p: float, state: Array) -> int:
    """Return how many of ``n`` uniform numbers are below p, 0 <= p <= 1; a number is open while its bits are p's."""
    below = 0
    while n > 0 and p > 0.0:
        p *= 2.0
        ones_now = ones(n, state)
        if p >= 1.0:
            p -= 1.0
            below += ones_now
            n -= ones_now
        else:
            n = ones_now
    return below


@compiled()
def spread(n: int, left: Array, state: Array) -> Array:
    """Return (m,): how many of ``n`` rounds fall on each context.

    Node i of a binary tree splits into 2 i and 2 i + 1, the contexts are the nodes m..2m-1, and ``left`` (m,) is the
    chance of a round at node i to fall on 2 i.
    """
    m = len(left)
    held = np.empty(2 * m, np.int64)
    held[1] = n
    for i in range(1, m):
        held[2 * i] = binomial(held[i], left[i], state)
        held[2 * i + 1] = held[i] - held[2 * i]
    return held[m:]


@compiled()
def deal(counts: Array, n_actions: int, state: Array) -> Array:
    """Return (m, K): how many of the ``counts`` (m,) rounds of each context fall on each action, all as likely."""
    dealt = np.empty((len(counts), n_actions), np.int64)
    for j in range(len(counts)):
        left = counts[j]
        for a in range(n_actions - 1):
            dealt[j, a] = binomial(left, 1.0 / (n_actions - a), state)
            left -= dealt[j, a]
        dealt[j, n_actions - 1] = left
    return dealt


@compiled()
def extent(counts: Array) -> tuple[int, int]:
    """Return the largest of ``counts`` (m,), and how many words hold a bit for each, one at least for a context."""
    most = words = 0
    for count in counts:
        most = max(most, count)
        words += max(1, (count + WORD - 1) // WORD)
    return most, words


@compiled()
def sign_sums(counts: Array, words: Array, factor: int) -> Array:
    """Return (m, K): ``factor`` times the sums of as many fair signs as ``counts`` (m,), from ``words`` (K, words)."""
    sums = np.empty((len(counts), len(words)), np.int64)
    at = 0
    for j in range(len(counts)):
        first = at
        for a in range(len(words)):
            total, at, n = 0, first, counts[j]
            while n > 0:
                total += _bits(words[a, at], min(n, WORD))
                at += 1
                n -= WORD
            sums[j, a] = factor * (2 * total - counts[j])
        at = max(at, first + 1)
    return sums
