"""Parity: the right action is an exclusive-or of two features."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from milpcb.core.checks import whole
from milpcb.environments.chances import Chances, Labelled, Phases
from milpcb.environments.planted import Planted
from milpcb.rng import child
from milpcb.types import Floats, Ints


@dataclass(frozen=True)
class Parity(Planted):
    """The right action depends on two features together; either of them alone is no help.

    Breaks linear models and greedy trees, which see no signal in any single feature: over the pool each of the four
    values of the two features is equally frequent (up to one row). A depth-2 tree has no regret; the class need not
    hold that policy, then the best it can do is to guess. Nothing is planted.

    Parameters
    ----------
    n_actions, n_contexts, cost_right, cost_wrong : as in ``Planted``; actions beyond the first two are always wrong
    n_features : columns of the pool, >= 2; which two of them matter depends on the seed

    """

    n_actions: int = 2
    n_features: int = 8

    def __post_init__(self) -> None:
        super().__post_init__()
        whole("n_features", self.n_features, 2)

    def n_planted(self, horizon: int) -> int:
        """Return 0."""
        del horizon
        return 0

    def contexts(self, seed: int) -> Floats:
        """Return random 0/1 rows whose two columns that matter take all four values in turn."""
        rows = super().contexts(seed).copy()
        corners = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], dtype=np.float64)
        rows[:, self._pair(seed)] = corners[np.arange(self.n_contexts) % 4]
        rows.setflags(write=False)
        return rows

    def chances(self, labels: Ints, horizon: int, seed: int) -> Chances:
        """Return action x_i xor x_j as the right one."""
        del labels, horizon
        one, other = self.contexts(seed)[:, self._pair(seed)].astype(np.int64).T
        right = Phases(np.zeros(1, dtype=np.int64), (one ^ other)[None, :])
        return Labelled(right, self.n_actions, self.cost_right, self.cost_wrong)

    def _pair(self, seed: int) -> Ints:
        return child(seed, "environment", "pair").permutation(self.n_features)[:2]
