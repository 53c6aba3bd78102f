"""Late bloomer: the best policy is the worst at first, then perfect."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from milpcb.environments.chances import Chances, Steps
from milpcb.environments.planted import Planted
from milpcb.environments.stream import check_probability
from milpcb.types import Ints


@dataclass(frozen=True)
class LateBloomer(Planted):
    """One policy pays in every round of an early phase and in none afterwards; over the run it is by far the best.

    Breaks learners that act on early confidence: one that eliminates policies has dropped the best before it blooms and
    never comes back, one that commits has committed to the decoy, which is free early on and ordinary later. Policies
    planted: the late bloomer and the decoy. All other actions cost 1 with ``cost_other``.

    Parameters
    ----------
    n_actions, n_contexts, n_features : as in ``Planted``
    cost_right : P[cost = 1] of the late bloomer's action in the late phase
    cost_wrong : P[cost = 1] of every other action in the late phase, at least ``cost_right``
    early : fraction of the horizon that the early phase lasts, from 0 to 1
    cost_other : P[cost = 1] in the early phase of an action that neither policy plays

    Raises
    ------
    InputError (a setting out of range)

    """

    cost_right: float = 0.0
    cost_wrong: float = 0.5
    early: float = 0.1
    cost_other: float = 0.5

    def __post_init__(self) -> None:
        super().__post_init__()
        check_probability("early", self.early)
        check_probability("cost_other", self.cost_other)

    def n_planted(self, horizon: int) -> int:
        """Return 2: the late bloomer, then the decoy."""
        del horizon
        return 2

    def chances(self, labels: Ints, horizon: int, seed: int) -> Chances:
        """Return the tables of the early and of the late phase; where both policies agree the action costs 1 early."""
        del seed
        m, rows = labels.shape[1], np.arange(labels.shape[1])
        early = np.full((m, self.n_actions), self.cost_other)
        late = np.full((m, self.n_actions), self.cost_wrong)
        early[rows, labels[1]] = 0.0
        early[rows, labels[0]] = 1.0
        late[rows, labels[0]] = self.cost_right
        return Steps(np.array([0, round(self.early * horizon)]), np.array([early, late]))
