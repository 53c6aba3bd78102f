"""How the rows of a log become cells, for a pass over more rows than fit memory: see milpcb.offline.moments."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from milpcb.data.columns import Column, Values
from milpcb.data.schema import Schema
from milpcb.estimators.coded_parts import CodedPart
from milpcb.offline.moments import Codes, Grid, Moments
from milpcb.offline.moments_scored import ScoredMoments
from milpcb.types import Floats, Ints

FEW = 48  # cut points: up to so many, comparing with each is quicker than bisection
Read = Mapping[str, tuple[Values, Ints | None]]  # of each column distinct values and their place in each row, or values


@dataclass(frozen=True)
class Layout:
    """What of each row is counted where.

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

    def empty(self) -> Moments:
        """Return the sums over no rows."""
        return (ScoredMoments if self.scored else Moments).empty(self.grid, len(self.actions))

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
