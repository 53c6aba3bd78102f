"""Blocks of rounds, and the best policies in turn on them: certificates for a world that changes.

The block of a round is known before its action is drawn: that of the number of rounds finished when it began
(milpcb/theory/changes.md).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from math import comb, lgamma, log
from typing import Any, NamedTuple

import numpy as np

from milpcb.core.checks import whole
from milpcb.core.decimals import spaced
from milpcb.types import Ints

PLANNED = 20  # blocks of a run whose horizon is known
SHORTEST = 100  # rounds of the first blocks of one that has none; later ones last a tenth of all rounds before
LARGEST_RUN = 10**15  # rounds


# Where blocks end whose number is not known, for more rounds than anybody plays.
_ENDS = [SHORTEST]
while _ENDS[-1] < LARGEST_RUN:
    _ENDS.append(_ENDS[-1] + max(SHORTEST, _ENDS[-1] // 10))
GROWING = tuple(_ENDS)


class InTurn(NamedTuple):
    """The least total of several policies in turn, and the numbers of rounds after which one follows another."""

    total: float
    after: tuple[int, ...]


class ProvedChange(NamedTuple):
    """A proof that no policy has paid as little, over all rounds, as ``changes`` + 1 in turn.

    One policy follows another after the rounds ``after``; every single policy has paid more than ``single``, and these
    in turn at most ``in_turn``, which is less.
    """

    changes: int
    after: tuple[int, ...]
    single: float
    in_turn: float


class Changes(NamedTuple):
    """Certificates against the best 1, 2, 3, ... policies in turn, and after which rounds these change.

    ``proof`` is None where nothing is proved: that certificates grow more slowly from some number on proves nothing.
    """

    certificates: tuple[float, ...]
    after: tuple[tuple[int, ...], ...]
    confidence: float | None
    proof: ProvedChange | None

    def __str__(self) -> str:
        """Return a table, a line for each number of changes."""
        lines = [f"changes   {'certificate' if self.confidence is None else f'{100 * self.confidence:.15g} %'}  after"]
        for changes, (value, after) in enumerate(zip(self.certificates, self.after, strict=True)):
            lines.append(f"{changes:7d} {spaced(value, '.1f'):>13}  {', '.join(map(spaced, after))}")
        if self.proof is not None:
            made = self.proof
            lines.append(
                f"proved with the same confidence: {made.changes + 1} policies in turn, changing after "
                f"{', '.join(map(spaced, made.after))}, paid at most {spaced(made.in_turn, '.1f')}; "
                f"every single one more than {spaced(made.single, '.1f')}"
            )
        return "\n".join(lines)


def least_in_turn(
    value: Callable[[int, int], float], n_blocks: int, most: int, toll: Callable[[int], float]
) -> list[InTurn]:
    """Return the least total of exactly 1, 2, ..., ``most`` policies in turn on ``n_blocks`` blocks, and their ends.

    ``value(j, k)`` is the least total of one policy on the blocks j + 1, ..., k, ``toll(j)`` is added for a change at
    the end of block j. D_1[k] = V(0, k), and D_S[k] = min over j of D_{S-1}[j] + V(j, k) + toll(j).
    """
    value = cache(value)

    @cache
    def best(pieces: int, k: int) -> tuple[float, tuple[int, ...]]:
        if pieces == 1:
            return value(0, k), ()
        before = ((*best(pieces - 1, j), j) for j in range(pieces - 1, k))
        return min((total + value(j, k) + toll(j), (*ends, j)) for total, ends, j in before)

    return [InTurn(*best(pieces, n_blocks)) for pieces in range(1, min(most, n_blocks) + 1)]


class Blocks:
    """Ends of blocks, as numbers of rounds: of a whole run where they are ``planned``, else of any number of blocks."""

    def __init__(self, ends: Sequence[int] = GROWING, *, planned: bool = False) -> None:
        self.ends, self.planned = tuple(ends), planned

    def plan(self, horizon: int | None) -> None:
        """Plan blocks of nearly equal length for a known horizon; only before the first round."""
        n = min(PLANNED, horizon or 0)
        if horizon:
            self.ends, self.planned = tuple(-(-horizon * block // n) for block in range(1, n + 1)), True

    def of(self, begun: Ints) -> Ints:
        """Return the numbers 0, 1, ... of the blocks of rounds that began when ``begun`` others were finished."""
        return np.searchsorted(self.ends[:-1], begun, side="right")

    def log_change(self, block: int) -> float:
        """Return the term that a change at the end of a block, 1, 2, ..., adds to the logarithm of the union bound."""
        return 0.0 if self.planned else log(block * (block + 1))

    def log_union(self, pieces: int, log_size: float) -> float:
        """Return the other terms of that logarithm for policies in turn of exp(log_size), for all numbers at once."""
        where = log(comb(len(self.ends) - 1, pieces - 1)) if self.planned else -lgamma(pieces)
        return pieces * log_size + where + log(pieces * (pieces + 1))

    def state(self) -> list[int] | None:
        """Return the ends that were planned."""
        return list(self.ends) if self.planned else None

    def restore(self, state: Sequence[Any] | None) -> None:
        """Go on from a saved state."""
        ends = GROWING if self.planned else self.ends
        self.ends = ends if state is None else tuple(whole("the end of a block", end, 1) for end in state)
        self.planned = state is not None
