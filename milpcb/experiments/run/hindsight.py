"""Regret: the best fixed policy on the true costs, found by the oracle at checkpoints."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

import numpy as np

from milpcb.oracles.base import Oracle
from milpcb.protocols import Policy, Stream
from milpcb.types import Floats, Ints


@dataclass(frozen=True)
class Hindsight:
    """The least total cost of any policy after each checkpoint, and the policy that attains the last one.

    ``totals`` (m, K) are the costs of all rounds by context, ``shown`` (m,) counts the rounds.
    """

    best_cost: dict[int, float]
    policy: Policy | None
    totals: Floats
    shown: Ints


def hindsight(
    stream: Stream,
    oracle: Oracle,
    horizon: int,
    at: Collection[int],
    tick: Callable[[int], None] = lambda _: None,
) -> Hindsight:
    """Walk through the environment once, adding up true costs; environments are oblivious, so all learners share it."""
    totals = np.zeros((oracle.n_contexts, oracle.n_actions))
    shown = np.zeros(oracle.n_contexts, dtype=np.int64)
    best: dict[int, float] = {}
    policy = None
    for t in range(horizon):
        row = stream.reveal(t)
        totals[row] += stream.costs(t)
        shown[row] += 1
        tick(t + 1)
        if t + 1 in at:
            answer = oracle.minimise(totals)
            best[t + 1], policy = answer.value, answer.policy
    return Hindsight(best, policy, totals, shown)
