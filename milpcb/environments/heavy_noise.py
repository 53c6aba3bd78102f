"""Heavy noise: as planted, with hardly any signal in a single cost."""

from __future__ import annotations

from dataclasses import dataclass

from milpcb.environments.planted import Planted


@dataclass(frozen=True)
class HeavyNoise(Planted):
    """A planted policy whose costs are almost a coin toss: 0.45 against 0.55.

    Breaks learners that are sure too soon: it takes hundreds of rounds on a context to see a difference, so what leads
    early leads by luck.

    Parameters
    ----------
    n_actions : K >= 2
    n_contexts : rows of the pool, >= 1
    n_features : columns of the pool, >= 1
    cost_right : P[cost = 1] of the planted policy's action
    cost_wrong : P[cost = 1] of every other action, at least ``cost_right``

    """

    cost_right: float = 0.45
    cost_wrong: float = 0.55
