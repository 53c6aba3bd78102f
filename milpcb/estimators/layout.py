"""How the rows of a log are counted in the cells of its sufficient statistics, for more rows than fit memory."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from milpcb.data.columns import Column
from milpcb.data.schema import Schema
from milpcb.estimators.sample import LoggedColumns, Read, read_rows
from milpcb.offline.overlap import compared, completed, expected_of, parts_without
from milpcb.offline.sufficient_statistics import Codes, Grid, Known, Statistics
from milpcb.types import Bools, Floats, Ints


@dataclass(frozen=True)
class Layout:
    """Places where the parts of each row are counted."""

    schema: Schema  # of the columns of the table
    columns: tuple[Column, ...]  # the d numbers that policies read
    cuts: tuple[tuple[float, ...], ...]  # cut points of each, ascending
    order: int  # numbers that a part of a policy tests at most
    actions: tuple[str, ...]  # K names
    parts: tuple[CodedPart, ...] | None = ()  # in which an action may not be played; None: actions may be everywhere

    @cached_property
    def grid(self) -> Grid:
        """The cells."""
        return Grid(tuple(len(cuts) + 1 for cuts in self.cuts), self.order)

    def empty(self) -> Statistics:
        """Return the sums over no rows."""
        return Statistics.empty(self.grid, len(self.actions))

    def read(self, frame: Any, columns: LoggedColumns) -> tuple[Read, Known]:
        """Return what is counted of a data frame; raises InputError."""
        names = dict.fromkeys(column.name for column in self.columns)
        return read_rows(frame, columns, self.schema, names, self.actions)

    def chances(self, known: Known, *, randomised: bool) -> Floats:
        """Return the propensities (n, K) of all actions in some rows, NaN where they are not known."""
        if known.chances is not None:
            return known.chances
        found = np.full((len(known.action), len(self.actions)), np.nan)
        if not randomised:
            found[np.arange(len(found)), known.action] = known.propensity
        return found

    def codes(self, values: Read) -> Codes:
        """Return the bins (d, n): the number of cut points below each number; raises InputError."""
        found: list[Codes] = []
        for column, cuts in zip(self.columns, self.cuts, strict=True):
            distinct, place = values[column.name]
            code = np.searchsorted(cuts, column.read(distinct)).astype(np.int32)
            found.append(code if place is None else code[place])
        return np.array(found, dtype=np.int32)

    def unseen(self, frame: Any, columns: LoggedColumns, least: float) -> tuple[CodedPart, ...]:
        """Return the parts in which the rows of a sample have none of some action, see ``parts_without``."""
        values, rows = self.read(frame, columns)
        codes, each = self.codes(values), np.ones(len(rows.action))
        tests = [
            compared(str(f), codes[f].astype(float), float(cut), up=up)
            for f, cuts in enumerate(self.cuts)
            for cut in range(len(cuts))
            for up in (True, False)
        ]
        expected, found = expected_of(rows.action, self.chances(rows, randomised=columns.randomised), each), []
        for part in parts_without(tests, rows.action, each, expected, least):
            coded = tuple((int(test.name), test.up, int(np.floor(test.cut))) for test in part.tests)
            words = (
                self.columns[f].test("<=" if up else ">", self.cuts[f][cut], binary=self.cuts[f] == (0.5,))
                for f, up, cut in coded
            )
            found.append(CodedPart(part.action, coded, " and ".join(words)))
        return tuple(found)

    def barred(self, codes: Codes, chances: Floats) -> Bools | None:
        """Return the cells (n, K) without rows, by propensities (n, K), NaN where not known; None for none."""
        if self.parts is None:
            return None
        cells = completed(chances) == 0
        for part in self.parts:
            cells[part.within(codes), part.action] = True
        return cells if cells.any() else None

    def contexts(self, codes: Ints) -> Floats:
        """Return numbers (m, d) in these bins (m, d)."""
        found = np.zeros(codes.shape)
        for f, cuts in enumerate(self.cuts):
            if cuts:  # 0 and 1 are numbers that scoring rules add up, others are only compared with cut points
                numbers = (0.0, 1.0) if cuts == (0.5,) else (*cuts, np.nextafter(cuts[-1], np.inf))
                found[:, f] = np.array(numbers)[codes[:, f]]
        found.setflags(write=False)
        return found


@dataclass(frozen=True)
class CodedPart:
    """A part in which an action was never done, or nearly so."""

    action: int
    tests: tuple[tuple[int, bool, int], ...]  # column, whether its bin is up to a number or above, and that number
    words: str  # who is in it

    def within(self, codes: Codes) -> Bools:
        """Return which rows, by their bins (d, n), are in it."""
        found = np.ones(codes.shape[1], dtype=bool)
        for column, up, cut in self.tests:
            found &= (codes[column] <= cut) == up
        return found


@dataclass(frozen=True)
class RowCounter:
    """How rows are counted."""

    layout: Layout
    columns: LoggedColumns
    min_propensity: float  # propensities are raised to it

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that are read."""
        return tuple(dict.fromkeys([*self.columns.names, *(column.name for column in self.layout.columns)]))

    def read(self, frame: Any) -> tuple[Codes, Known]:
        """Return the bins (d, n) of rows, and the rest; raises InputError."""
        values, rows = self.layout.read(frame, self.columns)
        codes = self.layout.codes(values)
        barred = self.layout.barred(codes, self.layout.chances(rows, randomised=self.columns.randomised))
        return codes, replace(rows, barred=barred)

    def add(self, sums: Statistics, codes: Codes, known: Known) -> None:
        """Add rows to the sums."""
        sums.add_rows(codes, known, 0.0 if self.columns.randomised else self.min_propensity)
