"""The exact search of linear rules by support tables, for any number of actions, from costs by context; see fold.py."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from milpcb.protocols import Search, SideConstraint
from milpcb.types import Floats, Ints
from policies.linear.fold import Prices, TableFold, prices_of, side_of
from policies.linear.geometry import ScoringRule
from policies.linear.supports import Supports


class TableSearch(Search):
    """The prices of the labels on every support, then the least of the rows of the tables."""

    def __init__(self, supports: Supports, rows: Sequence[SideConstraint] = ()) -> None:
        """Take the supports and the side constraints ``rows``."""
        self._supports, self._contexts, self._rows = supports, supports.scored.contexts, tuple(rows)
        self._fold = TableFold(supports, [side_of(supports, row) for row in rows])

    def describe(self) -> str:
        """Name the search, and the sizes that it was chosen for."""
        limit, batches = self._supports.scored.limit, self._supports.batches
        rows = " or ".join(str(n) for n in sorted({len(batch.table.labels) for batch in batches}))
        n_supports = sum(len(batch.supports) for batch in batches)
        return f"support tables: {n_supports} supports of {limit} features, {rows} rows each, those of low bounds first"

    def value(self, costs: Floats) -> float:
        """Return the least total cost."""
        return self._fold.value(self._prices(costs)) + float(costs[:, 0].sum())

    def minimise(self, costs: Floats) -> tuple[float, ScoringRule]:
        """Return the least total cost and a rule that attains it: of equals, one whose support has the lowest bound."""
        _, batch, columns, row = self._fold.least(self._prices(costs))
        rule = self._supports.rule(batch, columns, row)
        return float(costs[np.arange(len(costs)), rule.predict(self._contexts)].sum()), rule

    def profile(self, costs: Floats, row: int) -> Floats:
        """Return V[a]: the rows of the tables by their label at the pattern of ``row``."""
        return self._fold.profile(self._prices(costs), self._patterns(row)) + float(costs[:, 0].sum())

    def log_weights(self, costs: Floats, row: int, rate: float) -> Floats:
        """Return the log of the summed weights of all derivations, by the action at ``row``."""
        logs = self._fold.log_weights(self._prices(costs), self._patterns(row), rate)
        return logs - rate * float(costs[:, 0].sum())

    def under(self, rows: Sequence[SideConstraint]) -> TableSearch:
        """Return the search over the rows of the tables that keep all side constraints ``rows`` as well."""
        return TableSearch(self._supports, (*self._rows, *rows))

    def _prices(self, costs: Floats) -> list[Prices]:
        return prices_of(self._supports, costs)

    def _patterns(self, row: int) -> list[Ints]:
        return [self._supports.patterns_at(batch, row) for batch in self._supports.batches]
