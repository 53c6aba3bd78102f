"""Rows that do not fit memory: a sample of them, and the cells by which sufficient statistics are counted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import narwhals as nw
import numpy as np

from milpcb.core.checks import whole
from milpcb.data.actions import action_name
from milpcb.data.columns import Column
from milpcb.data.fields import Field
from milpcb.data.frames import GivenColumn, given_columns
from milpcb.data.schema import Schema
from milpcb.errors import InputError, UnknownNameError, clipped, shown
from milpcb.estimators.inputs import Columns
from milpcb.offline.compressed import CompressedLog, compress
from milpcb.offline.log import RANDOMISED, divided, read_log
from milpcb.offline.nuisances import OUTCOME, Fits, default, fitted, folds_of
from milpcb.offline.overlap import compared, completed, expected_of, parts_without
from milpcb.offline.scores import treatment_costs
from milpcb.offline.sufficient_statistics import Codes, Grid, Known, Statistics
from milpcb.rng import WEYL, mixed, uniforms
from milpcb.types import Bools, Floats, Ints

MOST_ROWS = 1_000_000  # of the sample
MOST_NEW = 1000  # rows that are kept because something in them is new
Read = Mapping[str, tuple[Any, Any]]  # columns, of strings and booleans distinct values and the place of each row's


def batches_of(batches: Iterable[Any] | Callable[[], Iterable[Any]]) -> Iterable[Any]:
    """Return the batches once more; raises InputError where they come once only."""
    if callable(batches):
        return batches()
    if iter(batches) is batches:
        raise InputError("the batches are read twice: give a list, or a function that returns them anew at each call")
    return batches


def charges_of(treatment_cost: Any, actions: tuple[str, ...], *, maximise: bool) -> Floats:
    """Return what each action (K,) adds to outcomes, below 0 for rewards; raises InputError, UnknownNameError."""
    if treatment_cost is None:
        return np.zeros(len(actions))
    prices = treatment_cost.values() if isinstance(treatment_cost, Mapping) else [treatment_cost]
    by_row = any(isinstance(price, str) for price in prices)  # the name of a column
    charge = np.empty(0) if by_row else treatment_costs(treatment_cost, actions)
    if charge.shape != (len(actions),):
        raise InputError(f"treatment_cost by row needs the rows themselves: give {len(actions)} numbers, by action")
    return -charge if maximise else charge


class Sample:
    """Every s-th row of a log, all of them up to a million, and the rows in which a value occurs for the first time."""

    def __init__(self, columns: Columns) -> None:
        self.columns, self.step, self.n = columns, 1, 0
        self._parts: list[tuple[Any, Ints, Bools]] = []  # rows, their numbers in the log, and whether they are new
        self._seen: dict[str, set[Any]] = {}
        self._schema: dict[str, Any] = {}

    def add(self, batch: Any) -> None:
        """Take rows of the next batch."""
        try:
            frame = nw.from_native(batch, eager_only=True)
        except TypeError as error:
            raise InputError(f"a batch must be a data frame of pandas or polars, got {type(batch).__name__}") from error
        self._check_schema(dict(frame.schema))
        for name in (self.columns.outcome, *self.columns.propensity):
            _numbers(frame, name)
        numbers = self.n + np.arange(len(frame))
        self.n += len(frame)
        self._parts.append(self._thinned(frame, numbers, self._is_new(frame)))
        while self.n > MOST_ROWS * self.step:
            self.step *= 2
            self._parts = [self._thinned(*part) for part in self._parts]

    def _thinned(self, frame: Any, numbers: Ints, new: Bools) -> tuple[Any, Ints, Bools]:
        rows = np.flatnonzero((numbers % self.step == 0) | new)
        return frame[rows.tolist(), :] if len(rows) < len(frame) else frame, numbers[rows], new[rows]

    @property
    def numbers(self) -> Ints:
        """The number (n,) of each sampled row in the log."""
        return np.concatenate([numbers for _, numbers, _ in self._parts])

    @property
    def table(self) -> Any:
        """The sampled rows, with all columns."""
        return nw.concat([frame for frame, *_ in self._parts if len(frame)]).to_native()

    def _check_schema(self, schema: dict[str, Any]) -> None:
        for name in (*self.columns.names, *self.columns.features):
            if name not in schema:
                raise UnknownNameError("column of the batches", name, schema)
        self._schema = self._schema or schema
        for name in {**self._schema, **schema}:
            first, here = self._schema.get(name), schema.get(name)
            if first != here:
                kinds = f"is {here or 'missing'} here, and {first or 'missing'} in the first batch"
                raise InputError(f"column '{clipped(name)}' {kinds}; give all batches the same columns")

    def _is_new(self, frame: Any) -> Any:
        """Return the rows (n,) of a batch in which something occurs for the first time."""
        new = np.zeros(len(frame), dtype=bool)
        for name in frame.columns:
            column, seen = frame.get_column(name), self._seen.setdefault(name, set())
            lost = column.is_null() | column.is_nan() if column.dtype.is_float() else column.is_null()
            if None not in seen and lost.any():
                new[int(lost.to_numpy().argmax())] = True
                seen.add(None)
            if not column.dtype.is_numeric() and len(seen) <= MOST_NEW:
                for value in set(column.drop_nulls().unique().to_list()) - seen:
                    new[int((column == value).fill_null(value=False).to_numpy().argmax())] = True
                    seen.add(value)
        return new


@dataclass(frozen=True, eq=False)
class Layout:
    """The way in which rows of a log are counted in cells of sufficient statistics."""

    log: Columns  # with K columns of propensities in the order of the actions, if there are so many
    schema: Schema  # of the columns of the table
    columns: tuple[Column, ...]  # the d numbers that policies read
    cuts: tuple[tuple[float, ...], ...]  # cut points of each, ascending
    order: int  # numbers that a part of a policy tests at most
    actions: tuple[str, ...]  # K names
    method: str  # "dr", "ips" or "snips"
    least: float  # to which propensities are raised, where they are no shares
    charge: Floats  # (K,) what each action adds to outcomes, its treatment cost
    parts: tuple[CodedPart, ...] | None = ()  # in which an action may not be played; None: actions may be everywhere
    model: Any = None  # of outcomes, where scores are doubly robust; None: the default one, which reads numbers
    folds: tuple[int, int] = (2, 0)  # of rows, by their numbers in the log: how many, and the seed
    fits: Fits | None = None  # of the model

    @cached_property
    def grid(self) -> Grid:
        """The cells."""
        return Grid(tuple(len(cuts) + 1 for cuts in self.cuts), self.order)

    @cached_property
    def features(self) -> tuple[str, ...]:
        """The columns that are read: those that the numbers are made of, or all where models read them."""
        used = (column.name for column in self.columns)
        return self.schema.names if self.method == "dr" else tuple(dict.fromkeys(used))

    def empty(self) -> Statistics:
        """Return the sums over no rows."""
        return Statistics.empty(self.grid, len(self.actions), regressions=self.fits is not None)

    def add(self, frame: Any, number: int, *parts: tuple[Statistics, Any]) -> None:
        """Add rows, the first with ``number`` in the log; each of the ``parts`` has sums and its rows; InputError."""
        values, codes, known = self.read(frame)
        known = replace(known, barred=self._barred(codes, known))
        if self.fits is not None:
            fold = folds_in_pass(number + np.arange(len(known.action)), *self.folds)
            known = replace(known, regression=self.fits.predict(self._features(frame, values), fold))
        for sums, rows in parts:
            least = 0.0 if self.log.randomised else self.least
            sums.add_rows(np.ascontiguousarray(codes[:, rows]), known.part(rows), least)

    def compressed(self, sums: Statistics) -> CompressedLog:
        """Return the compressed log of rows with these sums; raises InputError."""
        log, parts = self.log, [(part.action, part.words) for part in self.parts or ()]
        how: dict[str, Any] = {"maximise": log.maximise, "randomised": log.randomised, "min_propensity": self.least}
        return compress(sums, self.actions, self.method, self.charge, parts=parts, **how)

    def contexts(self, codes: Ints) -> Floats:
        """Return the numbers (m, d) of these bins (m, d)."""
        found = np.zeros(codes.shape)
        for f, cuts in enumerate(self.cuts):
            if cuts:  # 0 and 1 are numbers that scoring rules add up, others are only compared with cut points
                numbers = (0.0, 1.0) if cuts == (0.5,) else (*cuts, np.nextafter(cuts[-1], np.inf))
                found[:, f] = np.array(numbers)[codes[:, f]]
        found.setflags(write=False)
        return found

    def with_parts(self, codes: Codes, known: Known) -> Layout:
        """Return the layout with the parts in which some action has no rows of a sample."""
        each = np.ones(len(known.action))
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

    def with_models(self, frame: Any, values: Read, known: Known, numbers: Ints, learnt: Ints) -> Layout:
        """Return the layout with models of the outcome, fitted to the rows ``learnt`` of a sample that was read."""
        read, (cv, seed) = self._features(frame, values), self.folds
        done, propensity = np.array(self.actions)[known.action], RANDOMISED if self.log.randomised else known.propensity
        log = read_log(read, done, reward=known.outcome, propensity=propensity, actions=self.actions).take(learnt)
        fold = folds_of(log, folds_in_pass(numbers[learnt], whole("cv", cv, 2), seed), seed)
        model, features = default(OUTCOME, log, seed) if self.model is None else (self.model, log.features)
        return replace(self, fits=fitted(OUTCOME, log, features, model, fold, np.arange(cv)))

    def _features(self, batch: Any, values: Read) -> Any:
        """Return features of rows as models read them: numbers by columns that were read, or the data frame."""
        if self.model is not None:
            return nw.from_native(batch, eager_only=True).select(list(self.schema.names)).to_native()
        columns = []
        for field in self.schema.fields:
            distinct, place = values[field.name]
            if place is not None:
                codes = {value: float(number) for number, value in enumerate(sorted(field.values, key=str))}
                distinct = np.array([codes.get(value, np.nan) for value in distinct.tolist()])[place]
            columns.append(distinct)
        return np.column_stack(columns)

    def read(self, batch: Any) -> tuple[Read, Codes, Known]:
        """Return columns of rows, their bins (d, n), the number of cut points below each number, and what is known."""
        frame = nw.from_native(batch, eager_only=True)
        action = _actions(frame.get_column(self.log.action), self.actions)
        outcome = _numbers(frame, self.log.outcome)
        known = np.array([_numbers(frame, name) for name in self.log.propensity])
        propensity, chances = known[0] if len(known) == 1 else np.ones(len(frame)), None
        if len(known) > 1:
            chances = divided(known.T, first=1)
            propensity = chances[np.arange(len(action)), action]
        wrong = np.flatnonzero(~((propensity > 0) & (propensity <= 1)))
        if len(wrong):
            what = f"row {wrong[0] + 1}: the propensity of the action is {propensity[wrong[0]]:g}"
            raise InputError(f"{what}, and not above 0 and at most 1")
        values, codes = {name: _entries(frame, self.schema[name]) for name in self.features}, list[Codes]()
        for column, cuts in zip(self.columns, self.cuts, strict=True):
            distinct, place = values[column.name]
            code = np.searchsorted(cuts, column.read(distinct)).astype(np.int32)
            codes.append(code if place is None else code[place])
        return values, np.array(codes, dtype=np.int32), Known(action, outcome, propensity, chances=chances)

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


def folds_in_pass(numbers: Ints, cv: int, seed: int) -> Ints:
    """Return the fold 0..cv - 1 of each row (n,), by its number 0, 1, ... in the log."""
    with np.errstate(over="ignore"):
        salt = mixed(np.array([seed % 2**63], dtype=np.uint64) + np.uint64(WEYL))
    return np.asarray((uniforms(numbers.astype(np.uint64) ^ salt) * cv).astype(np.int64))


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


def _entries(frame: Any, field: Field) -> tuple[Any, Ints | None]:
    """Return a column, of strings and booleans its distinct values and the place of each row's among them."""
    column = frame.get_column(field.name)
    if field.is_number:
        return field.read(given_columns(frame.to_native(), (), [field.name])[field.name]), None
    distinct, place = _distinct(column)
    there = distinct if (place == len(distinct) - 1).any() else distinct[:-1]  # the last is a missing one
    return field.read(GivenColumn(there)), place


