"""The one loop between a learner and an environment; it knows no algorithm."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from time import perf_counter

import numpy as np

from milpcb.protocols import Learner, Stream
from milpcb.types import Floats, Ints


@dataclass(frozen=True)
class Point:
    """A learner after ``round`` rounds: its expected cost sum_t <q_t, c_t> so far, and the seconds it thought."""

    round: int
    cumulative_cost: float
    seconds: float


def checkpoints(horizon: int, count: int) -> Ints:
    """Return at most 2 count + 1 increasing rounds: log-spaced for the slope, evenly spaced for the bend, and T."""
    logged = np.geomspace(1, horizon, count)
    even = np.linspace(1, horizon, count)
    return np.unique(np.rint(np.concatenate([logged, even, [horizon]])).astype(np.int64))


def play(
    learner: Learner,
    stream: Stream,
    horizon: int,
    rng: np.random.Generator,
    at: Collection[int],
    tick: Callable[[int], None] = lambda _: None,
) -> Iterator[Point]:
    """Play ``horizon`` rounds; yield a point after each round listed in ``at``; ``tick`` hears of every round."""
    total, seconds = 0.0, 0.0
    for t in range(horizon):
        row, costs = stream.reveal(t), stream.costs(t)
        start = perf_counter()
        q = learner.act(row)
        action = draw_action(q, rng)
        learner.learn(row, action, float(costs[action]), float(q[action]))
        if learner.full_information:
            learner.learn_all(row, costs)
        seconds += perf_counter() - start
        total += float(q @ costs)
        tick(t + 1)
        if t + 1 in at:
            yield Point(t + 1, total, seconds)


def draw_action(q: Floats, rng: np.random.Generator) -> int:
    """Draw an action from q; a sum that is off by an ulp is scaled away."""
    cumulative = q.cumsum()
    return min(int(cumulative.searchsorted(rng.random() * cumulative[-1], side="right")), len(q) - 1)
