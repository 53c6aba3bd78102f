"""How the rows of a log are counted in the cells of its sufficient statistics, for more rows than fit memory."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from milpcb.data.columns import Column
from milpcb.data.schema import Schema
from milpcb.estimators.sample import Columns, Read, read_rows
from milpcb.offline.overlap import compared, completed, expected_of, parts_without
from milpcb.offline.sufficient_statistics import Codes, Grid, Known, Statistics
from milpcb.types import Bools, Floats, Ints


@dataclass(frozen=True)
class Layout:
    """Places where the parts of each row are counted."""

    log: Columns  # with K columns of propensities in the order of the actions, if there are so many
    schema: Schema  # of the columns of the table
    columns: tuple[Column, ...]  # the d numbers that policies read
    cuts: tuple[tuple[float, ...], ...]  # cut points of each, ascending
    order: int  # numbers that a part of a policy tests at most
    actions: tuple[str, ...]  # K names
    least: float  # to which propensities are raised, where they are no shares
    parts: tuple[CodedPart, ...] | None = ()  # in which an action may not be played; None: actions may be everywhere

    @cached_property
    def grid(self) -> Grid:
        """The cells."""
        return Grid(tuple(len(cuts) + 1 for cuts in self.cuts), self.order)

    @cached_property
    def features(self) -> tuple[str, ...]:
        """The columns that the numbers are made of."""
        return tuple(dict.fromkeys(column.name for column in self.columns))

    def empty(self) -> Statistics:
        """Return the sums over no rows."""
        return Statistics.empty(self.grid, len(self.actions))

    def add(self, frame: Any, *parts: tuple[Statistics, Any]) -> None:
        """Add rows of a data frame to sums, to each of the ``parts`` those that it names; raises InputError."""
        values, known = read_rows(frame, self.log, self.schema, self.features, self.actions)
        codes = self.codes(values)
        known = replace(known, barred=self._barred(codes, known))
        for sums, rows in parts:
            least = 0.0 if self.log.randomised else self.least
            sums.add_rows(np.ascontiguousarray(codes[:, rows]), known.part(rows), least)

    def codes(self, values: Read) -> Codes:
        """Return the bins (d, n): the number of cut points below each number; raises InputError."""
        found: list[Codes] = []
        for column, cuts in zip(self.columns, self.cuts, strict=True):
            distinct, place = values[column.name]
            code = np.searchsorted(cuts, column.read(distinct)).astype(np.int32)
            found.append(code if place is None else code[place])
        return np.array(found, dtype=np.int32)

    def contexts(self, codes: Ints) -> Floats:
        """Return numbers (m, d) in these bins (m, d)."""
        found = np.zeros(codes.shape)
        for f, cuts in enumerate(self.cuts):
            if cuts:  # 0 and 1 are numbers that scoring rules add up, others are only compared with cut points
                numbers = (0.0, 1.0) if cuts == (0.5,) else (*cuts, np.nextafter(cuts[-1], np.inf))
                found[:, f] = np.array(numbers)[codes[:, f]]
        found.setflags(write=False)
        return found

    def with_parts(self, frame: Any) -> Layout:
        """Return the layout with the parts in which the rows of a sample have none of some action; InputError."""
        values, known = read_rows(frame, self.log, self.schema, self.features, self.actions)
        codes, each = self.codes(values), np.ones(len(known.action))
        tests = [
            compared(str(f), codes[f].astype(float), float(cut), up=up)
            for f, cuts in enumerate(self.cuts)
            for cut in range(len(cuts))
            for up in (True, False)
        ]
        expected, found = expected_of(known.action, self._chances(known), each), []
        for part in parts_without(tests, known.action, each, expected, self.least):
            coded = tuple((int(test.name), test.up, int(np.floor(test.cut))) for test in part.tests)
            words = (
                self.columns[f].test("<=" if up else ">", self.cuts[f][cut], binary=self.cuts[f] == (0.5,))
                for f, up, cut in coded
            )
            found.append(CodedPart(part.action, coded, " and ".join(words)))
        return replace(self, parts=tuple(found))

    def _chances(self, known: Known) -> Floats:
        """Return the propensities (n, K) of all actions in some rows, NaN where they are not known."""
        if known.chances is not None:
            return known.chances
        found = np.full((len(known.action), len(self.actions)), np.nan)
        if not self.log.randomised:
            found[np.arange(len(found)), known.action] = known.propensity
        return found

    def _barred(self, codes: Codes, known: Known) -> Bools | None:
        """Return the cells (n, K) without rows; None for none."""
        if self.parts is None:
            return None
        cells = completed(self._chances(known)) == 0
        for part in self.parts:
            cells[part.within(codes), part.action] = True
        return cells if cells.any() else None


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
