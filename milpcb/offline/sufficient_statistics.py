"""Sufficient statistics of a log: one pass of constant memory is enough for a log of any size.

The value of a policy of tests of at most ``order`` columns at a time is a function of the sums over the rows by every
set of so many columns and every combination of their bins, the *cells*: two columns for trees of depth 2. With u = 1 /
propensity of the action and y the outcome, the sums of 1, u, u y, u^2, u^2 y and u^2 y^2 by action give the totals of
the scores "ips" and "snips", and of their squares and products, though the self-normalised means and the shares of a
randomised trial are known at the end of the pass only.
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
    chances: Floats | None = None  # (n, K) propensities of all actions, None where they are not known
    barred: Bools | None = None  # (n, K) where the log has no rows of an action, None for nowhere

    def part(self, rows: Any) -> Self:
        """Return some of the rows."""
        parts: list[Any] = [None if column is None else column[rows] for column in vars(self).values()]
        return type(self)(*parts)

    def least(self, n_actions: int) -> Floats:
        """Return the least propensity (K,) of each action in the rows where it is known, infinite where in none."""
        if self.chances is not None:
            there = True if self.barred is None else ~self.barred
            return np.asarray(self.chances.min(axis=0, initial=np.inf, where=there))
        known = [self.propensity.min(where=self.action == k, initial=np.inf) for k in range(n_actions)]
        return np.array(known)


@dataclass(eq=False)
class Statistics:
    """The sums over some rows of a log."""

    grid: Grid
    cells: Floats  # (cells, K, 6) the sums of 1, u, u y, u^2, u^2 y and u^2 y^2 by cell and action
    outcomes: Floats  # (K, 3) by action the sums of y and y^2, and how many propensities were raised
    ends: Floats  # (K + 2,) minus the least propensity of each action, minus the least outcome, and the greatest
    barred: Floats  # (cells, 1, K) the number of rows of each cell in which the log has no rows of an action

    @classmethod
    def empty(cls, grid: Grid, K: int) -> Self:
        """Return those of no rows."""
        barred = np.zeros((grid.size, 1, K))
        return cls(grid, np.zeros((grid.size, K, 6)), np.zeros((K, 3)), np.full(K + 2, -np.inf), barred)

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
            self._add_terms(place, here.action, _moments(here, inverse[part]), self.cells)
            if here.barred is not None:
                self._add_terms(place, np.zeros_like(here.action), here.barred.astype(float), self.barred)
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

    def total(self, cells: Floats) -> Floats:
        """Return the sums over all rows of sums by cell."""
        return np.asarray(cells[: self.grid.starts[1]].sum(axis=0))


def _moments(rows: Known, inverse: Floats) -> Floats:
    """Return the terms 1, u, u y, u^2, u^2 y and u^2 y^2 (n, 6) of rows."""
    scored = inverse * rows.outcome
    return np.stack([np.ones_like(inverse), inverse, scored, inverse**2, inverse * scored, scored**2], axis=1)
