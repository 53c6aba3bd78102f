"""Sums by block of rounds, and the best policies in turn on them: certificates for a world that changes.

S policies in turn, of which one is followed by the next at the end of a block, are one policy of the block and the
context. So all that is proved of policies is proved of them (milpcb/theory/changes.md), where the block of each round
is known before its action is drawn: it is that of the number of rounds that were finished when the round began.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from math import comb, lgamma, log
from typing import Any, NamedTuple

import numpy as np

from milpcb.bets import loss
from milpcb.core.checks import LARGEST, whole
from milpcb.core.decimals import spaced
from milpcb.types import Floats

PLANNED = 20  # blocks of a run whose horizon is known
SHORTEST = 100  # rounds of the first blocks of one that has none; later ones last a tenth of all rounds before
AT_ONCE = 4096  # rounds that enter the sums together, at least
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

    The first ``after`` numbers of rounds are those after which one follows another; every policy has paid more than
    ``single``, and these at most ``in_turn``, which is less.
    """

    changes: int
    after: tuple[int, ...]
    single: float
    in_turn: float


class Changes(NamedTuple):
    """Certificates against the best 1, 2, 3, ... policies in turn, and after which rounds these change.

    ``proof`` is None where nothing is proved: that certificates grow more slowly from some number on suggests how often
    the world changed, and proves nothing.
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

    ``value(j, k)`` is the least total of one policy on the blocks j + 1, ..., k, and is asked once at most;
    ``toll(j)`` is added for a change at the end of block j. D_1[k] = V(0, k), and
    D_S[k] = min over j of D_{S-1}[j] + V(j, k) + toll(j).
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
    """Sums of what rounds prove, by block, context and action: of costs c, and of gains 1 - c.

    ``ends`` are the numbers of rounds after which blocks end; where they are ``planned`` the last of them is that of
    the run, and else there may be any number of blocks.
    """

    def __init__(self, ends: Sequence[int] = GROWING, *, planned: bool = False) -> None:
        self.ends, self.planned = tuple(ends), planned
        self.rounds = 0
        self.stakes: Sequence[float] = ()
        self._recent: list[float] = []  # five numbers of each round
        self._full = 5 * AT_ONCE
        self._keys = np.zeros((0, 3), dtype=np.int64)  # block, row, action, in this order
        self._sums = np.zeros((0, 0))  # (1 + 2 G, n): of estimates, of what each stake proves of costs, and of gains

    def plan(self, horizon: int | None) -> None:
        """Have blocks of equal length, as near as can be, where the horizon is known; before the first round."""
        n = min(PLANNED, horizon or 0)
        if horizon:
            self.ends, self.planned = tuple(-(-horizon * block // n) for block in range(1, n + 1)), True

    def add(self, begun: int, row: int, action: int, cost: float, weight: float) -> None:
        """Take in a round; this is on the path of every round.

        ``begun`` is how many rounds were finished when it began, and ``weight`` >= 0 estimates 1: the mean of
        weight 1[y = a], given the past, is at most 1 for every action a.
        """
        self._recent += (begun, row, action, cost, weight)
        if len(self._recent) >= self._full:
            self._enter()

    # ----------------------------------------------------------------- what there is

    def played(self) -> int:
        """Return the number of rounds."""
        self._enter()
        return self.rounds

    def contexts(self) -> int:
        """Return one more than the largest number of a row."""
        self._enter()
        return 1 + int(self._keys[:, 1].max(initial=-1))

    def count(self) -> int:
        """Return the number of blocks with rounds, or before one with some."""
        self._enter()
        return 1 + int(self._keys[:, 0].max(initial=0))

    def tables(self, place: int, n_contexts: int, n_actions: int) -> Floats:
        """Return one of the sums of each block (n_blocks, n_contexts, n_actions), cut off where an oracle would.

        0 is that of estimates, 1, ..., G of what the stakes prove of costs, G + 1, ..., 2 G of gains.
        """
        found = np.zeros((self.count(), n_contexts, n_actions))
        if len(self._keys):
            found[tuple(self._keys.T)] = np.minimum(self._sums[place], LARGEST)
        return found

    def in_turn(
        self, place: int, shape: tuple[int, int], ask: Callable[[Floats], float], most: int, toll: float
    ) -> list[InTurn]:
        """Return the least totals in turn of one of the sums, of which ``ask`` returns the least.

        ``shape`` is (m, K), and a change adds ``toll`` times what it adds to the logarithm of the union.
        """
        tables = self.tables(place, *shape)
        least = least_in_turn(
            lambda j, k: ask(tables[j:k].sum(axis=0)), len(tables), most, lambda j: toll * self.log_change(j)
        )
        return [InTurn(total, tuple(self.ends[block - 1] for block in blocks)) for total, blocks in least]

    # ----------------------------------------------------------------- the union over several policies in turn

    def log_change(self, block: int) -> float:
        """Return what a change at the end of a block, 1, 2, ..., adds to the logarithm of what the union is over."""
        return 0.0 if self.planned else log(block * (block + 1))

    def log_union(self, pieces: int, log_size: float) -> float:
        """Return the rest of that logarithm, for as many policies in turn of exp(log_size), at once for all numbers."""
        where = log(comb(len(self.ends) - 1, pieces - 1)) if self.planned else -lgamma(pieces)
        return pieces * log_size + where + log(pieces * (pieces + 1))

    # ----------------------------------------------------------------- saved, restored and taken over

    def state(self) -> list[Any]:
        """Return everything that ``restore`` needs, as plain data."""
        self._enter()
        cells = zip(self._keys.tolist(), self._sums.T.tolist(), strict=True)
        return [self.rounds, list(self.ends) if self.planned else None, [[*key, *sums] for key, sums in cells]]

    def restore(self, state: Sequence[Any]) -> None:
        """Go on from a saved state, with its ends of blocks; raises ValueError on one of other stakes."""
        rounds, ends, cells = state
        self.rounds, self._recent = whole("rounds", rounds, 0), []
        if ends is not None:
            self.ends = tuple(whole("the end of a block", end, 1) for end in ends)
        elif self.planned:
            self.ends = GROWING
        self.planned = ends is not None
        keys = [[whole("a block, a row or an action", number, 0) for number in cell[:3]] for cell in cells]
        whole("the last block", max((key[0] for key in keys), default=0), 0, len(self.ends))
        self._keys = np.array(keys, dtype=np.int64).reshape(-1, 3)
        sums = [list(map(float, cell[3:])) for cell in cells]
        if any(len(each) != 1 + 2 * len(self.stakes) for each in sums):
            raise ValueError(f"a block's cell has other than {1 + 2 * len(self.stakes)} sums")
        self._sums = np.array(sums).reshape(-1, 1 + 2 * len(self.stakes)).T.copy()

    def go_on(self, before: Blocks, added: Sequence[int]) -> None:
        """Take in the sums of fewer actions: in their rounds those ``added`` stand for action 0.

        A stake that was not bet has proved nothing so far.
        """
        self.rounds, self.ends, self.planned = before.played(), before.ends, before.planned
        keys, sums, G = before._keys, before._sums, len(before.stakes)
        places = [1 + before.stakes.index(stake) if stake in before.stakes else None for stake in self.stakes]
        places = [0, *places, *(None if place is None else place + G for place in places)]
        nothing = np.zeros(len(keys))
        own = np.array([nothing if place is None or not len(keys) else sums[place] for place in places])
        first = np.flatnonzero(keys[:, 2] == 0)
        every = np.concatenate([np.arange(len(keys)), np.tile(first, len(added))])
        named = keys[every]
        named[len(keys) :, 2] = np.repeat(np.array(added, dtype=np.int64), len(first))
        order = np.lexsort(named.T[::-1])
        self._keys, self._sums = named[order], own[:, every[order]]

    # ----------------------------------------------------------------- inside

    def _enter(self) -> None:
        """Add the recent rounds to the sums, one by one, so that it does not matter when this is done."""
        if not self._recent:
            return
        numbers, self._recent = np.frombuffer(array("d", self._recent)).reshape(-1, 5).T, []
        self.rounds += numbers.shape[1]
        begun, rows, actions = numbers[:3].astype(np.int64)
        recent = np.array([np.searchsorted(self.ends[:-1], begun, side="right"), rows, actions])  # blocks 0, 1, ...
        both = np.concatenate([self._keys.T, recent], axis=1)
        shape = tuple(both.max(axis=1) + 1)
        codes, places = np.unique(np.ravel_multi_index(tuple(both), shape), return_inverse=True)
        more = self._proved(*np.minimum(numbers[3:], LARGEST))
        before = self._sums if len(self._keys) else [np.zeros(0)] * (1 + 2 * len(self.stakes))
        self._sums = np.array(
            [np.bincount(places, np.concatenate(pair), len(codes)) for pair in zip(before, more, strict=True)]
        )
        self._keys = np.stack(np.unravel_index(codes, shape), axis=1)
        self._full = 5 * max(AT_ONCE, len(codes))  # so that a round takes as long whatever is kept

    def _proved(self, costs: Floats, weights: Floats) -> Iterator[Floats]:
        """Yield what each round adds to each of the sums: proved() of milpcb.bets, of costs and of gains."""
        yield costs * weights
        for shown in (costs, np.maximum(1.0 - costs, 0.0)):
            more = shown * weights - shown
            for stake in self.stakes:
                yield shown + np.log1p(stake * more) / loss(stake)
