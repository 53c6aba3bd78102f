"""Sufficient statistics of a log: one pass of constant memory is enough for a log of any size.

The value of a policy of tests of at most ``order`` columns at a time is a function of the sums over the rows by every
set of so many columns and every combination of their bins, the *cells*: two columns for trees of depth 2. With u = 1 /
propensity of the action and y the outcome, the sums of 1, u, u y, u^2, u^2 y and u^2 y^2 by action give the totals of
the scores "ips" and "snips", and of their squares and products, though the self-normalised means and the shares of a
randomised trial are known at the end of the pass only. Doubly robust scores have regressions m of the outcome by each
action: with y less the m of the action done, the sums of u y m, of m and of the products of two are added.
"""

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from math import prod
from typing import Any, Self

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
        """The number of the first cell of each set, then the number of all cells."""
        sizes = [prod(self.bins[f] for f in columns) for columns in self.sets]
        return (0, *np.cumsum(sizes).tolist())

    @property
    def size(self) -> int:
        """The number of cells."""
        return self.starts[-1]


@dataclass(frozen=True, eq=False)
class Known:
    """The actions (n,) of n rows, with their outcomes (n,) and propensities (n,)."""

    action: Ints
    outcome: Floats
    propensity: Floats
    chances: Floats | None = None  # (n, K) propensities of all actions, None where they are not known
    barred: Bools | None = None  # (n, K) where the log has no rows of an action, None for nowhere
    regression: Floats | None = None  # (n, K) of the outcome by each action, None where scores have none

    def part(self, rows: Any) -> Self:
        """Return some of the rows."""
        parts: list[Any] = [None if column is None else column[rows] for column in vars(self).values()]
        return type(self)(*parts)

    def least(self, n_actions: int) -> Floats:
        """Return the least known propensity (K,) of each action, infinite where none is known."""
        if self.chances is not None:
            there = True if self.barred is None else ~self.barred
            return np.asarray(self.chances.min(axis=0, initial=np.inf, where=there))
        known = [self.propensity.min(where=self.action == k, initial=np.inf) for k in range(n_actions)]
        return np.array(known)

    def of_actions(self, inverse: Floats) -> Floats:
        """Return the terms (n, 6) of what was done, by 1 / propensity (n,); with regressions (n, 6 + K)."""
        m = np.zeros((len(inverse), 0)) if self.regression is None else self.regression
        y = self.outcome - (m[np.arange(len(m)), self.action] if m.size else 0.0)
        u, uy = inverse[:, None], (inverse * y)[:, None]
        return np.hstack([np.ones_like(u), u, uy, u**2, u * uy, uy**2, uy * m])

    def of_rows(self) -> Floats | None:
        """Return the terms (n, K) of rows, whatever was done; with regressions (n, 2 K + K^2). None where all are 0."""
        if (m := self.regression) is None:
            return None if self.barred is None else self.barred.astype(float)
        barred = np.zeros_like(m) if self.barred is None else self.barred
        return np.hstack([barred, m, (m[:, :, None] * m[:, None, :]).reshape(len(m), -1)])


@dataclass(eq=False)
class Statistics:
    """The sums over some rows of a log."""

    grid: Grid
    # (cells, K, 6) the sums of 1, u, u y, u^2, u^2 y and u^2 y^2 by cell and action; with regressions m, y being less
    # that of the action, (cells, K, 6 + K) with those of u y m
    cells: Floats
    outcomes: Floats  # (K, 3) by action the sums of y and y^2, and how many propensities were raised
    # (K + 2,) minus the least propensity of each action, minus the least outcome, and the greatest; with regressions
    # (3 K + 2,) with minus the least of each action, and the greatest
    ends: Floats
    # (cells, 1, K) the number of rows of each cell in which the log has no rows of an action; with regressions
    # (cells, 1, 2 K + K^2) with the sums of m, and of the products of two
    others: Floats

    @classmethod
    def empty(cls, grid: Grid, K: int, *, regressions: bool = False) -> Self:
        """Return the sums over no rows."""
        more = K if regressions else 0
        cells, others = np.zeros((grid.size, K, 6 + more)), np.zeros((grid.size, 1, K + more + K * more))
        return cls(grid, cells, np.zeros((K, 3)), np.full(K + 2 + 2 * more, -np.inf), others)

    @property
    def n_actions(self) -> int:
        """K."""
        return len(self.outcomes)

    def add_rows(self, codes: Codes, rows: Known, least: float) -> None:
        """Add rows, given their bins ``codes`` (d, n), int32; propensities are raised to ``least``."""
        inverse = 1.0 / np.maximum(rows.propensity, least)
        for start in range(0, len(inverse), CHUNK):
            part = slice(start, start + CHUNK)
            here, place = rows.part(part), np.ascontiguousarray(codes[:, part])
            self._add_terms(place, here.action, here.of_actions(inverse[part]), self.cells)
            if (terms := here.of_rows()) is not None:
                self._add_terms(place, np.zeros_like(here.action), terms, self.others)
        self._add_overall(rows, least)

    def _add_terms(self, codes: Codes, slot: Ints, terms: Floats, cells: Floats) -> None:
        from milpcb.offline.moments_kernel import add_terms  # with it numba, which who only predicts need not have

        sets = np.array(self.grid.sets, dtype=np.int64).reshape(-1, min(self.grid.order, len(self.grid.bins)))
        starts, bins = np.array(self.grid.starts, dtype=np.int64), np.array(self.grid.bins, dtype=np.int64)
        add_terms(sets, starts, bins, codes, slot, terms, cells)

    def _add_overall(self, rows: Known, least: float) -> None:
        y = rows.outcome
        for number, column in enumerate((y, y**2, rows.propensity < least)):
            self.outcomes[:, number] += np.bincount(rows.action, column, self.n_actions)
        ends = [*-rows.least(self.n_actions), -y.min(initial=np.inf), y.max(initial=-np.inf)]
        if (m := rows.regression) is not None:
            ends += [*-m.min(axis=0, initial=np.inf), *m.max(axis=0, initial=-np.inf)]
        self.ends = np.maximum(self.ends, ends)

    def __len__(self) -> int:
        """Return the number of rows."""
        return int(self.counts.sum())

    @property
    def outcome_range(self) -> tuple[float, float]:
        """The least outcome, and the greatest."""
        return float(-self.ends[self.n_actions]), float(self.ends[self.n_actions + 1])

    @property
    def counts(self) -> Floats:
        """The number of rows (K,) in which each action was done."""
        return self.total(self.cells)[:, 0]

    @property
    def barred(self) -> Floats:
        """The number of rows (cells, K) of each cell in which the log has no rows of an action."""
        return self.others[:, 0, : self.n_actions]

    def total(self, cells: Floats) -> Floats:
        """Return the sums over all rows of sums by cell."""
        return np.asarray(cells[: self.grid.starts[1]].sum(axis=0))
