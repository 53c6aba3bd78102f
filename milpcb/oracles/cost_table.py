"""Running totals by context and action, for any oracle; noise is on contexts that not all policies label alike."""

from __future__ import annotations

from typing import Any

import numpy as np

from milpcb.protocols import ValueOracle
from milpcb.protocols.tables import Table
from milpcb.types import Answer, Floats, Ints


class CostTable(Table):
    """The matrix (m, K) of total costs, handed to the oracle with every question.

    Noise is (d, K), flattened: a number for each action on each of the ``d`` contexts ``noisy``, rows of which no two
    are alike to all policies. A cost at any row moves a policy's total as a cost at the row of ``noisy`` that is like
    it, so ``n_moved`` is 1. A round costs as much as writing and reading the whole matrix a few times.
    """

    n_moved = 1.0

    def __init__(self, oracle: ValueOracle, noisy: Ints) -> None:
        self._oracle = oracle
        self._noisy = noisy
        self._totals = np.zeros((oracle.n_contexts, oracle.n_actions))
        self.n_noisy = len(noisy) * oracle.n_actions

    def add(self, row: int, action: int, amount: float) -> None:
        """Add to the cost of an action at a context."""
        self._grow()
        self._totals[row, action] += amount

    def profile(self, row: int, noise: Floats | None = None) -> Floats:
        """Return the oracle's profile (K,)."""
        return self._oracle.profile(self._perturbed(noise), row)

    def minimise(self, noise: Floats | None = None) -> Answer:
        """Return the oracle's answer."""
        return self._oracle.minimise(self._perturbed(noise))

    def action_weights(self, row: int, rate: float) -> Floats:
        """Return the oracle's action weights (K,)."""
        return self._oracle.action_weights(self._perturbed(None), row, rate)

    def state(self) -> Any:
        """Return the matrix."""
        return self._totals.tolist()

    def restore(self, state: Any) -> None:
        """Go on from a saved matrix."""
        self._grow()
        self._totals[: len(state)] = state

    def _grow(self) -> None:
        """Make room for the contexts that the oracle has taken in meanwhile."""
        new = self._oracle.n_contexts - len(self._totals)
        if new:
            self._totals = np.pad(self._totals, ((0, new), (0, 0)))

    def _perturbed(self, noise: Floats | None) -> Floats:
        self._grow()
        if noise is None:
            return self._totals
        by_context = noise.reshape(len(self._noisy), -1)
        if len(self._noisy) == len(self._totals):
            return np.asarray(self._totals + by_context)
        costs = self._totals.copy()
        costs[self._noisy] += by_context
        return costs
