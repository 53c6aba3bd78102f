"""Exact search for threshold rules: the totals of all bins, then the dynamic programme over them (fold.py)."""

from __future__ import annotations

import numpy as np

from milpcb.protocols import Search
from milpcb.types import Floats
from policies.names import Names
from policies.thresholds.fold import ThresholdFold
from policies.thresholds.geometry import Bins
from policies.thresholds.rule import ThresholdRule


class ThresholdSearch(Search):
    """The fold on fixed contexts, whose bins are known."""

    def __init__(self, bins: Bins, n_actions: int, max_cuts: int, names: Names) -> None:
        self._fold = ThresholdFold(bins.cuts, bins.binary, n_actions, max_cuts, names)
        self._bins = bins.bins
        every = np.arange(self._fold.width)[None, :, None]
        self._member: Floats = (self._bins.T[:, None, :] == every).astype(float)

    def value(self, costs: Floats) -> float:
        """Return the least total cost."""
        return self._fold.value(self._member @ costs)

    def minimise(self, costs: Floats) -> tuple[float, ThresholdRule]:
        """Return the least total cost and a rule that attains it."""
        return self._fold.minimise(self._member @ costs)

    def profile(self, costs: Floats, row: int) -> Floats:
        """Return (K,): the least total cost by the action at ``row``."""
        return self._fold.profile(self._member @ costs, self._bins[row])

    def log_weights(self, costs: Floats, row: int, rate: float) -> Floats:
        """Return (K,): log of the summed exp(-rate * total cost) of the derivations by the action at ``row``."""
        return self._fold.log_weights(-rate * (self._member @ costs), self._bins[row])
