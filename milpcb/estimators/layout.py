"""How the rows of a log become the cells of its sufficient statistics, for more rows than fit memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from milpcb.data.columns import Column, Values
from milpcb.data.schema import Schema
from milpcb.offline.overlap import compared, completed, expected_of, parts_without
from milpcb.offline.sufficient_statistics import Codes, Grid, ScoredStatistics, Statistics
from milpcb.types import Bools, Floats, Ints

FEW = 48  # cut points: up to so many, comparing with each is quicker than bisection
Read = Mapping[str, tuple[Values, Ints | None]]  # of each column distinct values and their place in each row, or values


@dataclass(frozen=True)
class Layout:
    """Places where the parts of each row are counted.

    Attributes
    ----------
    schema : of the columns of the table
    columns : the d numbers that policies read
    cuts : cut points of each, ascending
    order : numbers that a part of a policy tests at most
    actions : K names
    scored : whether scores are known row by row, by models of a sample
    parts : in which a sample of the rows has none of some action, so that it is played in none of them; None where
        actions may be played everywhere

    """

    schema: Schema
    columns: tuple[Column, ...]
    cuts: tuple[tuple[float, ...], ...]
    order: int
    actions: tuple[str, ...]
    scored: bool = False
    parts: tuple[CodedPart, ...] | None = ()

    @cached_property
    def grid(self) -> Grid:
        """The cells."""
        return Grid(tuple(len(cuts) + 1 for cuts in self.cuts), self.order)

    def empty(self) -> Statistics:
        """Return the sums over no rows."""
        return (ScoredStatistics if self.scored else Statistics).empty(self.grid, len(self.actions))

    def codes(self, values: Read) -> Codes:
        """Return the bins (d, n): the number of cut points below each number; raises InputError."""
        found: list[Codes] = []
        for column, cuts in zip(self.columns, self.cuts, strict=True):
            distinct, place = values[column.name]
            code = bins(np.array(cuts), column.read(distinct))
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


def bins(cuts: Floats, numbers: Floats) -> Codes:
    """Return how many ascending cut points are below each number, which is never NaN."""
    if len(cuts) > FEW:
        return np.searchsorted(cuts, numbers).astype(np.int32)
    found = np.zeros(len(numbers), dtype=np.uint8)
    for cut in cuts.tolist():
        found += (numbers > cut).view(np.uint8)
    return found.astype(np.int32)


@dataclass(frozen=True)
class CodedPart:
    """A part in which an action was never done, or nearly so.

    ``tests`` are column, whether its bin is up to a number or above, and that number; ``words`` name who is in it.
    """

    action: int
    tests: tuple[tuple[int, bool, int], ...]
    words: str

    def within(self, codes: Codes) -> Bools:
        """Return which rows, by their bins (d, n), are in it."""
        found = np.ones(codes.shape[1], dtype=bool)
        for column, up, cut in self.tests:
            found &= (codes[column] <= cut) == up
        return found


def coded_parts(
    columns: Sequence[Column],
    cuts: Sequence[tuple[float, ...]],
    codes: Codes,
    action: Ints,
    propensity: Floats,
    least: float,
) -> tuple[CodedPart, ...]:
    """Return the parts of a sample with these bins (d, n); ``propensity`` is (n, K), see ``expected_of``."""
    tests = [
        compared(str(f), codes[f].astype(float), float(cut), up=up)
        for f, own in enumerate(cuts)
        for cut in range(len(own))
        for up in (True, False)
    ]
    each = np.ones(len(action))
    expected = expected_of(action, propensity, each)
    found = []
    for part in parts_without(tests, action, each, expected, least):
        coded = tuple((int(test.name), test.up, int(np.floor(test.cut))) for test in part.tests)
        words = " and ".join(_in_words(columns[f], cuts[f], up, cut) for f, up, cut in coded)
        found.append(CodedPart(part.action, coded, words))
    return tuple(found)


def _in_words(column: Column, cuts: tuple[float, ...], up: bool, cut: int) -> str:
    return column.test("<=" if up else ">", cuts[cut], binary=cuts == (0.5,))


def barred(parts: Sequence[CodedPart] | None, codes: Codes, chances: Floats) -> Bools | None:
    """Return the cells (n, K) of rows in which no rows of the log stand; None for none, and where ``parts`` is None.

    ``chances`` (n, K) are propensities, NaN where they are not known.
    """
    if parts is None:
        return None
    cells = completed(chances) == 0
    for part in parts:
        cells[part.within(codes), part.action] = True
    return cells if cells.any() else None
