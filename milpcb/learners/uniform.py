"""Uniform play: every action equally often, which every learner should do better than."""

from __future__ import annotations

import numpy as np

from milpcb.learners.base import Learner
from milpcb.types import Floats


class Uniform(Learner):
    """Plays every action with probability 1/K, whatever it sees. No guarantee, no oracle.

    Parameters
    ----------
    n_actions : K >= 2
    horizon : number of rounds that may be played, None for no end
    seed : not used

    """

    delayed = True
    kept = ()

    def __init__(self, n_actions: int, *, horizon: int | None = None, seed: int = 0) -> None:
        super().__init__(n_actions=n_actions, horizon=horizon, seed=seed)
        self._q = np.full(n_actions, 1.0 / n_actions)

    @property
    def least_chance(self) -> float:
        """1/K."""
        return 1.0 / self.n_actions

    def _act(self, row: int) -> Floats:
        """Return 1/K for every action."""
        del row
        return self._q.copy()

    def _learn(self, row: int, action: int, cost: float, probability: float) -> None:
        """Do nothing: no cost changes what is played."""

    def _go_on(self, before: Learner) -> None:
        """Do nothing."""
        del before
