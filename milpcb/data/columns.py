"""Descriptions of the numbers that a policy reads, each by the column of a table that it comes from.

Predicting, printing, JSON, SQL and Python source all go by this one description.
"""

import operator
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from milpcb.core.decimals import written
from milpcb.core.text import is_plain, quoted
from milpcb.types import Bools, Floats

Value = bool | int | float | str | None  # of a category; None is a missing one
Values = npt.NDArray[Any]  # (n,) of a column: floats, NaN being missing; or objects, None being missing

HOLDS: Mapping[str, Callable[[float, float], bool]] = {
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}  # the comparisons that tests are made of
# Parts of tests beside names and values: a name or value that holds some of it is written in quotes.
_IN_NAMES = re.compile(r"[<>=!{}]|(?<!\S)(?:is|not|and)(?!\S)")
_IN_VALUES = re.compile(r"[{},]|(?<!\S)and(?!\S)| missing\)$|^(?:missing|true|false)$")


def name_in_words(name: str) -> str:
    """Return the name of a column as tests have it: in quotes where it could be read as anything else."""
    return name if is_plain(name) and not _IN_NAMES.search(name) and as_number(name) is None else quoted(name)


def in_words(value: Value) -> str:
    """Return a value as tests write it, unlike any other value: strings that could be anything else are in quotes."""
    if value is None:
        return "missing"
    if isinstance(value, str):
        return value if is_plain(value) and not _IN_VALUES.search(value) and as_number(value) is None else quoted(value)
    return str(value).lower() if isinstance(value, (bool, int)) else written(value)


def groups(column: Values) -> dict[str, Bools]:
    """Return the rows (n,) of each value of a column, by the value in words, which no other value has."""
    if column.dtype == object:
        values = sorted(set(column.tolist()), key=in_words)
        return {in_words(value): np.array([entry == value for entry in column.tolist()]) for value in values}
    found = {in_words(value): column == value for value in np.unique(column[~np.isnan(column)]).tolist()}
    return found | ({"missing": np.isnan(column)} if np.isnan(column).any() else {})


def as_number(text: str) -> int | float | None:
    """Return the number that a string spells, None where it spells none."""
    for kind in (int, float):
        with suppress(ValueError):
            return kind(text)
    return None


@dataclass(frozen=True)
class Number:
    """The number in column ``name``. A missing one counts as ``missing``; where that is None, none may be missing."""

    name: str
    missing: float | None = None

    @property
    def title(self) -> str:
        """Name of the number in printed rules."""
        name = name_in_words(self.name)
        return name if self.missing is None else f"{name} (missing counts as {written(self.missing)})"

    def read(self, values: Values) -> Floats:
        """Return the numbers (n,) of a column that its schema has read."""
        return values if self.missing is None else np.where(np.isnan(values), self.missing, values)

    def test(self, sign: str, cut: float, *, binary: bool = False) -> str:
        """Return a comparison with ``cut`` in words, and on which side of it a missing number is."""
        name = name_in_words(self.name)
        words = f"{name} = {0 if sign == '<=' else 1}" if binary else f"{name} {sign} {written(cut)}"
        if self.missing is None:
            return words
        return f"{words} ({'or' if HOLDS[sign](self.missing, cut) else 'not'} missing)"


@dataclass(frozen=True)
class Membership:
    """The number is ``inside``, 0 or 1, where column ``name`` has one of ``values``, of which None is missing."""

    name: str
    values: tuple[Value, ...]
    inside: int = 0

    @property
    def title(self) -> str:
        """Name of the number in printed rules: a condition in brackets, which is 1 where it holds and 0 elsewhere."""
        return f"[{self.words(holds=self.inside == 1)}]"

    def read(self, values: Values) -> Floats:
        """Return 0 or 1 (n,) for the values of a column, of which None and NaN are missing."""
        lost = np.isnan(values) if values.dtype != object else np.array([value is None for value in values], dtype=bool)
        among = lost & (None in self.values)
        if listed := [value for value in self.values if value is not None]:
            among[~lost] = [value in listed for value in values[~lost].tolist()]
        return np.where(among, float(self.inside), 1.0 - self.inside)

    def test(self, sign: str, cut: float, *, binary: bool = False) -> str:
        """Return a comparison of the number with a ``cut`` between 0 and 1 in words."""
        del binary  # it always is
        return self.words(holds=HOLDS[sign](self.inside, cut))

    def words(self, *, holds: bool) -> str:
        """Return the condition that the value is one of ``values``, or is not, in words."""
        name, values = name_in_words(self.name), [in_words(value) for value in self.values]
        if self.values == (None,):
            return f"{name} is {'' if holds else 'not '}missing"
        if len(values) == 1:
            return f"{name} {'=' if holds else 'is not'} {values[0]}"
        return f"{name} {'in' if holds else 'not in'} {{{', '.join(values)}}}"


@dataclass(frozen=True)
class Reached:
    """Whether the number in column ``name`` is ``cut`` or more: 1 where it is, 0 where it is not or is missing."""

    name: str
    cut: float
    inside: ClassVar[int] = 1

    @property
    def title(self) -> str:
        """Name of the number in printed rules, see Membership."""
        return f"[{self.words(holds=True)}]"

    def read(self, values: Values) -> Floats:
        """Return 0 or 1 (n,) for the numbers of a column, NaN being missing."""
        return np.asarray(values >= self.cut, dtype=float)

    def test(self, sign: str, cut: float, *, binary: bool = False) -> str:
        """Return a comparison of the 0 or 1 with a ``cut`` between them in words."""
        del binary  # it always is
        return self.words(holds=HOLDS[sign](1, cut))

    def words(self, *, holds: bool) -> str:
        """Return the condition that the number is ``cut`` or more, or is not, in words."""
        name = f"{name_in_words(self.name)} {'>=' if holds else '<'} {written(self.cut)}"
        return name if holds else f"{name} (or missing)"


Indicator = Membership | Reached  # the number is ``inside`` where a condition holds, and 1 - ``inside`` elsewhere
Column = Number | Indicator


def alphabet(column: Values) -> dict[Value, float] | None:
    """Return the numbers that stand for the values of a column of objects, by their alphabet; None for numbers."""
    if column.dtype != object:
        return None
    return {value: float(i) for i, value in enumerate(sorted({v for v in column.tolist() if v is not None}, key=str))}


def as_numbers(columns: Iterable[Values]) -> Floats:
    """Return columns as numbers (n, d), for models: strings by their place in the alphabet, NaN for missing."""
    return np.column_stack([_coded(column) for column in columns])


def _coded(column: Values) -> Floats:
    codes = alphabet(column)
    return column if codes is None else np.array([codes.get(value, np.nan) for value in column.tolist()])


def encoded(columns: Sequence[Column], values: Mapping[str, Values], read: Iterable[int]) -> Floats:
    """Return the numbers (n, columns) that a policy reads: those of ``read`` from ``values``, the others 0."""
    table = np.zeros((len(next(iter(values.values()))), len(columns)))
    for i in read:
        table[:, i] = columns[i].read(values[columns[i].name])
    return table
