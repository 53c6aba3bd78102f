"""The exact recursion of scoring rules over support tables (fold.py), of costs by context or of leaf totals.

Leaf totals are (support, action, pattern). A context touches one pattern of each support, so a round with totals that
are kept costs as many additions as there are supports, whatever the number of contexts. Costs by context need no
totals of action 0, and are not refused where totals would be too many to keep.

The program has a column for each row of the tables, so noise on its columns is not noise on these terms.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from milpcb.protocols import Search, SideConstraint, Terms
from milpcb.types import Floats, Ints
from policies.linear.fold import Prices, TableRecursion, prices_of
from policies.linear.supports import Supports


class TableSearch(TableRecursion[int], Search):
    """The search from costs by context."""

    def describe(self) -> str:
        """Name the search, and the sizes that it was chosen for."""
        limit, batches = self._supports.scored.limit, self._supports.batches
        rows = " or ".join(str(n) for n in sorted({len(batch.table.labels) for batch in batches}))
        n_supports = sum(len(batch.supports) for batch in batches)
        return f"support tables: {n_supports} supports of {limit} features, {rows} rows each, those of low bounds first"

    def _prices(self, totals: Floats) -> list[Prices]:
        return prices_of(self._supports, totals)

    def _patterns(self, place: int) -> list[Ints]:
        return [self._supports.patterns_at(batch, place) for batch in self._supports.batches]


class TableTerms(TableRecursion[Ints], Terms):
    """Of each batch of supports the totals (K, P, n), a batch after the other.

    Contexts are those that the class was opened on, or such as have known values in each column. Under ``rows``, side
    constraints, only the rows of the tables count that keep them.
    """

    def __init__(self, supports: Supports, rows: Sequence[SideConstraint] = ()) -> None:
        self.n_actions, self.n_features = supports.scored.n_cuts + 1, supports.scored.contexts.shape[1]
        self.n_touched = sum(len(batch.supports) for batch in supports.batches)
        self._first = np.cumsum([0, *(self.n_actions * batch.places.size for batch in supports.batches)])
        self.n_terms = int(self._first[-1])
        super().__init__(supports, rows)

    @property
    def log_derivations(self) -> float:
        """Natural log of the number of rows."""
        return super().log_derivations if self._rows else float(np.log(self._supports.n_rows))

    def places(self, contexts: Floats) -> list[Ints]:
        """Return the pattern of each context on every support."""
        return [self._place(codes) for codes in self._supports.codes_of(contexts)]

    def adder(self, contexts: Floats) -> Callable[[Floats], Floats]:
        """Return a function that adds costs up by support and pattern; of the known contexts, as the search does."""
        if len(contexts) != len(self._supports.scored.contexts) or (contexts != self._supports.scored.contexts).any():
            return super().adder(contexts)

        def add_up(costs: Floats) -> Floats:
            return np.concatenate([each.ravel() for each in self._supports.prices(costs)])

        return add_up

    def _prices(self, totals: Floats) -> list[Prices]:
        found = []
        for batch, start, stop in zip(self._supports.batches, self._first[:-1], self._first[1:], strict=True):
            by_action = totals[start:stop].reshape(self.n_actions, *batch.places.shape)
            found.append(Prices(by_action[0].sum(axis=0), by_action[1:] - by_action[0]))
        return found

    def _patterns(self, place: Ints) -> list[Ints]:
        ends = np.cumsum([len(batch.supports) for batch in self._supports.batches])[:-1]
        found = zip(np.split(place[:, 0], ends), self._first[:-1], self._supports.batches, strict=True)
        return [(terms - start) // len(batch.supports) for terms, start, batch in found]

    def _place(self, codes: Ints) -> Ints:
        """Return the terms (S, K) of a context with these codes."""
        found = []
        for batch, start in zip(self._supports.batches, self._first[:-1], strict=True):
            n_patterns, n = batch.places.shape
            cell = self._supports.patterns_of(batch, codes) * n + np.arange(n)
            found.append(start + cell[:, None] + n_patterns * n * np.arange(self.n_actions))
        return np.concatenate(found)
