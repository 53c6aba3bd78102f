"""Sufficient statistics of a log: one pass of constant memory is enough for a log of any size.

The value of a policy of tests of at most ``order`` columns at a time is a function of the sums over the rows by every
set of so many columns and every combination of their bins, the *cells*: two columns for trees of depth 2. With u = 1 /
propensity of the action and y the outcome, the sums of 1, u, u y, u^2, u^2 y and u^2 y^2 by action give the totals of
the scores "ips" and "snips", and of their squares and products, though the self-normalised means and the shares of a
randomised trial are known at the end of the pass only. Scores "dr", by models that were there before the pass, add up
as they are: they, and their products.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from math import prod
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from milpcb.types import Bools, Floats, Ints

Codes = npt.NDArray[np.int32]  # half the memory of other numbers
CHUNK = 2**15  # rows whose terms are made at a time


@dataclass(frozen=True)
class Grid:
    """The cells: every set of ``order`` columns, with every combination of their bins."""

    bins: tuple[int, ...]  # (d,) number of bins of each column
    order: int  # columns that a set holds; all of them where there are no more

    @cached_property
    def sets(self) -> tuple[tuple[int, ...], ...]:
        """The sets of columns, in lexicographic order."""
        return tuple(combinations(range(len(self.bins)), min(self.order, len(self.bins))))

    @cached_property
    def starts(self) -> tuple[int, ...]:
        """The number of the first cell of each set, and behind them the number of all cells."""
        sizes = [prod(self.bins[f] for f in columns) for columns in self.sets]
        return (0, *np.cumsum(sizes).tolist())

    @property
    def size(self) -> int:
        """The number of cells."""
        return self.starts[-1]


@dataclass(frozen=True, eq=False)
class Known:
    """Of n rows the action (n,), its outcome (n,) and propensity (n,)."""

    action: Ints
    outcome: Floats
    propensity: Floats
    regression: Any = None  # (n, K) for the method "dr", else None
    chances: Floats | None = None  # (n, K) propensities of all actions, None where they are not known
    barred: Bools | None = None  # (n, K) where the log has no rows of an action, None for nowhere

    def part(self, rows: Any) -> Known:
        """Return some of the rows."""
        parts: list[Any] = [None if column is None else column[rows] for column in vars(self).values()]
        return Known(*parts)

    def least(self, n_actions: int) -> Floats:
        """Return the least propensity (K,) of each action in the rows where it is known, infinite where in none."""
        if self.chances is not None:
            there = True if self.barred is None else ~self.barred
            return np.asarray(self.chances.min(axis=0, initial=np.inf, where=there))
        known = [self.propensity.min(where=self.action == k, initial=np.inf) for k in range(n_actions)]
        return np.array(known)


class Summed(NamedTuple):
    """The sums of scores over the rows of a log, less their base, which is the same in all rows."""

    cells: Floats  # (cells, 1 + K + K K) rows, residuals, and products of the residuals of two actions
    centre: Floats  # (K,) the base without treatment costs
    regression: Floats  # least and greatest (2, K) of the regression
    # counts, inverse, squares: (K,) rows in which each action was done, and there the sums of u and u^2
    counts: Floats
    inverse: Floats
    squares: Floats
    least: Floats  # (K,) the least propensity


@dataclass(eq=False)
class Statistics:
    """The sums over some rows of a log.

    Attributes
    ----------
    grid : the cells
    n_actions : K
    scored : whether scores are known row by row
    cells : (cells, K, 6) the sums of 1, u, u y, u^2, u^2 y and u^2 y^2 by cell and action; where rows are scored
        (cells, 1, 1 + K + K (K + 1) / 2 + K), the number of rows, the sums of scores and of the products of two, and
        the number of rows of each action
    outcomes : (K, 6) by action the sums of y and y^2, how many propensities were raised, rows, the sums of u and u^2
    ends : (3 K + 2,) minus the least propensity of each action, minus the least outcome, the greatest, minus the least
        regression of each action, and the greatest
    barred : (cells, 1, K) the number of rows of each cell in which the log has no rows of an action

    """

    grid: Grid
    n_actions: int
    scored: bool
    cells: Floats
    outcomes: Floats
    ends: Floats
    barred: Floats

    @classmethod
    def empty(cls, grid: Grid, K: int, *, scored: bool = False) -> Self:
        """Return those of no rows."""
        cells = np.zeros((grid.size, 1, 1 + 2 * K + K * (K + 1) // 2) if scored else (grid.size, K, 6))
        barred = np.zeros((grid.size, 1, K))
        return cls(grid, K, scored, cells, np.zeros((K, 6)), np.full(3 * K + 2, -np.inf), barred)

    def add_rows(self, codes: Codes, rows: Known, least: float) -> None:
        """Add rows, given their bins ``codes`` (d, n), int32; propensities are raised to ``least``."""
        inverse = 1.0 / np.maximum(rows.propensity, least)
        for start in range(0, len(inverse), CHUNK):
            part = slice(start, start + CHUNK)
            here, place = rows.part(part), np.ascontiguousarray(codes[:, part])
            once = np.zeros_like(here.action)
            terms = self._scores(here, inverse[part]) if self.scored else _moments(here, inverse[part])
            self._add_terms(place, once if self.scored else here.action, terms, self.cells)
            if here.barred is not None:
                self._add_terms(place, once, here.barred.astype(float), self.barred)
        self._add_overall(rows, inverse, least)

    def _scores(self, rows: Known, inverse: Floats) -> Floats:
        """Return 1, the scores, their products, and 1 for the action (n, 1 + K + K (K + 1) / 2 + K) of rows."""
        table, each = rows.regression.copy(), np.arange(len(inverse))
        table[each, rows.action] += inverse * (rows.outcome - table[each, rows.action])
        one, other = np.triu_indices(self.n_actions)
        done = np.eye(self.n_actions)[rows.action]
        return np.hstack([np.ones((len(table), 1)), table, table[:, one] * table[:, other], done])

    def _add_terms(self, codes: Codes, slot: Ints, terms: Floats, cells: Floats) -> None:
        from milpcb.offline.moments_kernel import add_terms  # with it numba, which who only predicts need not have

        sets = np.array(self.grid.sets, dtype=np.int64).reshape(-1, min(self.grid.order, len(self.grid.bins)))
        starts, bins = np.array(self.grid.starts, dtype=np.int64), np.array(self.grid.bins, dtype=np.int64)
        add_terms(sets, starts, bins, codes, slot, terms, cells)

    def _add_overall(self, rows: Known, inverse: Floats, least: float) -> None:
        y, columns = rows.outcome, [rows.outcome, rows.outcome**2, rows.propensity < least]
        ends: list[Any] = [-rows.least(self.n_actions), [-y.min(initial=np.inf), y.max(initial=-np.inf)]]
        if self.scored:
            table = rows.regression
            columns += [np.ones(len(table)), inverse, inverse**2]
            ends += [-table.min(axis=0, initial=np.inf), table.max(axis=0, initial=-np.inf)]
        for number, column in enumerate(columns):
            self.outcomes[:, number] += np.bincount(rows.action, column, self.n_actions)
        found = np.asarray(np.concatenate(ends))
        self.ends[: len(found)] = np.maximum(self.ends[: len(found)], found)

    def __len__(self) -> int:
        """Return the number of rows."""
        return int(self.counts.sum())

    @property
    def outcome_range(self) -> tuple[float, float]:
        """The least outcome, and the greatest."""
        return float(-self.ends[self.n_actions]), float(self.ends[self.n_actions + 1])

    @property
    def done(self) -> Floats:
        """The number of rows (cells, K) of each cell in which each action was done."""
        return self.cells[:, 0, -self.n_actions :] if self.scored else self.cells[..., 0]

    @property
    def counts(self) -> Floats:
        """The number of rows (K,) in which each action was done."""
        return self.outcomes[:, 3] if self.scored else np.asarray(self._totals[:, 0])

    @property
    def _totals(self) -> Floats:
        return np.asarray(self.cells[: self.grid.starts[1]].sum(axis=0))

    def summed(self, method: str, *, randomised: bool) -> Summed:
        """Return the sums of the scores; those of "ips" and "snips" in a ``randomised`` trial are by its shares."""
        return self._by_models() if self.scored else self._by_weights(method, randomised=randomised)

    def _by_weights(self, method: str, *, randomised: bool) -> Summed:
        totals, cells, n, K = self._totals, self.cells, len(self), self.n_actions
        counts, every, least = totals[:, 0], np.arange(K), -self.ends[:K]
        if randomised:
            least, scale = counts / n, np.stack([(n / counts) ** power for power in (0, 1, 1, 2, 2, 2)], axis=1)
            cells, totals = cells * scale, totals * scale
        centre = totals[:, 2] / totals[:, 1] if method == "snips" else np.zeros(K)
        _, u, uy, uu, uuy, uuyy = np.moveaxis(cells, -1, 0)
        products = np.zeros((len(cells), K, K))
        products[:, every, every] = uuyy - 2 * centre * uuy + centre**2 * uu
        summed = np.hstack([cells[..., 0].sum(axis=1)[:, None], uy - centre * u, products.reshape(len(cells), -1)])
        ends = np.stack([centre, centre])
        return Summed(summed, centre, ends, counts, totals[:, 1], totals[:, 3], least)

    def _by_models(self) -> Summed:
        K, cells, ends = self.n_actions, self.cells[:, 0], self.ends
        (one, other), products = np.triu_indices(K), np.empty((len(cells), K, K))
        products[:, one, other] = products[:, other, one] = cells[:, K + 1 : -K]
        counts, inverse, squares = self.outcomes.T[3:]
        summed = np.hstack([cells[:, : K + 1], products.reshape(len(cells), -1)])
        regression = np.stack([-ends[K + 2 : 2 * K + 2], ends[2 * K + 2 :]])
        return Summed(summed, np.zeros(K), regression, counts, inverse, squares, -ends[:K])


def _moments(rows: Known, inverse: Floats) -> Floats:
    """Return the terms 1, u, u y, u^2, u^2 y and u^2 y^2 (n, 6) of rows."""
    scored = inverse * rows.outcome
    return np.stack([np.ones_like(inverse), inverse, scored, inverse**2, inverse * scored, scored**2], axis=1)
