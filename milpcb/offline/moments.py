"""What adds up over the rows of a log, so that one pass of constant memory is enough for a log of any size.

A policy that is put together of tests of at most ``order`` columns at a time needs of the rows no more than their sums
by every set of so many columns and every combination of their bins, the *cells*: two columns for trees of depth 2. With
u = 1 / propensity of what was done and y its outcome, the sums of 1, u, u y, u^2, u^2 y and u^2 y^2 by what was done
give the totals of the scores "ips" and "snips" of every action, and of their squares and products, though the
self-normalised means and the shares of a randomised trial are known at the end of the pass only.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from math import prod

import numpy as np
import numpy.typing as npt

from milpcb.types import Floats, Ints

Codes = npt.NDArray[np.int32]  # half the memory of other numbers
TERMS = 6  # the sums of a cell and an action: of 1, u, u y, u^2, u^2 y, u^2 y^2


@dataclass(frozen=True)
class Grid:
    """The cells: every set of ``order`` columns, with every combination of their bins.

    Attributes
    ----------
    bins : (d,) number of bins of each column
    order : columns that a set holds; all of them where there are no more

    """

    bins: tuple[int, ...]
    order: int

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


@dataclass(eq=False)
class Moments:
    """The sums over some rows of a log.

    Attributes
    ----------
    grid : the cells
    n_actions : K
    cells : (cells, K, 6) sums of the terms over the rows of each cell in which each action was done
    outcomes : (K, 3) by action, the sums of y and y^2, and how many propensities were raised
    ends : (K + 2,) minus the least propensity of each action, then minus the least outcome and the greatest; of these
        the greatest of two parts is that of both

    """

    grid: Grid
    n_actions: int
    cells: Floats
    outcomes: Floats
    ends: Floats

    @classmethod
    def empty(cls, grid: Grid, n_actions: int) -> Moments:
        """Return those of no rows."""
        cells = np.zeros((grid.size, n_actions, TERMS))
        return cls(grid, n_actions, cells, np.zeros((n_actions, 3)), np.full(n_actions + 2, -np.inf))

    def add_rows(self, codes: Codes, action: Ints, outcome: Floats, propensity: Floats, least: float) -> None:
        """Add rows, given their bins ``codes`` (d, n), int32, and what was done in them.

        Propensities (n,) of what was done are raised to ``least``.
        """
        from milpcb.offline.moments_kernel import add_terms  # with it numba, which who only predicts need not have

        raised = np.maximum(propensity, least)
        sets = np.array(self.grid.sets, dtype=np.int64).reshape(-1, min(self.grid.order, len(self.grid.bins)))
        starts, bins = np.array(self.grid.starts, dtype=np.int64), np.array(self.grid.bins, dtype=np.int64)
        add_terms(sets, starts, bins, codes, action, 1.0 / raised, outcome, self.cells)
        for column, number in enumerate((outcome, outcome**2, propensity < least)):
            self.outcomes[:, column] += np.bincount(action, number, self.n_actions)
        for k in range(self.n_actions):
            self.ends[k] = max(self.ends[k], -propensity.min(where=action == k, initial=np.inf))
        self.ends[-2:] = np.maximum(self.ends[-2:], [-outcome.min(initial=np.inf), outcome.max(initial=-np.inf)])

    def __add__(self, other: Moments) -> Moments:
        """Return the sums over the rows of both."""
        ends = np.maximum(self.ends, other.ends)
        return Moments(self.grid, self.n_actions, self.cells + other.cells, self.outcomes + other.outcomes, ends)

    def __len__(self) -> int:
        """Return the number of rows."""
        return int(self.totals[:, 0].sum())

    @property
    def totals(self) -> Floats:
        """The sums (K, 6) of the terms over all rows, by what was done."""
        return np.asarray(self.cells[: self.grid.starts[1]].sum(axis=0))
