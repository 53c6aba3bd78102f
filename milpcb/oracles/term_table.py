"""Running leaf totals: a query reads these alone, so its time does not depend on the number of contexts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any

import numpy as np

from milpcb.protocols import Table, Terms
from milpcb.term_search import held_places
from milpcb.types import Answer, Floats, Stop


class TermTable(Table):
    """The totals of ``terms``; noise has a coordinate for each of them.

    Costs of one more context change ``n_moved`` of them for each action. Nothing here depends on how many contexts
    there are.

    Parameters
    ----------
    terms : of the policy class
    context : returns the context (d,) of a row
    count : counts a question, given its start, and returns its seconds

    """

    def __init__(self, terms: Terms, context: Callable[[int], Floats], count: Callable[[float], float]) -> None:
        self._terms, self._context, self._count = terms, context, count
        self._totals = np.zeros(terms.n_terms)
        self.n_noisy, self.n_moved = terms.n_terms, float(terms.n_touched)
        self._place = held_places(terms, context)

    def add(self, row: int, action: int, amount: float) -> None:
        """Add to the terms that the context touches with the action."""
        self._totals[self._place(row)[:, action]] += amount

    def add_all(self, rows: Sequence[int], actions: Sequence[int], amounts: Sequence[float]) -> None:
        """Add to many cells, one after the other, without keeping their places."""
        contexts = np.array([self._context(row) for row in rows])
        self._terms.add(self._totals, contexts, np.array(actions), np.array(amounts))

    def profile(self, row: int, noise: Floats | None = None) -> Floats:
        """Return V[a] (K,)."""
        start = perf_counter()
        profile = self._terms.profile(self._noisy(noise), self._place(row))
        self._count(start)
        return profile

    def minimise(self, noise: Floats | None = None) -> Answer:
        """Return the least total and a policy that attains it."""
        start = perf_counter()
        value, policy = self._terms.minimise(self._noisy(noise))
        return Answer(value, value, policy, Stop.OPTIMAL, self._count(start))

    def action_weights(self, row: int, rate: float) -> Floats:
        """Return the Exp4 distribution (K,) over the derivations."""
        start = perf_counter()
        logs = self._terms.log_weights(self._totals, self._place(row), rate)
        weights = np.exp(logs - logs.max())
        self._count(start)
        return np.asarray(weights / weights.sum())

    def state(self) -> Any:
        """Return the totals."""
        return self._totals.tolist()

    def restore(self, state: Any) -> None:
        """Go on from saved totals."""
        self._totals[:] = state

    def _noisy(self, noise: Floats | None) -> Floats:
        return self._totals if noise is None else self._totals + noise
