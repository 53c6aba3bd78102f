"""Tolerances and a-priori bounds of one query."""

from functools import cached_property

import numpy as np

from milpcb.types import PROVED, Floats

# Up to this sum of the sizes of integer costs solvers, which are off by about PROVED of it, separate integer totals.
LARGEST_WHOLE = 2e8
# How far solvers may be off where costs are whole: by more than elsewhere, as rounding fixes it.
_OFF = 1e-6
# The range of real costs counts at least this share of their size: sums of floats are rounded.
LEAST_RANGE = 1e-4


class Query:
    """The costs (g, K) of a query, with noise (n_columns,) on columns that are 0 or 1, or None.

    ``whole``: total costs are integers that solvers separate.
    """

    def __init__(self, costs: Floats, noise: Floats | None = None) -> None:
        self.costs, self.noise = costs, noise
        parts = [costs] if noise is None else [costs, noise]
        self.size = sum(float(np.abs(part).sum()) for part in parts)
        self.whole = self.size <= LARGEST_WHOLE and all(bool((part == np.rint(part)).all()) for part in parts)

    @cached_property
    def lowest(self) -> float:
        """A lower bound on all totals."""
        noise = 0.0 if self.noise is None else float(np.minimum(self.noise, 0.0).sum())
        return float(self.costs.min(axis=1).sum()) + noise

    @cached_property
    def highest(self) -> float:
        """An upper bound on all totals."""
        noise = 0.0 if self.noise is None else float(np.maximum(self.noise, 0.0).sum())
        return float(self.costs.max(axis=1).sum()) + noise

    @cached_property
    def tolerance(self) -> float:
        """The largest error of a solver's bounds; below 1/2 for integer totals, so that rounding finds them."""
        return min(0.25, _OFF * (1.0 + self.size)) if self.whole else PROVED * self._range

    @property
    def step(self) -> float:
        """A difference of totals that is larger than any tolerance, an integer if totals are."""
        return 1.0 if self.whole else self._range or self.size  # a share of the smallest numbers is 0

    @property
    def _range(self) -> float:
        return max(self.highest - self.lowest, LEAST_RANGE * self.size)
