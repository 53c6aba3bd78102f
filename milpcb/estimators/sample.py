"""Batches of a log that does not fit memory: a sample of its rows, and what a pass reads of each batch."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import narwhals as nw
import numpy as np

from milpcb.data.actions import action_name, columns_of
from milpcb.data.columns import Values
from milpcb.data.fields import Field
from milpcb.data.frames import GivenColumn, given_columns
from milpcb.data.schema import Schema
from milpcb.errors import InputError, UnknownNameError, clipped, shown
from milpcb.offline.log import action_names, divided
from milpcb.offline.sufficient_statistics import Known
from milpcb.types import Bools, Floats, Ints

MOST_ROWS = 1_000_000  # of the sample
MOST_NEW = 1000  # rows that are kept because something in them is new
Read = Mapping[str, tuple[Values, Ints | None]]  # of each column distinct values and their place in each row, or values


def batches_of(batches: Iterable[Any] | Callable[[], Iterable[Any]]) -> Iterable[Any]:
    """Return the batches once more; raises InputError where they come once only."""
    if callable(batches):
        return batches()
    if iter(batches) is batches:
        raise InputError("the batches are read twice: give a list, or a function that returns them anew at each call")
    return batches


@dataclass(frozen=True)
class Columns:
    """Which column is what."""

    # action, outcome: names; what was done, and what came of it
    action: str
    outcome: str
    maximise: bool  # whether a larger outcome is better
    # name of the column with the probability of what was done, or names of K columns, one for each action: of those
    # ``propensity_of``, in the order of ``actions``, or called as the actions; () where it is not known
    propensity: tuple[str, ...] = ()
    propensity_of: tuple[str, ...] = ()
    randomised: bool = False  # whether each action had the same probability in every row, as in a randomised trial
    # names of the columns that policies may read; () for all that are nothing else, identifiers and dates left out
    features: tuple[str, ...] = ()
    leave_out: tuple[str, ...] = ()  # names of columns that policies may not read
    # name of the column whose values mark rows that belong together, such as the person; "" where rows are independent.
    # It is no feature unless it is named as one
    group: str = ""
    weight: str = ""  # name of the column of how much each row counts; "" where each counts once
    actions: tuple[str, ...] = ()  # names of the actions in order; () for those of the log, sorted
    missing: tuple[str, ...] = ()  # marks of a missing value in any column, beside the usual ones, see milpcb.logs.read

    @property
    def names(self) -> tuple[str, ...]:
        """Those of action, outcome and propensities."""
        return (self.action, self.outcome, *self.propensity)

    def by(self, actions: Sequence[str]) -> Self:
        """Return the names with K columns of probabilities in the order of ``actions``, see data.actions.columns_of."""
        if len(self.propensity) < 2 and not self.propensity_of:
            return self
        listed = bool(self.actions)
        columns = columns_of("propensity", self.propensity, self.propensity_of, actions, listed=listed)
        return replace(self, propensity=columns, propensity_of=())


class Sample:
    """Every s-th row of a log, all of them up to a million, and rows in which something occurs for the first time."""

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
        while sum(int((~new).sum()) for *_, new in self._parts) > MOST_ROWS:
            self.step *= 2
            self._parts = [self._thinned(*part) for part in self._parts]

    def _thinned(self, frame: Any, numbers: Ints, new: Bools) -> tuple[Any, Ints, Bools]:
        rows = np.flatnonzero((numbers % self.step == 0) | new)
        return frame[rows.tolist(), :] if len(rows) < len(frame) else frame, numbers[rows], new[rows]

    @property
    def table(self) -> Any:
        """The sampled rows, with all columns."""
        return nw.concat([frame for frame, *_ in self._parts if len(frame)]).to_native()

    @property
    def frame(self) -> Any:
        """The features of the sampled rows."""
        frame = nw.from_native(self.table, eager_only=True)
        others = [name for name in frame.columns if name not in self.columns.names]
        return frame.select(list(self.columns.features) or others).to_native()

    @property
    def actions(self) -> tuple[str, ...]:
        """The names of the actions: those that are listed, else those of the sample, sorted."""
        column = nw.from_native(self.table, eager_only=True).get_column(self.columns.action)
        return self.columns.actions or action_names(column.drop_nulls().unique().to_list())

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


def read_rows(
    batch: Any, columns: Columns, schema: Schema, names: Iterable[str], actions: Sequence[str]
) -> tuple[Read, Known]:
    """Return the features of these ``names`` of a data frame, and what is known of its rows; raises InputError."""
    frame = nw.from_native(batch, eager_only=True)
    action = _actions(frame.get_column(columns.action), actions)
    outcome = _numbers(frame, columns.outcome)
    known = np.array([_numbers(frame, name) for name in columns.propensity])
    propensity, chances = known[0] if len(known) == 1 else np.ones(len(frame)), None
    if len(known) > 1:
        chances = divided(known.T, first=1)
        propensity = chances[np.arange(len(action)), action]
    wrong = np.flatnonzero(~((propensity > 0) & (propensity <= 1)))
    if len(wrong):
        row, found = wrong[0], propensity[wrong[0]]
        raise InputError(f"row {row + 1}: the propensity of what was done is {found:g}, and not above 0 and at most 1")
    return {name: _read(frame, schema[name]) for name in names}, Known(action, outcome, propensity, chances=chances)


def _read(frame: Any, field: Field) -> tuple[Any, Ints | None]:
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
