"""Play to compare learners with: uniform, and the best policy in hindsight."""

import numpy as np

from milpcb.core.checks import index, whole_array
from milpcb.errors import InputError
from milpcb.learners.base import Learner
from milpcb.types import Floats, Ints


class Uniform(Learner):
    """Plays every action with probability 1/K, whatever it sees. No guarantee, no oracle.

    Parameters
    ----------
    n_actions, horizon, seed : as of every learner

    """

    delayed = True
    kept = ()

    def __init__(self, n_actions: int, *, horizon: int | None = None, seed: int = 0) -> None:
        super().__init__(n_actions=n_actions, horizon=horizon, seed=seed)
        self._q = np.full(n_actions, 1.0 / n_actions)

    @property
    def least_chance(self) -> float:
        return 1.0 / self.n_actions

    def _act(self, row: int) -> Floats:
        del row
        return self._q.copy()

    def _learn(self, row: int, action: int, cost: float, probability: float) -> None:
        """Learn nothing."""

    def _go_on(self, before: Learner) -> None:
        """There is nothing to take over."""


class BestInHindsight(Learner):
    """Plays ``best[row]``, the action of the policy that turns out cheapest over all T rounds.

    Its regret after T rounds is 0 by definition; earlier it is never negative. It is no learner, for it knows the end.

    Parameters
    ----------
    best : (m,) actions in 0..K-1, the labels of that policy; the runtime supplies them
    n_actions, horizon, seed : as of every learner

    """

    kept = ()

    def __init__(self, best: Ints, *, n_actions: int, horizon: int | None = None, seed: int = 0) -> None:
        super().__init__(n_actions=n_actions, horizon=horizon, seed=seed)
        labels = whole_array("best", best)
        if labels.ndim != 1 or not ((labels >= 0) & (labels < n_actions)).all():
            raise InputError(f"best must list one action per context, an integer from 0 to {n_actions - 1}")
        self._q = np.eye(n_actions)[labels]

    def _act(self, row: int) -> Floats:
        return np.array(self._q[index("row", row, len(self._q))])

    def _learn(self, row: int, action: int, cost: float, probability: float) -> None:
        """Learn nothing."""

    def guarantee(self) -> float:
        return 0.0
