"""Uniform play: the yardstick every learner must beat."""

from __future__ import annotations

from typing import Any

import numpy as np

from milpcb.checks import check_cost, whole
from milpcb.protocols import Learner
from milpcb.types import Floats


class Uniform(Learner):
    """Plays every action with probability 1/K, whatever it sees. No guarantee, no oracle."""

    def __init__(self, n_actions: int) -> None:
        self.n_actions = whole("n_actions", n_actions, 2)
        self._q = np.full(n_actions, 1.0 / n_actions)
        self._t = 0

    def act(self, row: int) -> Floats:
        """Return 1/K for every action."""
        del row
        return self._q.copy()

    def learn(self, row: int, action: int, cost: float, probability: float) -> None:
        """Learn nothing; a cost outside [0, 1] is refused all the same."""
        del row, probability
        check_cost(self._t, action, cost)
        self._t += 1

    def state(self) -> dict[str, Any]:
        """Return the number of rounds."""
        return {"t": self._t}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from a saved number of rounds."""
        self._t = state["t"]
