"""Exact search for threshold rules: the totals of all bins, then the dynamic program over them (fold.py)."""

from __future__ import annotations

import numpy as np

from milpcb.protocols import Search
from milpcb.types import Floats
from policies.names import Names
from policies.thresholds.fold import ThresholdFold
from policies.thresholds.geometry import Bins
from policies.thresholds.rule import ThresholdRule

DENSE = 2**22  # entries (feature, bin, context): up to here the totals of bins are one product of matrices


class ThresholdSearch(Search):
    """The fold on fixed contexts, whose bins are known."""

    def __init__(self, bins: Bins, n_actions: int, max_cuts: int, names: Names) -> None:
        self._fold = ThresholdFold(bins.cuts, bins.binary, n_actions, max_cuts, names)
        self._bins = bins.bins
        self._member: Floats | None = None
        if self._bins.size * self._fold.width <= DENSE:
            every = np.arange(self._fold.width)[None, :, None]
            self._member = (self._bins.T[:, None, :] == every).astype(float)

    def value(self, costs: Floats) -> float:
        """Return the least total cost."""
        return self._fold.value(self._totals(costs))

    def minimise(self, costs: Floats) -> tuple[float, ThresholdRule]:
        """Return the least total cost and a rule that attains it."""
        return self._fold.minimise(self._totals(costs))

    def profile(self, costs: Floats, row: int) -> Floats:
        """Return (K,): the least total cost by the action at ``row``."""
        return self._fold.profile(self._totals(costs), self._bins[row])

    def log_weights(self, costs: Floats, row: int, rate: float) -> Floats:
        """Return (K,): log of the summed exp(-rate * total cost) of the derivations by the action at ``row``."""
        return self._fold.log_weights(-rate * self._totals(costs), self._bins[row])

    def _totals(self, costs: Floats) -> Floats:
        """Return (features, width, K): the total cost of each action in each bin."""
        if self._member is not None:
            return np.asarray(self._member @ costs)
        width = self._fold.width
        totals = [[np.bincount(bins, column, width) for column in costs.T] for bins in self._bins.T]
        return np.array(totals).transpose(0, 2, 1)
