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
from milpcb.offline.log import RANDOMISED, action_names, divided
from milpcb.offline.sufficient_statistics import Known
from milpcb.types import Floats, Ints

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
class LoggedColumns:
    """Names of the columns of what was done, what came of it, and its probability: () in a randomised trial."""

    action: str
    outcome: str
    propensity: tuple[str, ...]
    of_actions: tuple[Any, ...] = ()  # of K columns of probabilities, () where they are not named

    @classmethod
    def of(cls, action: str, outcome: str, propensity: str | Sequence[str] | Mapping[Any, str]) -> Self:
        """Return the names; ``propensity`` may be "randomised", or a mapping from actions to columns."""
        if isinstance(propensity, Mapping):
            return cls(action, outcome, tuple(propensity.values()), tuple(propensity))
        listed = (propensity,) if isinstance(propensity, str) else tuple(propensity)
        return cls(action, outcome, () if listed == (RANDOMISED,) else listed)

    def by(self, actions: Sequence[Any], *, listed: bool) -> Self:
        """Return the names with K columns of probabilities in the order of ``actions``, see data.actions.columns_of."""
        if len(self.propensity) < 2 and not self.of_actions:
            return self
        names = [*map(action_name, actions)]
        columns = columns_of("propensity", self.propensity, self.of_actions, names, listed=listed)
        return replace(self, propensity=columns, of_actions=())

    @property
    def randomised(self) -> bool:
        """Whether the propensity of an action is its share of the rows."""
        return not self.propensity

    @property
    def names(self) -> tuple[str, ...]:
        """All of them."""
        return (self.action, self.outcome, *self.propensity)


class Sample:
    """Every s-th row of a log, all of them up to a million, and rows in which something occurs for the first time."""

    def __init__(self, columns: LoggedColumns, features: Sequence[str] | None = None) -> None:
        self.step, self.n, self._new = 1, 0, 0
        self._columns, self._features = columns, features
        self._frames: list[Any] = []
        self._numbers: list[Ints] = []
        self._seen: dict[str, set[Any]] = {}
        self._schema: dict[str, Any] = {}

    @classmethod
    def of(cls, batches: Iterable[Any], columns: LoggedColumns, features: Sequence[str] | None = None) -> Self:
        """Return a sample of batches of data frames; raises InputError where there are no rows, UnknownNameError."""
        found = cls(columns, features)
        for batch in batches:
            found.add(batch)
        if not found.n:
            raise InputError("the batches have no rows")
        return found

    def add(self, batch: Any) -> None:
        """Take rows of the next batch."""
        try:
            frame = nw.from_native(batch, eager_only=True)
        except TypeError as error:
            raise InputError(f"a batch must be a data frame of pandas or polars, got {type(batch).__name__}") from error
        self._check_schema(dict(frame.schema))
        for name in (self._columns.outcome, *self._columns.propensity):
            _numbers(frame, name)
        numbers = self.n + np.arange(len(frame))
        self.n += len(frame)
        kept = (numbers % self.step == 0) | self._is_new(frame)
        rows = np.flatnonzero(kept)
        self._frames.append(frame[rows.tolist(), :] if len(rows) < len(frame) else frame)
        self._numbers.append(numbers[rows])
        while sum(map(len, self._numbers)) > MOST_ROWS + self._new:
            self.step *= 2  # of rows that were kept for their number every other one goes
            for i, (frame, numbers) in enumerate(zip(self._frames, self._numbers, strict=True)):
                new = numbers % (self.step // 2) != 0
                rows = np.flatnonzero((numbers % self.step == 0) | new)
                self._frames[i], self._numbers[i] = frame[rows.tolist(), :], numbers[rows]

    @property
    def table(self) -> Any:
        """The sampled rows, with all columns."""
        return nw.concat([frame for frame in self._frames if len(frame)]).to_native()

    @property
    def frame(self) -> Any:
        """The features of the sampled rows."""
        frame = nw.from_native(self.table, eager_only=True)
        others = [name for name in frame.columns if name not in self._columns.names]
        return frame.select(others if self._features is None else list(self._features)).to_native()

    def actions(self, given: Sequence[Any] | None) -> tuple[str, ...]:
        """Return the names of the actions: those given, else those of the sample, sorted."""
        if given is not None:
            return tuple(map(action_name, given))
        column = nw.from_native(self.table, eager_only=True).get_column(self._columns.action)
        return action_names(column.drop_nulls().unique().to_list())

    def _check_schema(self, schema: dict[str, Any]) -> None:
        for name in (*self._columns.names, *(self._features or ())):
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
        self._new += int(new.sum())
        return new


def read_rows(
    batch: Any, columns: LoggedColumns, schema: Schema, names: Iterable[str], actions: Sequence[str]
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
