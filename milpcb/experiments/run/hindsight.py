"""Regret: the best fixed policy on the true costs, and the best in turn, found by the oracle at checkpoints."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

import numpy as np

from milpcb.blocks import Blocks
from milpcb.oracles.base import Oracle
from milpcb.protocols import Policy, Stream
from milpcb.types import Floats, Ints


@dataclass(frozen=True)
class Hindsight:
    """The least total cost of any policy after each checkpoint, and the policy that attains the last one.

    ``totals`` (m, K) are the costs of all rounds by context, ``shown`` (m,) counts the rounds. ``in_turn`` is what the
    best policies in turn cost after each checkpoint, where they are asked for.
    """

    best_cost: dict[int, float]
    policy: Policy | None
    totals: Floats
    shown: Ints
    in_turn: dict[int, float]


def hindsight(
    stream: Stream,
    oracle: Oracle,
    horizon: int,
    at: Collection[int],
    tick: Callable[[int], None] = lambda _: None,
    changes: int | None = None,
) -> Hindsight:
    """Walk through the environment once, adding up true costs; environments are oblivious, so all learners share it.

    With ``changes``, policies in turn that change so often at most, at the ends of the blocks of certificates, too.
    """
    totals = np.zeros((oracle.n_contexts, oracle.n_actions))
    shown = np.zeros(oracle.n_contexts, dtype=np.int64)
    best: dict[int, float] = {}
    policy = None
    turns = None if changes is None else _Turns(oracle, horizon, changes)
    in_turn: dict[int, float] = {}
    for t in range(horizon):
        row = stream.reveal(t)
        totals[row] += stream.costs(t)
        shown[row] += 1
        tick(t + 1)
        if t + 1 in at:
            answer = oracle.minimise(totals)
            best[t + 1], policy = answer.value, answer.policy
        if turns is not None and t + 1 in at:
            in_turn[t + 1] = turns.least(totals)[-1]
        if turns is not None and t + 1 in turns.ends:
            turns.end(totals)
    return Hindsight(best, policy, totals, shown, in_turn)


class _Turns:
    """The least totals of 1, 2, ... policies in turn, from the totals (m, K) at the ends of blocks."""

    def __init__(self, oracle: Oracle, horizon: int, changes: int) -> None:
        blocks = Blocks()
        blocks.plan(horizon)
        self.ends, self._oracle, self._most = frozenset(blocks.ends), oracle, changes + 1
        self._before: list[tuple[Floats, list[float]]] = []  # totals at each end, and the least by number of policies

    def least(self, totals: Floats) -> list[float]:
        """Return the least of at most 1, 2, ... policies in turn, of which the last began at the end of a block."""
        found = [self._oracle.value(totals)] * self._most
        for then, least in self._before:
            last = self._oracle.value(totals - then)
            found = [found[0], *map(min, found[1:], (one + last for one in least))]
        return found

    def end(self, totals: Floats) -> None:
        """End a block."""
        self._before.append((totals.copy(), self.least(totals)))
