"""A search over leaf totals: a query adds them up, then runs the recursion of the policy class on them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np

from milpcb.protocols import Policy, Search, Terms
from milpcb.types import Floats, Ints

# Numbers of places that are kept, 80 MB; places of other rows are computed again.
MOST_HELD = 10**7


def held_places(terms: Terms, context: Callable[[int], Floats]) -> Callable[[int], Ints]:
    """Return the place of a row as a function that keeps its last answers; ``context`` returns the context of a row."""
    most = max(1, MOST_HELD // (terms.n_touched * terms.n_actions))
    return lru_cache(most)(lambda row: terms.places(context(row)[None])[0])


class TermSearch(Search):
    """Exact answers from the recursion over the totals of ``terms``, of costs (m, K) at ``contexts`` (m, d)."""

    def __init__(self, terms: Terms, contexts: Floats) -> None:
        self._terms = terms
        self._add_up = terms.adder(contexts)
        self._place = held_places(terms, contexts.__getitem__)

    def value(self, costs: Floats) -> float:
        """Return the least total cost."""
        return self._terms.value(self._add_up(costs))

    def minimise(self, costs: Floats) -> tuple[float, Policy]:
        """Return the least total cost and a policy that attains it."""
        return self._terms.minimise(self._add_up(costs))

    def profile(self, costs: Floats, row: int) -> Floats:
        """Return (K,): the least total cost by the action at ``row``."""
        return self._terms.profile(self._add_up(costs), self._place(row))

    def profiles(self, costs: Floats, rows: Sequence[int]) -> Floats:
        """Return (n, K): the profiles at some rows, of totals that are added up once."""
        totals = self._add_up(costs)
        return np.array([self._terms.profile(totals, self._place(row)) for row in rows])

    def log_weights(self, costs: Floats, row: int, rate: float) -> Floats:
        """Return (K,): log of the summed exp(-rate * total cost) of the derivations by the action at ``row``."""
        return self._terms.log_weights(self._add_up(costs), self._place(row), rate)
