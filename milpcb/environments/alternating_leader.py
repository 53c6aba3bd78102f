"""Alternating leader: two policies take turns, each wrong as soon as it leads."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from milpcb.core.checks import whole
from milpcb.environments.chances import Chances, Labelled, Phases
from milpcb.environments.planted import Planted
from milpcb.types import Ints


@dataclass(frozen=True)
class AlternatingLeader(Planted):
    """The policy that has paid least so far is about to be wrong, over and over.

    Breaks follow-the-leader and every learner that is sure of the leader: the lead changes hands in the middle of each
    turn. Two policies are planted; the first is right for half a turn, then each for a whole turn.

    Parameters
    ----------
    n_actions, n_contexts, n_features, cost_right, cost_wrong : as in ``Planted``
    n_turns : whole turns in a run, >= 1

    Raises
    ------
    InputError (a setting out of range)

    """

    n_turns: int = 20

    def __post_init__(self) -> None:
        super().__post_init__()
        whole("n_turns", self.n_turns, 1)

    def starts(self, horizon: int) -> Ints:
        """Return the round at which each turn starts; the first lasts half as long as the others."""
        odd = 2 * np.arange(self.n_turns, dtype=np.int64) + 1  # turn i starts after (2 i + 1) / (2 n + 1) of all rounds
        return np.array([0, *-(-odd * horizon // (2 * self.n_turns + 1))], dtype=np.int64)

    def n_planted(self, horizon: int) -> int:
        """Return 2."""
        del horizon
        return 2

    def chances(self, labels: Ints, horizon: int, seed: int) -> Chances:
        """Return the two policies in turn."""
        del seed
        starts = self.starts(horizon)
        in_turn = labels[np.arange(len(starts)) % 2]
        return Labelled(Phases(starts, in_turn), self.n_actions, self.cost_right, self.cost_wrong)
