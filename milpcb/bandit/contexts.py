"""Contexts of a service, one at a time: by name or by position, with strings and missing values where declared."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from math import isfinite, isnan
from typing import Any, cast

import numpy as np

from milpcb.core.checks import LARGEST, several
from milpcb.core.text import folded
from milpcb.data.columns import Column, Number, Value, Values, as_number, encoded
from milpcb.data.fields import NULLS, Field, UnfitError, plain
from milpcb.data.frames import GivenColumn, in_order, is_frame, named, named_rows, no_such, records, table_names
from milpcb.data.made_columns import declared_columns
from milpcb.data.schema import Schema, inferred
from milpcb.data.tables import frame_of
from milpcb.errors import InputError, clipped, shown
from milpcb.protocols import PolicyClass
from milpcb.types import Floats, FoundPolicy

MOST_VALUES = 200  # of a feature that are known, in the place of cut points


@dataclass(frozen=True)
class Context:
    """One context: the features as plain data, the numbers (1, d) that the class reads, and the row if it has names."""

    features: tuple[Value, ...]
    numbers: Any
    row: Mapping[str, Any]


class ContextReader:
    """Turns contexts into the numbers that a policy class reads; ``declared`` features become tests."""

    def __init__(self, policies: PolicyClass, declared: Mapping[str, Sequence[Any]] | None) -> None:
        if not isinstance(declared, Mapping | None):
            raise InputError(f"values must map features to the strings that they may hold, got {shown(declared)}")
        declared = {str(name): values for name, values in (declared or {}).items()}
        self.given = policies  # ``policies`` is the class that reads the numbers
        called = getattr(policies, "action_names", None)
        self.actions: list[Any] = list(map(str, called)) if called else list(range(policies.n_actions))
        cuts_of_none = isinstance(cuts := getattr(policies, "thresholds", None), (list, tuple)) and not cuts
        self.featureless = cuts_of_none and is_dataclass(policies)
        if self.featureless:  # one constant feature stands in the place of none
            changed: Any = policies
            policies = replace(changed, thresholds=[[]], feature_names=None)
        self.policies = policies
        self.names = tuple(map(str, getattr(policies, "feature_names", None) or ()))
        self._cuts = _cut_points(policies, self.names)
        own = [_field(name, declared.get(name, ()), self._cuts.get(name, ())) for name in self.names]
        more = [_field(name, declared[name], (), "constraint") for name in declared if name not in self.names]
        self.schema = Schema((*own, *more))
        self._features = self.schema.fields[: len(own)]
        self._fields = {field.name: field for field in self.schema.fields}
        self.declared = {name: _values(self._fields[name]) for name in declared}
        self._columns: list[Column] = []
        if any(name in self.declared for name in self.names):
            self._make_columns()

    def read(self, context: Any) -> Context:
        """Return one context: numbers (d,), a row that carries names, or a table of one row; raises InputError."""
        rows = [_constant(context)] if self.featureless else _rows(context)
        if len(rows) != 1:
            raise InputError(f"act decides for one context, got a table of {len(rows)} rows: call act for each")
        return self.read_row(rows[0])

    def read_all(self, table: Any) -> list[Context]:
        """Return the context of each row of a data frame, of an array (n, d), or of a list of contexts."""
        table = list(table) if isinstance(table, Iterator) else table  # it can be gone through once
        if getattr(table, "ndim", 1) == 0:
            raise InputError(f"a table is a data frame, an array (n, d) or a list of rows; got {shown(table)}")
        return list(map(self.read, records(table) if is_frame(table) else named_rows(table) or table))

    def table(self, rows: Sequence[Sequence[Value]]) -> Any:
        """Return the features of contexts as a data frame; as an array (n, d) where they have no names."""
        return frame_of(self._features, rows) if self._features else np.array(rows, dtype=float)

    def show(self, policy: Any) -> FoundPolicy:
        """Return a policy in a form that reads the original tables, with strings and missing values."""
        if not self._columns:
            return policy
        actions = getattr(self.policies, "action_names", None) or ()
        return policy.with_columns(Schema(self._features), tuple(self._columns), actions)

    def cut_points(self, i: int, policy: Any, known: Floats) -> list[float]:
        """Return the cut points of feature ``i`` in class and policy, else the ``known`` values (m,)."""
        tested = policy.cut_points() if hasattr(policy, "cut_points") else None
        own = list(self._cuts.get(self.names[i], ()) if self.names else ())
        itself = [j for j, each in enumerate(self._columns) if isinstance(each, Number) and each.name == self.names[i]]
        for column in itself if self._columns else [i]:
            own += (tested or {}).get(column) or ()
            if not own:
                own += np.unique(known[:, column])[:MOST_VALUES].tolist()
        return sorted(set(map(float, own)))

    def columns(self, context: Context) -> dict[str, Values]:
        """Return columns whose first row is the context, and which hold every value that a condition may name."""
        size = 1 + max(map(len, self.declared.values()), default=0)
        names = self.names or map("x{}".format, range(len(context.features)))
        columns: dict[str, Values] = {}
        for name, value in {**dict(zip(names, context.features, strict=True)), **context.row}.items():
            field = self._fields.get(name) or _undeclared(name, value)
            if field is not None:
                one, others = self._one(field, value), [] if field.is_number else list(self.declared.get(name, ()))
                columns[name] = field.array([one, *others, *[one] * (size - 1 - len(others))])
        return columns

    def advice(self, context: Context) -> str:
        """Return the remedy for strings that constraints read but nobody declared; "" where there are none."""
        for name, value in context.row.items():
            if isinstance(value, str) and name not in self._fields:
                if as_number(value) is not None:
                    return f"'{clipped(name)}' is {shown(value)}, which is text, not a number: convert it"
                return f"declare what constraints read, as in Bandit(..., values={{'{name}': [{shown(value)}]}})"
        return ""

    def read_row(self, row: Any) -> Context:
        """Return the context of one row, such as the features of a decision."""
        by_name = named(row)
        values, came = (in_order(row), {}) if by_name is None else (self._by_name(by_name), by_name)
        if not self._columns and _all_numbers(values):
            return Context(tuple(values), [values], came)
        if self.names and len(values) != len(self.names):
            raise InputError(f"the context has {len(values)} features, and the class {len(self.names)}")
        own = self._features or [Field(str(i)) for i in range(len(values))]
        features = tuple(map(self._one, own, values))
        if not self._columns:
            return Context(features, [list(map(float, cast("Any", features)))], came)
        arrays = {field.name: field.array([value]) for field, value in zip(own, features, strict=True)}
        return Context(features, encoded(self._columns, arrays, range(len(self._columns))), came)

    def _make_columns(self) -> None:
        """Make the numbers of the class of declared features, and the class with cut points for each of them."""
        if not self._cuts:
            raise InputError("strings and missing values need explicit cut points: a list a feature, [] for strings")
        thresholds: list[Sequence[float]] = []
        for field in self._features:
            name, points = clipped(field.name), self._cuts[field.name]
            if field.is_number and field.missing and not (points and all(map(isfinite, points))):
                raise InputError(f"feature '{name}' holds numbers that may be missing: give it cut points")
            if "category" in field.kind and points:
                both = f"cut points, {shown(points)}, and declared values"
                raise InputError(f"feature '{name}' has {both}: give it one of both")
            made = declared_columns(field, points) if field.name in self.declared else (Number(field.name),)
            self._columns += made
            thresholds += [points if isinstance(column, Number) else [0.5] for column in made]
        changed: Any = self.policies
        self.policies = replace(changed, thresholds=thresholds, feature_names=None)

    def _by_name(self, row: Mapping[str, Any]) -> list[Any]:
        if not self.names:
            raise InputError("a context by names needs a class with feature_names; give them, or a list of numbers")
        for name in self.names:
            if name not in row:
                raise no_such("the context has no feature", name, row)
        return [row[name] for name in self.names]

    def _one(self, field: Field, value: Any) -> Value:
        try:
            return field.one(value)
        except UnfitError as error:
            fix, text = error.fix.removesuffix(", or name it as missing"), isinstance(value, str)
            nothing = error.missing or (text and folded(value) in {"", *NULLS})
            spelt = field.is_number and text and as_number(value) is not None
            if not field.missing if nothing else text and not spelt:
                also = f"'{clipped(field.name) if self.names else 'NAME'}': [{None if nothing else shown(value)}]"
                fix = f"{'fill it in' if error.missing else fix}, or declare it, as in Bandit(..., values={{{also}}})"
            raise UnfitError(field.name, error.what, fix, "feature") from error


def _constant(context: Any) -> list[float]:
    if context is None or (hasattr(context, "__len__") and getattr(context, "ndim", True) and not len(context)):
        return [0.0]
    raise InputError(f"the class has no features: call act() without a context, got {shown(context)}")


def _rows(context: Any) -> Sequence[Any]:
    if is_frame(context):
        return records(context)
    return list(context) if table_names(context) and context.ndim else [context]


def _all_numbers(values: list[Any]) -> bool:
    """Return whether these are floats that a class reads as they are; this is on the path of every decision."""
    if set(map(type, values)) != {float} or isnan(sum(values)):  # the least of numbers may hide that one is NaN
        return False
    return bool(-LARGEST <= min(values) <= max(values) <= LARGEST)


def _values(field: Field) -> tuple[Value, ...]:
    return (*(() if field.is_number else field.values), *([None] if field.missing else ()))


def _undeclared(name: str, value: Any) -> Field | None:
    """Return how constraints read a column that nobody declared: as a number; None where it is none."""
    try:
        known = plain(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return None if isinstance(known, str) else Field(name, missing=True, role="constraint")


def _cut_points(policies: PolicyClass, names: Sequence[str]) -> dict[str, list[float]]:
    options: set[str] = {field.name for field in fields(policies)} if is_dataclass(policies) else set()
    cuts = getattr(policies, "thresholds", None)
    if "thresholds" not in options or isinstance(cuts, (str, int)) or cuts is None or len(cuts) != len(names):
        return {}
    return {name: list(points) for name, points in zip(names, cuts, strict=True)}


def _field(name: str, declared: Any, cuts: Sequence[float], role: str = "feature") -> Field:
    """Return a declared column; truth may stand for a number where a cut point divides 1 from 0."""
    values = several(f"values['{name}']", declared, object, "strings, and None where it may be missing")
    found = inferred(name, GivenColumn(values, tuple(values)))
    known: tuple[Value, ...] = tuple(dict.fromkeys(found.values))
    if found.is_number and cuts and not any(0 <= cut < 1 for cut in cuts):
        known = (min(cuts), max(cuts))
    return replace(found, values=known, role=role)
