"""A schema of columns: the kind of each column of a table, found once, and applied by name to all later tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Self

import numpy as np

from milpcb.core.checks import LARGEST, number_array
from milpcb.data.columns import Value, Values, as_number
from milpcb.data.fields import MARKS, Field, ends, kinds_of, odd_numbers, odd_words, plain
from milpcb.data.frames import GivenColumn, given_columns, table_names
from milpcb.errors import InputError, UnknownNameError, clipped, shown


@dataclass(frozen=True)
class Schema:
    """Columns in their order, each with its own name; see Field."""

    fields: tuple[Field, ...] = ()

    @classmethod
    def infer(cls, table: Any, names: Sequence[str] = ()) -> Self:
        """Return the schema of a table, see ``inferred``; ``names`` are those of the columns where it has none."""
        names = table_names(table) or names
        return cls(tuple(inferred(name, given) for name, given in given_columns(table, names, names).items()))

    @classmethod
    def of_numbers(cls, names: Iterable[str]) -> Self:
        """Return the schema of columns of numbers that are never missing."""
        return cls(tuple(map(Field, names)))

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(field.name for field in self.fields)

    def __len__(self) -> int:
        return len(self.fields)

    def __getitem__(self, name: str) -> Field:
        for field in self.fields:
            if field.name == name:
                return field
        raise UnknownNameError("column", name, self.names)

    def read(self, table: Any, wanted: Iterable[str] | None = None) -> dict[str, Values]:
        """Return columns (n,), ``wanted`` or all, see ``Field.read``; by position where the table has no names."""
        wanted = self.names if wanted is None else tuple(wanted)
        given = given_columns(table, self.names, wanted)
        return {name: self[name].read(given[name]) for name in wanted}

    def allowing_missing(self) -> Schema:
        """Return the schema in which every value may be missing."""
        return Schema(tuple(replace(field, missing=True) for field in self.fields))

    def lines(self) -> list[str]:
        """Return a line for each reading of a column that somebody might not expect."""
        return [line for field in self.fields for line in _noted(field)]

    def document(self) -> list[dict[str, Any]]:
        """Return the schema as plain data, which ``of_document`` reads."""
        return [asdict(field) for field in self.fields]

    @classmethod
    def of_document(cls, document: Iterable[Mapping[str, Any]]) -> Self:
        """Return the schema of ``document``; raises TypeError, ValueError on other data."""
        lists = ("values", "missing_as")
        found = cls(tuple(Field(**{**entry, **{name: tuple(entry[name]) for name in lists}}) for entry in document))
        hash(found.fields)  # TypeError where a list stands for a name, a value or a mark
        return found

    def __str__(self) -> str:
        rows = [("column", "role", "kind", "values", "missing"), *map(Field.in_table, self.fields)]
        widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
        return "\n".join(["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows] + self.lines())


def inferred(name: str, given: GivenColumn) -> Field:
    """Return the field of a column: integers that are equal as floats are categories; InputError on several kinds."""
    if isinstance(given.entries, np.ndarray):
        known = ends(given.entries[np.isfinite(given.entries)])
        return Field(name, "number", known, bool(np.isnan(given.entries).any()))
    entries = [_plain(name, row, value) for row, value in enumerate(given.entries)]
    values, missing = {value for value in entries if value is not None}, None in entries
    kinds = kinds_of(entries)
    if kinds <= {"boolean"} or (kinds == {"boolean", "number"} and values <= {0, 1}):
        return Field(name, "boolean" if kinds else "number", (False, True) if kinds else (), missing)
    if len(kinds) > 1:
        first, other = (next(v for v in entries if kinds_of([v]) == {kind}) for kind in sorted(kinds)[:2])
        both = f"{shown(first)} and {shown(other)}: convert all to numbers, or all to text"
        raise InputError(f"column '{clipped(name)}' holds values of several kinds, such as {both}")
    # Integers that are one number as floats are identifiers, whose digits are looked up.
    integers = [value for value in values if isinstance(value, int) and abs(value) <= LARGEST]
    distinct = len(set(map(float, integers))) == len(integers)
    if given.categories is None and kinds == {"number"} and distinct:
        return inferred(name, GivenColumn(number_array(f"column '{clipped(name)}'", entries)))
    if given.categories is None:
        return Field(name, "category", tuple(sorted(values)), missing)
    there = tuple(value for value in map(plain, given.categories) if value in values)
    return Field(name, "ordered category" if given.ordered else "category", there, missing)


def read_columns(table: Any, features: Sequence[str], wanted: Iterable[str]) -> dict[str, Values]:
    """Return some columns (n,) of a table, as inferred; ``features`` are the names of a table without names."""
    given = given_columns(table, features, wanted)
    return {name: inferred(name, column).read(column) for name, column in given.items()}


def _plain(name: str, row: int, value: Any) -> Value:
    try:
        return plain(value)
    except (TypeError, ValueError, OverflowError) as error:
        what = f"column '{clipped(name)}' holds {shown(value)} in row {row}"
        raise InputError(f"{what}; give numbers, strings, booleans, or nothing") from error


def _noted(field: Field) -> Iterator[str]:
    name = shown(field.name)
    if field.name != field.name.strip():
        yield f"{name} has a blank before or after its name, which belongs to it"
    if field.missing_as:
        yield f"{name}: {', '.join(map(shown, field.missing_as))} is read as missing"
    if field.is_number or field.kind == "boolean":
        return
    texts = [value for value in field.values if isinstance(value, str)]
    if not texts and field.values:
        yield f"{name} is a {field.kind} of numbers: its values are looked up, and not compared"
    if texts and all(as_number(text) is not None for text in texts):
        yield f"{name} holds text that spells numbers, such as {shown(texts[0])}: it is looked up, and not compared"
    marks = [text for text in texts if text.strip().lower() in MARKS]
    if marks:
        yield f"{name} has the value {shown(marks[0])}, which is kept as a string, and not read as missing"
    if odd := odd_numbers(texts) or odd_words(texts):
        yield f"{name} holds {odd}"
