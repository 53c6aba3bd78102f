"""The terms of threshold rules: (feature, bin, action); a piece of a rule is a run of bins of one feature.

The program has a column for each piece, the sum of its bins, so noise on its columns is not noise on these terms.
"""

from __future__ import annotations

import numpy as np

from milpcb.protocols.tables import Terms
from milpcb.types import Floats, Ints
from policies.names import Names
from policies.thresholds.fold import ThresholdFold
from policies.thresholds.rule import ThresholdRule


class ThresholdTerms(Terms):
    """The bins between the cut points, a feature after the other, from low to high, each with every action."""

    def __init__(
        self, cuts: dict[int, Floats], binary: dict[int, bool], n_actions: int, max_cuts: int, names: Names
    ) -> None:
        self.n_actions = n_actions
        self._fold = ThresholdFold(cuts, binary, n_actions, max_cuts, names)
        self._cuts = cuts
        sizes = np.array([len(points) + 1 for points in cuts.values()])
        self._first = np.cumsum([0, *sizes[:-1]])
        self._real = np.arange(self._fold.width) < sizes[:, None]
        self.n_features = 1 + max(cuts)
        self.n_touched = len(cuts)
        self.n_terms = int(sizes.sum()) * n_actions

    def places(self, contexts: Floats) -> list[Ints]:
        """Return the bin of each feature."""
        bins = np.column_stack([np.searchsorted(points, contexts[:, f]) for f, points in self._cuts.items()])
        return list(((self._first + bins) * self.n_actions)[:, :, None] + np.arange(self.n_actions))

    def profile(self, totals: Floats, place: Ints) -> Floats:
        """Return (K,): the least total of the rules by the action at ``place``."""
        return self._fold.profile(self._padded(totals), self._bins(place))

    def minimise(self, totals: Floats) -> tuple[float, ThresholdRule]:
        """Return the least total and a rule that attains it."""
        return self._fold.minimise(self._padded(totals))

    def log_weights(self, totals: Floats, place: Ints, rate: float) -> Floats:
        """Return (K,): log of the summed exp(-rate * total) of the derivations by the action at ``place``."""
        return self._fold.log_weights(-rate * self._padded(totals), self._bins(place))

    def _padded(self, totals: Floats) -> Floats:
        table = np.zeros((*self._real.shape, self.n_actions))
        table[self._real] = totals.reshape(-1, self.n_actions)
        return table

    def _bins(self, place: Ints) -> Ints:
        return np.asarray(place[:, 0] // self.n_actions - self._first)
