"""Sums of the scores of a doubly robust method, whose models were there before the pass: see milpcb.offline.moments.

With models from a sample the score of every action is known as soon as a row is read. What adds up are 1, the K scores
and the K (K + 1) / 2 products of two of them, by cell; and by what was done whatever diagnostics need.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from milpcb.offline.moments import Codes, Grid, Known, Moments
from milpcb.types import Floats, Ints

BY_ACTION = 8


@dataclass(eq=False)
class ScoredMoments(Moments):
    """The sums of scores and of their products.

    Attributes
    ----------
    cells : (cells, 1, 1 + K + K (K + 1) / 2 + K) the number of rows, the sums of scores, and of the products of two
        scores, and the number of rows in which each action was done
    outcomes : (K, 8) by what was done the sums of y and y^2, how many propensities were raised, rows, the sums of u,
        u^2 and (y - m)^2; in the last column, by action, the sums of the regression m over all rows
    ends : (3 K + 2,) as in Moments, then minus the least regression of each action, and the greatest

    """

    @classmethod
    def empty(cls, grid: Grid, n_actions: int) -> Self:
        """Return those of no rows."""
        cells = np.zeros((grid.size, 1, 1 + 2 * n_actions + n_actions * (n_actions + 1) // 2))
        ends, barred = np.full(3 * n_actions + 2, -np.inf), np.zeros((grid.size, 1, n_actions))
        return cls(grid, n_actions, cells, np.zeros((n_actions, BY_ACTION)), ends, barred)

    @property
    def pairs(self) -> tuple[Ints, Ints]:
        """The two actions of each product, in the order in which they are kept."""
        one, other = np.triu_indices(self.n_actions)
        return one, other

    def _terms(self, rows: Known, inverse: Floats) -> Floats:
        """Return 1, the scores, their products, and 1 for what was done (n, 1 + K + K (K + 1) / 2 + K) of rows."""
        table, each = _regression(rows).copy(), np.arange(len(inverse))
        table[each, rows.action] += inverse * (rows.outcome - table[each, rows.action])
        one, other = self.pairs
        done = np.eye(self.n_actions)[rows.action]
        return np.hstack([np.ones((len(table), 1)), table, table[:, one] * table[:, other], done])

    def _add_terms(self, codes: Codes, slot: Ints, terms: Floats, cells: Floats) -> None:
        super()._add_terms(codes, np.zeros_like(slot), terms, cells)

    @property
    def done(self) -> Floats:
        """The number of rows (cells, K) of each cell in which each action was done."""
        return self.cells[:, 0, -self.n_actions :]

    def _add_overall(self, rows: Known, least: float) -> None:
        super()._add_overall(rows, least)
        inverse, table = 1.0 / np.maximum(rows.propensity, least), _regression(rows)
        missed = rows.outcome - table[np.arange(len(table)), rows.action]
        for column, number in enumerate((np.ones(len(table)), inverse, inverse**2, missed**2), 3):
            self.outcomes[:, column] += np.bincount(rows.action, number, self.n_actions)
        self.outcomes[:, -1] += table.sum(axis=0)
        ends = np.concatenate([-table.min(axis=0, initial=np.inf), table.max(axis=0, initial=-np.inf)])
        own = self.ends[self.n_actions + 2 :]
        own[:] = np.maximum(own, ends)

    @property
    def totals(self) -> Floats:
        """The sums (K, 4) over the rows in which each action was done: of 1, u, u^2, and (y - m)^2."""
        return self.outcomes[:, 3:7]


def _regression(rows: Known) -> Floats:
    if rows.regression is None:
        raise TypeError(rows.regression)
    return rows.regression
