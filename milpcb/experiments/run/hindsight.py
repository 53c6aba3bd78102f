"""The best policies in hindsight: a fixed one, and several in turn, on the true costs of a whole environment."""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from milpcb.blocks import Blocks, InTurn
from milpcb.oracles.base import Oracle
from milpcb.protocols import Policy, Stream
from milpcb.types import Floats, Ints


@dataclass(frozen=True)
class Hindsight:
    """The least total cost of any policy after each checkpoint, and the policy that attains the last one.

    ``totals`` (m, K) are the costs of all rounds by context, ``shown`` (m,) counts the rounds. Where policies in turn
    are asked for, ``in_turn`` is what the best of them cost after each checkpoint, and ``sequence`` the last of these:
    the rounds ``after`` which they change, and their total ``cost`` and that of ``random`` choice at each checkpoint.
    """

    best_cost: dict[int, float]
    policy: Policy | None
    totals: Floats
    shown: Ints
    in_turn: dict[int, float]
    sequence: dict[str, list[Any]] | None


def hindsight(
    stream: Stream,
    oracle: Oracle,
    horizon: int,
    at: Collection[int],
    tick: Callable[[int], None] = lambda _: None,
    changes: int | None = None,
) -> Hindsight:
    """Walk through the environment once, adding up true costs; with ``changes``, twice, of policies in turn too."""
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
            in_turn[t + 1] = turns.least(totals)[-1].total
        if turns is not None and t + 1 in turns.ends:
            turns.end(t + 1, totals)
    sequence = None if turns is None else turns.follow(stream, totals, horizon, at)
    return Hindsight(best, policy, totals, shown, in_turn, sequence)


class _Turns:
    """The least totals of 1, 2, ... policies in turn, from the totals (m, K) at the ends of blocks."""

    def __init__(self, oracle: Oracle, horizon: int, changes: int) -> None:
        blocks = Blocks()
        blocks.plan(horizon)
        self.ends, self._oracle, self._most = frozenset(blocks.ends), oracle, changes + 1
        self._before: dict[int, tuple[Floats, list[InTurn]]] = {}  # by end: totals, and the least by number of policies

    def least(self, totals: Floats) -> list[InTurn]:
        """Return the least of at most 1, 2, ... policies in turn, of which the last began at the end of a block."""
        found = [InTurn(self._oracle.value(totals), ())] * self._most
        for end, (then, least) in self._before.items():
            last = self._oracle.value(totals - then)
            more = (InTurn(one.total + last, (*one.after, end)) for one in least)
            found = [found[0], *map(min, found[1:], more)]
        return found

    def end(self, played: int, totals: Floats) -> None:
        """End a block."""
        self._before[played] = (totals.copy(), self.least(totals))

    def follow(self, stream: Stream, totals: Floats, horizon: int, at: Collection[int]) -> dict[str, list[Any]] | None:
        """Walk through the environment with the best policies in turn; None where no policy attains a least total."""
        after = self.least(totals)[-1].after
        sums = [np.zeros_like(totals), *(self._before[end][0] for end in after), totals]
        policies = [self._oracle.minimise(late - early).policy for early, late in pairwise(sums)]
        cost = random = 0.0
        found: dict[str, list[Any]] = {"after": list(after), "cost": [], "random": []}
        for policy, start, end in zip(policies, (0, *after), (*after, horizon), strict=True):
            if policy is None:
                return None
            labels = policy.predict(stream.contexts)
            for t in range(start, end):
                costs = stream.costs(t)
                cost += float(costs[labels[stream.reveal(t)]])
                random += float(costs.mean())
                if t + 1 in at:
                    found["cost"].append(cost)
                    found["random"].append(random)
        return found
