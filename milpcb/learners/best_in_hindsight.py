"""The best policy in hindsight, played from the first round: the line that regret is measured from."""

from __future__ import annotations

from typing import Any

import numpy as np

from milpcb.checks import check_cost, whole
from milpcb.errors import InputError
from milpcb.protocols import Learner
from milpcb.types import Floats, Ints


class BestInHindsight(Learner):
    """Plays ``best[row]``, the action of the policy that turns out cheapest over all T rounds.

    Its regret after T rounds is 0 by definition. Earlier it is never negative, and positive wherever another policy is
    still ahead. A yardstick, not a learner: it was told the end.

    Parameters
    ----------
    best : (m,) actions in 0..K-1, the labels of that policy; the runtime supplies them
    n_actions : K >= 2

    """

    def __init__(self, best: Ints, n_actions: int) -> None:
        self.n_actions = whole("n_actions", n_actions, 2)
        labels = np.asarray(best)
        if labels.ndim != 1 or not np.issubdtype(labels.dtype, np.integer):
            raise InputError("best must list one action, a whole number, per context")
        if len(labels) and not (labels.min() >= 0 and labels.max() < n_actions):
            raise InputError(f"best names actions outside 0..{n_actions - 1}")
        self._q = np.eye(n_actions)[labels]
        self._t = 0

    def act(self, row: int) -> Floats:
        """Return 1 for the best policy's action and 0 for the others (K,)."""
        return np.array(self._q[row])

    def learn(self, row: int, action: int, cost: float, probability: float) -> None:
        """Learn nothing: everything is known."""
        del row, probability
        check_cost(self._t, action, cost)
        self._t += 1

    def guarantee(self) -> float:
        """Return 0, the regret after all T rounds."""
        return 0.0

    def state(self) -> dict[str, Any]:
        """Return the number of rounds."""
        return {"t": self._t}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from a saved number of rounds."""
        self._t = state["t"]
