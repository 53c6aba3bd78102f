"""Exp4 that learns late, on games small enough to enumerate: mean estimates, the bound on each path, mean regret.

Every sequence of actions is played for every sequence of costs 0 and 1 of two constants, under a list of delays, each
in rounds; what has not come in by the end comes then. Statement L1 of milpcb/theory/confidence.md proves that no mean
estimate is above its cost, no certificate above the bound, and mean regret not above the guarantee.
"""

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any

import numpy as np

from milpcb.learners import Exp4
from milpcb.types import Floats
from tests.theory.coins.games import OPPOSITE, CoinGame
from tests.theory.coins.slacks import ROUNDING, Judged, Verdict, worst_of

T = 3
DELAYS = ((0, 0, 0), (1, 1, 1), (2, 2, 2), (2, 1, 0), (1, 0, 1))
RATES = (0.4, 2.0)
GAME = CoinGame(OPPOSITE, (0,) * T, ())
LATE_NAMES = ("E[estimate] <= cost", "certificate <= bound", "E[regret] <= guarantee")


class _Late(Exp4):
    added: float = 0.0

    def _estimate(self, cost: float, probability: float, mass: float) -> float:
        self.added = super()._estimate(cost, probability, mass)
        return self.added


class _AtArrival(_Late):
    def _estimate(self, cost: float, probability: float, mass: float) -> float:
        del probability
        self.added = super()._estimate(cost, mass, mass)
        return self.added


class _BoundAtPlay(_Late):
    def _learn(self, row: int, action: int, cost: float, probability: float) -> None:
        self.late = False
        super()._learn(row, action, cost, probability)


def judge_late(judged: Judged, all_delays: Sequence[Sequence[int]] = DELAYS) -> Verdict:
    """Return the verdict over all delays, rates and costs."""

    def found() -> Iterator[tuple[str, Floats]]:
        for delays, rate in product(all_delays, RATES):
            for costs in product(product((0.0, 1.0), repeat=2), repeat=T):
                place = f"rate {rate}, delays {list(delays)}, costs {np.array(costs, dtype=int).tolist()}"
                yield place, -np.array(slacks(judged.kind, rate, delays, np.array(costs)))

    return worst_of(LATE_NAMES, found(), ROUNDING)


def slacks(kind: type[_Late], rate: float, delays: Sequence[int], costs: Floats) -> tuple[float, float, float]:
    """Return the slacks of one rate, one list of delays and one sequence of costs (T, K)."""
    estimated, paid, least = np.zeros(costs.shape), 0.0, np.inf
    oracle = GAME.oracle()
    for actions in product(range(2), repeat=T):
        learner = kind(oracle, horizon=T, rate=rate, delays=float(sum(_cut(delays))))
        chance, added = _played(learner, actions, _cut(delays), costs)
        for t, action in enumerate(actions):
            estimated[t, action] += chance * added[t]
        paid += chance * learner.ledger.cost
        least = min(least, learner.bound() - learner.certificate())
    regret = paid - float(costs.sum(axis=0).min())
    return float((costs - estimated).min()), least, learner.guarantee() - regret


def _cut(delays: Sequence[int]) -> list[int]:
    """Return the delays as they are where what is left comes in at the end."""
    return [min(delay, T - 1 - t) for t, delay in enumerate(delays)]


def _played(learner: _Late, actions: Sequence[int], delays: Sequence[int], costs: Floats) -> tuple[float, list[float]]:
    """Return the chance of these actions, and what was added for each round."""
    chance, added, waiting = 1.0, [0.0] * T, dict[int, Any]()
    for t, action in enumerate(actions):
        chance *= float(learner.act(0)[action])
        waiting[t] = learner.set_aside()
        for s in [s for s in waiting if s + delays[s] <= t]:
            aside = waiting.pop(s)
            learner.take_up(aside)
            learner.learn(0, actions[s], float(costs[s, actions[s]]), aside.q[actions[s]])
            added[s] = learner.added
    return chance, added


LATE = (Judged("exp4, fixed, late", _Late),)
LATE_MUTANTS = (Judged("late, q at arrival alone", _AtArrival), Judged("late, q at play in the bound", _BoundAtPlay))
