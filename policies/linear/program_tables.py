"""Linear rules as a choice of a support and a row of its table; supports.py defines both.

Policy class
    That of program_bigm.py, where the rows of all tables are few.
Variables
    pick[c] in {0, 1}: the rule is number c of all (support, row)
Constraints
    (1)  sum_c pick[c] = 1
    The polytope is a simplex: integral.
Cost map
    pick[c] costs what its row costs more than action 0 everywhere, which is the offset; linear in the costs, with side
    constraints too.
Size
    One column for each (support, row), one row.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from milpcb.protocols import Objective
from milpcb.types import Floats, Ints
from policies.linear.geometry import ScoringRule
from policies.linear.supports import Batch, Supports
from policies.one_hot import OneHotEncoding

# HiGHS takes 0.1 s a query at the most, where big-M rows take seconds or more; for so few contexts that big-M rows are
# quick, the break-even is at about so many columns for each of them.
MOST_COLUMNS = 200_000
COLUMNS_PER_CONTEXT = 4_000


def too_many_rows(supports: Supports) -> str:
    """Return what makes the supports too large for a program and what would fix it, or nothing when they are not."""
    most = most_columns(supports)
    if supports.n_rows > most:
        return f"support tables have {supports.n_rows} rows, more than {most}: lower max_features"
    return ""


def most_columns(supports: Supports) -> int:
    """Return how many columns the program may have."""
    return min(MOST_COLUMNS, COLUMNS_PER_CONTEXT * len(supports.scored.contexts))


class TableEncoding(OneHotEncoding):
    """The simplex over (support, row) and its cost map."""

    def __init__(self, supports: Supports) -> None:
        super().__init__(pick=(supports.n_rows,))
        self._supports = supports
        self.why = f"support tables, as they have {supports.n_rows} rows, no more than {most_columns(supports)}"

    def objective(self, costs: Floats) -> Objective:
        """Return what each row costs more than action 0 everywhere, which is the offset."""
        above = (costs[:, 1:] - costs[:, :1]).T
        prices = [
            self._prices(batch, cells, above) for batch, cells in zip(self._supports.batches, self._cells, strict=True)
        ]
        return Objective(np.concatenate(prices), float(costs[:, 0].sum()))

    @cached_property
    def _cells(self) -> list[Ints]:
        """The cell (g, n) of each context on each support of a batch, out of all of its patterns."""
        return [
            np.array([self._supports.patterns_at(batch, j) for j in range(len(self._supports.scored.contexts))])
            + len(batch.places) * np.arange(len(batch.supports))
            for batch in self._supports.batches
        ]

    @staticmethod
    def _prices(batch: Batch, cells: Ints, above: Floats) -> Floats:
        """Return what the rows of a batch cost (n N,); sums are those of the definition, unlike those of the search."""
        n, n_patterns = len(batch.supports), len(batch.places)
        each = [
            np.bincount(cells.ravel(), np.repeat(action, n), n * n_patterns).reshape(n, n_patterns) for action in above
        ]
        return (np.hstack(each) @ batch.table.plays).ravel()

    def policy(self, number: int, costs: Floats) -> ScoringRule:  # noqa: ARG002 - the column alone determines the rule
        """Return the rule of the column at 1."""
        column = number
        for batch in self._supports.batches:
            support, row = divmod(column, len(batch.table.labels))
            if support < len(batch.supports):
                break
            column -= len(batch.supports) * len(batch.table.labels)
        return self._supports.rule(batch, batch.supports[support], row)
