"""Values of any origin as plain data, and these as values of a column: read, or refused in one line with the fix."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property
from math import isnan
from numbers import Real
from typing import Any, cast

import numpy as np

from milpcb.core.checks import LARGEST, MOST
from milpcb.core.decimals import written
from milpcb.core.text import escaped, folded
from milpcb.data.columns import Value, Values, as_number, in_words, name_in_words
from milpcb.data.frames import GivenColumn
from milpcb.errors import InputError, UnknownNameError, clipped, shown
from milpcb.types import Floats

ROLES = ("feature", "action", "outcome", "propensity", "group", "weight", "identifier", "time", "row number",
    "constraint")  # fmt: skip
KINDS = ("number", "category", "ordered category", "boolean")
# How programs, and people, write that a value is missing: a line names it where it is kept as a string. In lower case.
NULLS = {"na", "n/a", "#n/a", "#na", "<na>", "nan", "-nan", "nat", "null", "none", "nil", "1.#ind", "-1.#ind",
    "1.#qnan", "-1.#qnan"}  # fmt: skip
MARKS = {*NULLS, "", "missing", "unknown", "-", "--", ".", "?"}
BETWEEN = ".,'\u2019_ \u00a0\u2009\u202f"  # what people write behind thousands
NUMBER = re.compile(  # in any digits, with signs between them, behind a currency or before a unit
    rf"(?P<before>[A-Z]{{3}}|[$\u20ac\u00a3\u00a5\u20b9]?)\s*(?P<number>[-+\u2212]?\d+(?:[{BETWEEN}]?\d+)*)\s*"
    r"(?P<after>[^\W\d].*|[%\u2030\u00b0$\u20ac\u00a3\u00a5\u20b9]?)"
)
GROUPED = f"^[-+]?[0-9]{{1,3}}([{BETWEEN}]?[0-9]{{3}})*([.,][0-9]+)?$"  # a number with a sign behind its thousands
NOTHING = ("NAType", "NaTType", "MaskedConstant")  # types of missing values of pandas and numpy


def plain(value: Any) -> Value:
    """Return a value of any origin as plain data, None where it is missing; raises TypeError on anything else."""
    if isinstance(value, np.ndarray) and value.ndim == 0 and value is not np.ma.masked:
        value = value[()]
    if value is None or type(value) in (bool, int, str):
        return cast("Value", value)
    if isinstance(value, str):
        return str.__str__(value)
    if type(value).__name__ in NOTHING or (isinstance(value, (np.datetime64, np.timedelta64)) and np.isnat(value)):
        return None
    if isinstance(value, (bool, int, np.bool_, np.integer)) and not isinstance(value, np.timedelta64):
        return bool(value) if isinstance(value, np.bool_) else int(value)
    if not isinstance(value, (Real, Decimal)):
        raise TypeError("no value")
    return None if isnan(value) else float(value)


def kinds_of(values: Iterable[Value]) -> set[str]:
    """Return the kinds of plain values, missing ones left out: "boolean", "text", "number"."""
    kinds = {bool: "boolean", str: "text", int: "number", float: "number"}
    return {kinds[kind] for kind in set(map(type, values)) - {type(None)}}


def ends(numbers: Floats) -> tuple[float, ...]:
    """Return the least and the greatest number, () of none."""
    return (float(numbers.min()), float(numbers.max())) if len(numbers) else ()


class UnfitError(InputError):
    """A value does not fit its column: ``what`` it is, and how to ``fix`` it."""

    def __init__(
        self, name: str, what: str, fix: str, column: str = "column", *, row: int | None = None, missing: bool = False
    ) -> None:
        super().__init__(f"{column} '{clipped(escaped(name))}' {what}: {fix}")
        self.name, self.what, self.fix, self.row, self.missing = name, what, fix, row, missing

    def of_file(self) -> UnfitError:
        """Return the error with the row counted from 1, as the rows of a file are."""
        if self.row is None:
            return self
        before, _, after = self.what.rpartition(f" in row {self.row}")
        return UnfitError(self.name, f"{before} in row {self.row + 1}{after}", self.fix, missing=self.missing)


@dataclass(frozen=True)
class Field:
    """A column of a schema: its name, the kind of its values, and which of them occur."""

    name: str
    kind: str = "number"  # one of KINDS
    values: tuple[Value, ...] = ()  # categories in order; of numbers the least and the greatest, or some cut points
    missing: bool = False  # whether a value may be missing
    role: str = "feature"  # one of ROLES
    missing_as: tuple[str, ...] = ()  # marks that were read as missing, as written; of numbers, what they spell too

    def __post_init__(self) -> None:
        if self.kind not in KINDS or self.role not in ROLES:
            raise UnknownNameError("kind or role of a column", f"{self.kind}, {self.role}", (*KINDS, *ROLES))

    @property
    def is_number(self) -> bool:
        """Whether values are compared with numbers, and not looked up."""
        return self.kind == "number"

    @property
    def texts(self) -> bool:
        """Whether the categories are strings."""
        return any(isinstance(value, str) for value in self.values)

    @property
    def marks(self) -> tuple[Value, ...]:
        """The values that are missing, as None is: an empty string unless it is a value, and ``missing_as``."""
        empty = ("",) if self.texts and "" not in self.values else ()
        spelt = () if self.texts or self.kind == "boolean" else map(as_number, self.missing_as)
        return (*empty, *self.missing_as, *(number for number in spelt if number is not None and not isnan(number)))

    def in_table(self) -> tuple[str, str, str, str, str]:
        """Return name, role, kind, values and whether one may be missing, each on one line and as tests have it."""
        values = [clipped(in_words(value), 20) for value in self.values[:6]]
        if self.is_number:
            words = " to ".join(written(cast("float", value)) for value in self.values)
        else:
            words = ", ".join(values) + (f", ... ({len(self.values)})" if len(self.values) > len(values) else "")
        name = name_in_words(clipped(self.name))
        return name, self.role, self.kind, words, "may be" if self.missing else "never"

    def words(self) -> str:
        """Return the field in words, without the role and with the marks of a missing value, for exports."""
        name, _, kind, values, missing = self.in_table()
        own = (mark for mark in self.marks if isinstance(mark, str))
        marks = [clipped(in_words(mark) if self.texts or as_number(mark) is None else mark, 20) for mark in own]
        also = f"; read as missing: {', '.join(marks)}" if marks else ""
        others = "; another spelling of a value or mark is refused" if self.texts else ""
        return f"{name}: {kind}{values and f', {values}'}; {missing} missing{also}{others}"

    @property
    def takes_truth(self) -> bool:
        """Whether True and False may stand for the numbers 1 and 0: where no others are known."""
        return self.is_number and set(self.values) <= {0, 1}

    def read(self, given: GivenColumn) -> Values:
        """Return a column (n,): floats, NaN being missing, or objects, None being missing; raises UnfitError.

        Strings that the type of the column has as categories are values of their own.
        """
        if self.is_number and isinstance(given.entries, np.ndarray):
            return self._numbers(given.entries)
        entries = given.entries.tolist() if isinstance(given.entries, np.ndarray) else given.entries
        own = set(given.categories or ()) - set(self.marks) if self.texts else set()
        read = (each if type(each) is str and each in own else self.one(each, row) for row, each in enumerate(entries))
        return self.array(list(read))

    def array(self, values: list[Value]) -> Values:
        """Return values that were read, one by one, as a column."""
        if self.is_number:
            return np.array([np.nan if value is None else float(value) for value in values])
        column = np.empty(len(values), dtype=object)
        column[:] = values
        return column

    def seen(self, column: Values) -> Field:
        """Return the field with the values of a column that it has read, as if there were no others."""
        if self.is_number:
            lost = np.isnan(column)
            return replace(self, values=ends(column[~lost]), missing=bool(lost.any()))
        there = set(column.tolist())
        values = self.values if self.kind == "boolean" else tuple(value for value in self.values if value in there)
        return replace(self, values=values, missing=None in there)

    def one(self, value: Any, row: int | None = None) -> Value:
        """Return one value, None where it is missing; ``row`` is named where it does not fit, by UnfitError."""
        try:
            entry = plain(value)
        except (TypeError, ValueError, OverflowError):
            raise self._unfit(value, row, "which is no value", "give a number, a string, a boolean, or None") from None
        if entry is None or ((entry == "" or self.missing_as) and entry in self.marks):
            if not self.missing:
                raise self._lost(row)
            return None
        if self.is_number:
            return self._number(entry, row)
        if self.kind == "boolean":
            if isinstance(entry, str) or entry not in (0, 1):
                raise self._unfit(entry, row, "and its values are true and false", "give True or False")
            return bool(entry)
        if self.texts != isinstance(entry, str) or isinstance(entry, bool):
            example = clipped(in_words(next((value for value in self.values if value is not None), None)))
            kind, fix = ("strings", "string that it was written as") if self.texts else ("codes", "number that it was")
            raise self._unfit(entry, row, f"and its values are {kind} such as {example}", f"turn it into the {fix}")
        return self._string(entry, row) if isinstance(entry, str) else self._code(entry, row)

    def _string(self, entry: str, row: int | None) -> str:
        """Return a string that is a value, or no other spelling of one or of a mark."""
        if entry in self._known:
            return entry
        if other := self._spellings.get(folded(entry)):
            both = "" if row is None else ", or give the column a type that has both as categories"
            raise self._unfit(entry, row, f"and is known as {shown(other)}", f"write it so{both}")
        if folded(entry) in {"", *NULLS}:
            what, fix = "which is no known value, or a missing one", "give None, or name it as missing"
            raise self._unfit(entry, row, what, fix)
        return entry

    def _code(self, entry: float, row: int | None) -> Value:
        """Return a number that is looked up, with all its digits."""
        if not isinstance(entry, float):
            return entry
        self._number(entry, row)
        if abs(entry) >= MOST:
            raise self._unfit(entry, row, "a float beyond 2^53, and its values are codes", "give it as an integer")
        return int(entry) if entry.is_integer() else entry

    @cached_property
    def _known(self) -> frozenset[Value]:
        return frozenset(self.values)

    @cached_property
    def _spellings(self) -> dict[str, str]:
        return {folded(value): value for value in self.values if isinstance(value, str)}

    def _number(self, entry: Value, row: int | None) -> Value:
        unknown = ", or None where it is not known" if self.missing else ""
        if isinstance(entry, str):
            if as_number(entry) is not None:
                raise self._unfit(entry, row, "which is text, not a number", "convert it")
            raise self._unfit(entry, row, "and its values are numbers", f"give a number{unknown}")
        if isinstance(entry, bool) and not self.takes_truth:
            example = written(cast("float", self.values[-1]))
            raise self._unfit(entry, row, f"and its values are numbers such as {example}", "give a number")
        if not abs(cast("float", entry)) <= LARGEST:
            raise self._unfit(entry, row, f"which is infinite or beyond {LARGEST:g}", f"give a finite number{unknown}")
        return int(entry) if isinstance(entry, bool) else entry

    def _numbers(self, entries: Floats) -> Floats:
        """Return floats as they are, without a copy where no number is a mark of a missing one."""
        if numbers := [float(mark) for mark in self.marks if isinstance(mark, (int, float))]:
            entries = np.where(np.isin(entries, numbers), np.nan, entries)
        lost = np.isnan(entries)
        if not self.missing and lost.any():
            raise self._lost(int(lost.argmax()))
        wrong = np.abs(entries) > LARGEST
        if wrong.any():
            row = int(wrong.argmax())
            self._number(float(entries[row]), row)
        return entries

    def _lost(self, row: int | None) -> UnfitError:
        where = "" if row is None else f" in row {row}"
        fix = (
            "it never was when the policy was learnt; fill it in, leave the row out, or learn from rows in which it is"
        )
        return UnfitError(self.name, f"is missing{where}", f"{fix} missing", row=row, missing=True)

    def _unfit(self, value: Any, row: int | None, what: str, fix: str) -> UnfitError:
        where = "" if row is None else f" in row {row}"
        text = "which is text, " if isinstance(value, str) and what.startswith("and its") else ""
        return UnfitError(self.name, f"is {shown(value)}{where}, {text}{what}", fix, row=row)


# ------------------------------------------------------------------- strings that may mean numbers, or each other


def odd_numbers(texts: Iterable[str]) -> str:
    """Return a remark on strings that are all numbers, some with units or other signs; "" where there is none."""
    found = [(text, NUMBER.fullmatch(text.strip())) for text in _known(texts)]
    units = {None if number is None else number["before"] + number["after"] for _, number in found}
    if len(units) != 1 or (unit := units.pop()) is None:
        return ""
    odd = next((text for text, _ in found if unit or _is_odd(text.strip())), None)
    if odd is None:
        return ""
    how = f"with {shown(unit)}" if unit else "in other signs than 0 to 9, - and ."
    return f"numbers {how}, such as {shown(odd)}, which are strings to a rule: write them as in 1234.5"


def odd_words(texts: Iterable[str]) -> str:
    """Return a remark on strings that may mean the same, and the remedy; "" where none do."""
    known: dict[str, str] = {}
    for text in _known(texts):
        other = known.setdefault(folded(text), text)
        if other != text:
            return f"{shown(other)} and {shown(text)}, which are two strings to a rule: write them in one way"
    return ""


def _known(texts: Iterable[str]) -> Iterable[str]:
    return (text for text in texts if text.strip().lower() not in MARKS)


def _is_odd(number: str) -> bool:
    """Return whether a number is written with other signs than Python reads, or with some between its digits."""
    foreign = any(sign == "\u2212" or (sign.isdecimal() and not sign.isascii()) for sign in number)
    return foreign or (re.match(GROUPED, number) is not None and (as_number(number) is None or "_" in number))
