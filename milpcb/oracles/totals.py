"""Running totals that oracles keep: by context and action, or by leaf total."""

from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any

import numpy as np

from milpcb.protocols import Table, Terms, ValueOracle
from milpcb.types import Answer, Floats, Ints, Stop


class CostTable(Table):
    """The matrix (m, K) of total costs, handed to the oracle with every query.

    Noise is (d, K), flattened: a number for each action on each of the ``d`` rows ``noisy``, of which no two are alike
    to all policies. A cost moves a policy's total as one at the row of ``noisy`` that is like it, so ``n_moved`` is 1.
    """

    n_moved = 1.0

    def __init__(self, oracle: ValueOracle, noisy: Ints) -> None:
        self._oracle, self._noisy = oracle, noisy
        self.totals = np.zeros((oracle.n_contexts, oracle.n_actions))
        self.n_noisy = len(noisy) * oracle.n_actions

    def cell(self, row: int, action: int) -> tuple[int, int]:
        self._grow()
        return row, action

    def profile(self, row: int, noise: Floats | None = None) -> Floats:
        return self._oracle.profile(self._perturbed(noise), row)

    def minimise(self, noise: Floats | None = None) -> Answer:
        return self._oracle.minimise(self._perturbed(noise))

    def action_weights(self, row: int, rate: float) -> Floats:
        return self._oracle.action_weights(self._perturbed(None), row, rate)

    def restore(self, state: Any) -> None:
        """Go on from a saved matrix, perhaps of fewer contexts."""
        self._grow()
        self.totals[: len(state)] = state

    def _grow(self) -> None:
        """Make room for the contexts that the oracle has taken in meanwhile."""
        new = self._oracle.n_contexts - len(self.totals)
        if new:
            self.totals = np.pad(self.totals, ((0, new), (0, 0)))

    def _perturbed(self, noise: Floats | None) -> Floats:
        self._grow()
        if noise is None:
            return self.totals
        by_context = noise.reshape(len(self._noisy), -1)
        if len(self._noisy) == len(self.totals):
            return np.asarray(self.totals + by_context)
        costs = self.totals.copy()
        costs[self._noisy] += by_context
        return costs


class TermTable(Table):
    """The totals of the ``terms`` of a class; ``asked`` returns those whose recursion is asked, under constraints."""

    def __init__(self, terms: Terms, oracle: Any, asked: Callable[[], Terms] | None = None) -> None:
        self._terms, self._context, self._count, self._asked = terms, oracle.context, oracle.count, asked
        self.totals = np.zeros(terms.n_terms)
        self.n_noisy, self.n_moved = terms.n_terms, float(terms.n_touched)
        self._place = terms.held_places(oracle.context)

    def cell(self, row: int, action: int) -> Ints:
        return self._place(row)[:, action]

    def add_all(self, rows: Sequence[int], actions: Sequence[int], amounts: Sequence[float]) -> None:
        """Add to many cells, one after the other, without keeping their places."""
        contexts = np.array([self._context(row) for row in rows])
        self._terms.add(self.totals, contexts, np.array(actions), np.array(amounts))

    def _recursion(self) -> Terms:
        return self._terms if self._asked is None else self._asked()

    def profile(self, row: int, noise: Floats | None = None) -> Floats:
        start = perf_counter()
        profile = self._recursion().profile(self._noisy(noise), self._place(row))
        self._count(start)
        return profile

    def minimise(self, noise: Floats | None = None) -> Answer:
        start = perf_counter()
        value, policy = self._recursion().minimise(self._noisy(noise))
        return Answer(value, value, policy, Stop.OPTIMAL, self._count(start))

    def action_weights(self, row: int, rate: float) -> Floats:
        start = perf_counter()
        weights = normalised(self._recursion().log_weights(self.totals, self._place(row), rate))
        self._count(start)
        return weights

    def _noisy(self, noise: Floats | None) -> Floats:
        return self.totals if noise is None else self.totals + noise


def normalised(logs: Floats) -> Floats:
    """Return the probabilities (K,) whose logs are these up to a constant."""
    weights = np.exp(logs - logs.max())
    return np.asarray(weights / weights.sum())