def _distinct(column: Any) -> tuple[list[Any], Ints]:
    """Return the distinct values of a column, None being missing, and the place of each row's (n,) among them."""
    found = column.drop_nulls().unique().to_list()
    known = [value for value in found if value == value]  # noqa: PLR0124 - NaN is not itself
    place = column.replace_strict(known, list(range(len(known))), default=len(known)) if known else None
    numbers = np.zeros(len(column), dtype=np.int64) if place is None else np.asarray(place.to_numpy(), dtype=np.int64)
    return [*known, None], numbers


def _actions(column: Any, names: Sequence[str]) -> Ints:
    distinct, place = _distinct(column)
    numbers = {name: k for k, name in enumerate(names)}
    found = np.array([-1 if value is None else numbers.get(action_name(value), -1) for value in distinct])[place]
    if (found < 0).any():
        row = int((found < 0).argmax())
        if (value := distinct[place[row]]) is None:
            raise InputError(f"row {row + 1}: '{clipped(column.name)}' is missing; leave out rows without an action")
        name = clipped(action_name(value))
        raise InputError(f"row {row + 1}: action '{name}' is none of {shown(list(names))}; name all by option actions")
    return found


def _numbers(frame: Any, name: str) -> Floats:
    column = frame.get_column(name)
    if not (column.dtype.is_numeric() or str(column.dtype) == "Boolean"):
        raise InputError(f"column '{clipped(name)}' must hold numbers, and holds {column.dtype}")
    numbers = np.asarray(column.to_numpy(), dtype=float)
    wrong = np.flatnonzero(~np.isfinite(numbers))
    if len(wrong):
        raise InputError(f"row {wrong[0] + 1}: '{clipped(name)}' is missing or infinite; leave out such rows")
    return numbers
