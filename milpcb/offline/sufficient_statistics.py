"""Sums over the rows of a log, so that one pass of constant memory is enough for a log of any size.

A policy that is put together of tests of at most ``order`` columns at a time needs of the rows no more than their sums
by every set of so many columns and every combination of their bins, the *cells*: two columns for trees of depth 2. With
u = 1 / propensity of what was done and y its outcome, the sums of 1, u, u y, u^2, u^2 y and u^2 y^2 by what was done
give the totals of the scores "ips" and "snips" of every action, and of their squares and products, though the
self-normalised means and the shares of a randomised trial are known at the end of the pass only. Scores "dr", by models
that were there before the pass (milpcb.offline.nuisances), add up as they are: they, and their products.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from math import prod
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from milpcb.types import Bools, Floats, Ints

Codes = npt.NDArray[np.int32]  # half the memory of other numbers
CHUNK = 2**15  # rows whose terms are made at a time
TERMS = 6  # the sums of a cell and an action: of 1, u, u y, u^2, u^2 y, u^2 y^2


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
    """Of n rows what was done (n,), its outcome (n,) and propensity (n,)."""

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


@dataclass(frozen=True, eq=False)
class Summed:
    """The sums of scores over the rows of a log, less what is the same in all rows, and what is known of actions."""

    cells: Floats  # (cells, 1 + K + K K) rows, residuals, and products of the residuals of two actions
    centre: Floats  # (K,) the base without treatment costs
    modelled: Floats  # (K,) the mean of the regression
    regression: Floats  # least and greatest (2, K) of the regression
    # counts, inverse, squares: (K,) rows in which each action was done, and there the sums of u and u^2
    counts: Floats
    inverse: Floats
    squares: Floats
    least: Floats  # (K,) the least propensity
    r2: Floats  # (K,) share of the variance that the regression explains, NaN without one and where nothing varies


@dataclass(eq=False)
class Statistics:
    """The sums over some rows of a log."""

    grid: Grid  # the cells
    n_actions: int  # K
    cells: Floats  # (cells, K, 6) sums of the terms over the rows of each cell in which each action was done
    outcomes: Floats  # (K, 3) by action, the sums of y and y^2, and how many propensities were raised
    # (K + 2,) minus the least propensity of each action, then minus the least outcome and the greatest; of these the
    # greatest of two parts is that of both
    ends: Floats
    barred: Floats  # (cells, 1, K) the number of rows of each cell in which the log has no rows of an action

    @classmethod
    def empty(cls, grid: Grid, n_actions: int) -> Self:
        """Return those of no rows."""
        cells = np.zeros((grid.size, n_actions, TERMS))
        barred = np.zeros((grid.size, 1, n_actions))
        return cls(grid, n_actions, cells, np.zeros((n_actions, 3)), np.full(n_actions + 2, -np.inf), barred)

    def add_rows(self, codes: Codes, rows: Known, least: float) -> None:
        """Add rows, given their bins ``codes`` (d, n), int32; propensities are raised to ``least``."""
        raised = np.maximum(rows.propensity, least)
        for start in range(0, len(raised), CHUNK):
            part = slice(start, start + CHUNK)
            here, place = rows.part(part), np.ascontiguousarray(codes[:, part])
            self._add_terms(place, here.action, self._terms(here, 1.0 / raised[part]), self.cells)
            if here.barred is not None:
                self._add_terms(place, np.zeros_like(here.action), here.barred.astype(float), self.barred)
        self._add_overall(rows, least)

    def _terms(self, rows: Known, inverse: Floats) -> Floats:
        """Return the terms (n, 6) of rows."""
        terms = np.empty((len(inverse), TERMS))
        scored = inverse * rows.outcome
        terms[:, 0], terms[:, 1], terms[:, 2] = 1.0, inverse, scored
        terms[:, 3], terms[:, 4], terms[:, 5] = inverse * inverse, inverse * scored, scored * scored
        return terms

    def _add_terms(self, codes: Codes, slot: Ints, terms: Floats, cells: Floats) -> None:
        from milpcb.offline.moments_kernel import add_terms  # with it numba, which who only predicts need not have

        sets = np.array(self.grid.sets, dtype=np.int64).reshape(-1, min(self.grid.order, len(self.grid.bins)))
        starts, bins = np.array(self.grid.starts, dtype=np.int64), np.array(self.grid.bins, dtype=np.int64)
        add_terms(sets, starts, bins, codes, slot, terms, cells)

    def _add_overall(self, rows: Known, least: float) -> None:
        action, outcome, propensity = rows.action, rows.outcome, rows.propensity
        for column, number in enumerate((outcome, outcome**2, propensity < least)):
            self.outcomes[:, column] += np.bincount(action, number, self.n_actions)
        ends = [*-rows.least(self.n_actions), -outcome.min(initial=np.inf), outcome.max(initial=-np.inf)]
        self.ends[: len(ends)] = np.maximum(self.ends[: len(ends)], ends)

    def __add__(self, other: Self) -> Self:
        """Return the sums over the rows of both."""
        sums = {name: getattr(self, name) + getattr(other, name) for name in ("cells", "outcomes", "barred")}
        return replace(self, **sums, ends=np.maximum(self.ends, other.ends))

    def __len__(self) -> int:
        """Return the number of rows."""
        return int(self.totals[:, 0].sum())

    @property
    def outcome_range(self) -> tuple[float, float]:
        """The least outcome, and the greatest."""
        return float(-self.ends[self.n_actions]), float(self.ends[self.n_actions + 1])

    @property
    def done(self) -> Floats:
        """The number of rows (cells, K) of each cell in which each action was done."""
        return self.cells[..., 0]

    @property
    def totals(self) -> Floats:
        """The sums (K, 6) of the terms over all rows, by what was done."""
        return np.asarray(self.cells[: self.grid.starts[1]].sum(axis=0))

    def summed(self, method: str, *, randomised: bool) -> Summed:
        """Return the sums of the scores "ips" or "snips"; of a ``randomised`` trial propensities are the shares."""
        totals, cells, n = self.totals, self.cells, len(self)
        counts, every = totals[:, 0], np.arange(self.n_actions)
        least = counts / n if randomised else -self.ends[: self.n_actions]
        if randomised:
            scale = np.stack([(n / counts) ** power for power in (0, 1, 1, 2, 2, 2)], axis=1)
            cells, totals = cells * scale, totals * scale
        centre = totals[:, 2] / totals[:, 1] if method == "snips" else np.zeros(self.n_actions)
        _, u, uy, uu, uuy, uuyy = np.moveaxis(cells, -1, 0)
        products = np.zeros((len(cells), self.n_actions, self.n_actions))
        products[:, every, every] = uuyy - 2 * centre * uuy + centre**2 * uu
        rows = cells[..., 0].sum(axis=1)[:, None]
        summed = np.hstack([rows, uy - centre * u, products.reshape(len(cells), -1)])
        ends, nothing = np.stack([centre, centre]), np.full(self.n_actions, np.nan)
        return Summed(summed, centre, centre, ends, counts, totals[:, 1], totals[:, 3], least, nothing)


BY_ACTION = 8
CLOSE = 1e-12  # of the squares: a variance below is rounding


@dataclass(eq=False)
class ScoredStatistics(Statistics):
    """The sums of scores and of their products.

    Attributes
    ----------
    cells : (cells, 1, 1 + K + K (K + 1) / 2 + K) the number of rows, the sums of scores, and of the products of two
        scores, and the number of rows in which each action was done
    outcomes : (K, 8) by what was done the sums of y and y^2, how many propensities were raised, rows, the sums of u,
        u^2 and (y - m)^2; in the last column, by action, the sums of the regression m over all rows
    ends : (3 K + 2,) as in Statistics, then minus the least regression of each action, and the greatest

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
        table, each = rows.regression.copy(), np.arange(len(inverse))
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
        inverse, table = 1.0 / np.maximum(rows.propensity, least), rows.regression
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

    def summed(self, method: str, *, randomised: bool) -> Summed:
        """Return the sums of the scores "dr", as they are."""
        del method, randomised
        K, cells, (one, other), ends = self.n_actions, self.cells[:, 0], self.pairs, self.ends
        products = np.empty((len(cells), K, K))
        products[:, one, other] = products[:, other, one] = cells[:, K + 1 : -K]
        y, yy, _, counts, inverse, squares, missed, modelled = self.outcomes.T
        spread = yy - y**2 / counts
        r2 = 1 - np.divide(missed, spread, out=np.full(K, np.nan), where=spread > CLOSE * yy)
        summed = np.hstack([cells[:, : K + 1], products.reshape(len(cells), -1)])
        regression = np.stack([-ends[K + 2 : 2 * K + 2], ends[2 * K + 2 :]])
        mean = modelled / len(self)
        return Summed(summed, np.zeros(K), mean, regression, counts, inverse, squares, -ends[:K], r2)
