"""Random draws for imagined futures: counts of rounds, and sums of signs.

The draws are compiled (milpcb.contexts.kernels). For very many rounds numpy's draws are faster.
"""

from functools import cache
from typing import Any

import numpy as np

from milpcb.types import Floats, Ints

MOST_SPREAD = 2**17  # rounds of one multinomial draw
MOST_SIGNS = 1024  # of one context


@cache
def _kernels() -> Any:
    from milpcb.contexts import kernels  # the compiler takes its time: only for those who draw

    return kernels


class Multinomial:
    """The distribution of rounds over contexts: each falls on context j with the probability ``weights[j]`` (m,)."""

    def __init__(self, weights: Floats) -> None:
        self._weights = weights
        m = len(weights)
        mass = np.concatenate([np.zeros(m), weights])  # of the nodes of a binary tree: see kernels.spread
        for node in range(m - 1, 0, -1):
            mass[node] = mass[2 * node] + mass[2 * node + 1]
        self._left = np.divide(mass[::2], mass[:m], out=np.zeros(m), where=mass[:m] > 0)

    def draw(self, n: int, rng: np.random.Generator) -> Ints:
        """Return (m,): how many of ``n`` rounds fall on each context."""
        if n > MOST_SPREAD:
            return rng.multinomial(n, self._weights)
        drawn: Ints = _kernels().spread(n, self._left, rng.bit_generator.random_raw(1))
        return drawn


def rademacher_sums(counts: Ints, n_actions: int, rng: np.random.Generator, factor: int = 1) -> Ints:
    """Return (m, K): entry (j, a) is ``factor`` times the sum of ``counts[j]`` independent fair signs."""
    most, words = _kernels().extent(counts)
    if most > MOST_SIGNS:
        ones = rng.binomial(counts[:, None], 0.5, (len(counts), n_actions))
        return np.asarray(factor * (2 * ones - counts[:, None]))
    raw = rng.bit_generator.random_raw(words * n_actions).reshape(n_actions, words)
    sums: Ints = _kernels().sign_sums(counts, raw, factor)
    return sums


def coordinate_sums(counts: Ints, n_actions: int, rng: np.random.Generator) -> Ints:
    """Return (m, K): each of ``counts[j]`` rounds adds a fair sign to one action of context j, drawn evenly."""
    if _kernels().extent(counts)[0] > MOST_SIGNS:
        cells = rng.multinomial(counts, np.full(n_actions, 1 / n_actions))
    else:
        cells = _kernels().deal(counts, n_actions, rng.bit_generator.random_raw(1))
    return rademacher_sums(cells.ravel(), 1, rng).reshape(cells.shape)
