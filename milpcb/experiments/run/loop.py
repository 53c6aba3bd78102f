"""The loops between learner and environment, one with all costs known and one live; no algorithm is known here."""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter
from typing import Protocol

import numpy as np

from milpcb.experiments.run.live import LiveStream
from milpcb.learners import Learner
from milpcb.protocols import Stream
from milpcb.rng import draw_action
from milpcb.types import Floats, Ints


class Playing(Protocol):
    """Player in a loop: a learner, or something around one."""

    @property
    def full_information(self) -> bool:
        """Return whether all costs of a round are shown after it."""
        ...

    def act(self, row: int) -> Floats:
        """See Learner.act."""
        ...

    def learn(self, row: int, action: int, cost: float, probability: float) -> None:
        """See Learner.learn."""
        ...

    def learn_all(self, row: int, costs: Floats) -> None:
        """See Learner.learn_all."""
        ...


@dataclass
class Tally:
    """Where a play stands: rounds played, their expected cost sum_t <q_t, c_t>, and the seconds spent in the learner.

    In live play the cost is that of the actions played, which has the same mean.
    """

    round: int = 0
    cost: float = 0.0
    seconds: float = 0.0


def checkpoints(horizon: int, count: int) -> Ints:
    """Return at most 2 count + 1 increasing rounds: log-spaced for the slope, evenly spaced for the bend, and T."""
    logged = np.geomspace(1, horizon, count)
    even = np.linspace(1, horizon, count)
    return np.unique(np.rint(np.concatenate([logged, even, [horizon]])).astype(np.int64))


def play(learner: Playing, stream: Stream, tally: Tally, until: int, rng: np.random.Generator) -> None:
    """Play on from where ``tally`` stands until ``until`` rounds are played; any cuts give the same numbers."""
    cost, seconds = tally.cost, tally.seconds
    for t in range(tally.round, until):
        row, costs = stream.reveal(t), stream.costs(t)
        start = perf_counter()
        q = learner.act(row)
        action = draw_action(q, rng)
        learner.learn(row, action, float(costs[action]), float(q[action]))
        if learner.full_information:
            learner.learn_all(row, costs)
        seconds += perf_counter() - start
        cost += float(q @ costs)
    tally.round, tally.cost, tally.seconds = until, cost, seconds


def play_live(learner: Learner, stream: LiveStream, tally: Tally, until: int, rng: np.random.Generator) -> None:
    """Play on as ``play`` does where only the cost of the action played becomes known; without one no round counts."""
    while tally.round < until:
        row = stream.reveal(tally.round)
        start = perf_counter()
        q = learner.act(row)
        action = draw_action(q, rng)
        tally.seconds += perf_counter() - start
        cost = stream.cost(action)
        start = perf_counter()
        if cost is None:
            learner.give_up()
        else:
            learner.learn(row, action, cost, float(q[action]))
            tally.cost += float(cost)
            tally.round += 1
        tally.seconds += perf_counter() - start
