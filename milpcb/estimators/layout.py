"""How the rows of a log are counted in the cells of its sufficient statistics, for more rows than fit memory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from milpcb.core.checks import whole
from milpcb.data.columns import Column, Value, Values, alphabet
from milpcb.data.schema import Schema
from milpcb.errors import InputError
from milpcb.estimators.sample import LoggedColumns, Read, read_rows
from milpcb.offline.hashing import folds_of
from milpcb.offline.log import Log
from milpcb.offline.nuisances import OUTCOME, Fit, fits_by_fold, predicted
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
    scored: bool = False  # whether scores are known row by row, by models of a sample
    parts: tuple[CodedPart, ...] | None = ()  # in which an action may not be played; None: actions may be everywhere

    @cached_property
    def grid(self) -> Grid:
        """The cells."""
        return Grid(tuple(len(cuts) + 1 for cuts in self.cuts), self.order)

    def empty(self) -> Statistics:
        """Return the sums over no rows."""
        return Statistics.empty(self.grid, len(self.actions), scored=self.scored)

    def read(self, frame: Any, columns: LoggedColumns, more: Iterable[str] = ()) -> tuple[Read, Known]:
        """Return what is counted of a data frame, and ``more`` columns of it; raises InputError."""
        names = dict.fromkeys([*(column.name for column in self.columns), *more])
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
    models: RowModels | None = None  # of outcomes, where the scores are doubly robust
    shares: tuple[float, ...] = ()  # (K,) of the actions in the log, where these are propensities of such scores

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that are read."""
        features = () if self.models is None else self.models.codes
        return tuple(dict.fromkeys([*self.columns.names, *(column.name for column in self.layout.columns), *features]))

    def read(self, frame: Any, start: int) -> tuple[Codes, Known]:
        """Return the bins (d, n) of rows, the first of which has number ``start``, and the rest; raises InputError."""
        models, layout = self.models, self.layout
        values, rows = layout.read(frame, self.columns, () if models is None else models.codes)
        numbers = np.arange(start, start + len(frame))
        regression = None if models is None else models.predict(values, numbers)
        propensity = np.array(self.shares)[rows.action] if self.shares else rows.propensity
        codes = layout.codes(values)
        barred = layout.barred(codes, layout.chances(rows, randomised=self.columns.randomised))
        return codes, replace(rows, propensity=propensity, regression=regression, barred=barred)

    def add(self, sums: Statistics, codes: Codes, known: Known) -> None:
        """Add rows to the sums."""
        sums.add_rows(codes, known, 0.0 if self.columns.randomised else self.min_propensity)


MODEL_ROWS = 100_000  # of the sample, that models are fitted to


@dataclass(frozen=True, eq=False)
class RowModels:
    """A model of the outcome for each fold and each action, fitted to a sample, and how it reads rows."""

    # the columns that models read, with the numbers that stand for strings; None for a column of numbers
    codes: Mapping[str, Mapping[Value, float] | None]
    cv: int  # number of folds
    seed: int  # of their draw
    fits: Mapping[int, Fit]  # of each fold

    def predict(self, values: Read, numbers: Ints) -> Floats:
        """Return the predictions (n, K) of rows with these ``numbers``, by models that have not seen them."""
        columns = []
        for name, codes in self.codes.items():
            distinct, place = values[name]
            known = distinct if codes is None else [codes.get(value, np.nan) for value in distinct.tolist()]
            column = np.array(known, dtype=float)
            columns.append(column if place is None else column[place])
        return predicted(self.fits, np.column_stack(columns), folds_of(numbers, self.cv, self.seed))


def fit_row_models(
    log: Log, values: Mapping[str, Values], numbers: Ints, kept: Bools, *, cv: int, seed: int, most: int
) -> RowModels:
    """Return models of the outcome, fitted to at most ``most`` of the rows of a sample that are ``kept`` (n,).

    ``values`` are the columns (n,) that its features are made of, ``numbers`` (n,) those of its rows in the whole log.
    Raises InputError.
    """
    cv, most = whole("cv", cv, 2), whole("model_rows", most, 2)
    chosen = np.flatnonzero(kept)
    if len(chosen) > most:
        chosen = chosen[np.linspace(0, len(chosen) - 1, most).astype(np.int64)]
    sample = log.take(chosen)
    fold = folds_of(numbers[chosen], cv, seed)
    for k, name in enumerate(log.actions):
        if len(np.unique(fold[sample.action == k])) < 2:
            raise InputError(f"all sampled rows with action '{name}' are in one fold; give more model_rows, or less cv")
    fits = fits_by_fold(OUTCOME, sample, None, seed, fold, cv)
    return RowModels({name: alphabet(column) for name, column in values.items()}, cv, seed, fits)
