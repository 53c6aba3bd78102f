"""Contexts of a service, one at a time: by name or by position, with strings and missing values where declared."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from math import isfinite, isnan
from typing import Any, cast

import numpy as np

from milpcb.core.checks import LARGEST
from milpcb.data.columns import Column, Number, Value, Values, encoded
from milpcb.data.made_columns import make_columns
from milpcb.data.schema import read_columns
from milpcb.errors import InputError, clipped, did_you_mean, shown
from milpcb.named_constraints import NamedRows
from milpcb.protocols import PolicyClass
from milpcb.types import Floats


@dataclass(frozen=True)
class Context:
    """One context: the features as plain data, the numbers (1, d) that the class reads, and what ``came``.

    ``names`` are those of the features where it came as a list.
    """

    features: tuple[Value, ...]
    numbers: Any
    came: Any
    names: tuple[str, ...]

    @property
    def named(self) -> Mapping[str, Any]:
        """All that came by name; of a list, the features by the names of the class, or by their numbers."""
        if hasattr(self.came, "keys"):
            return cast("Mapping[str, Any]", self.came)
        return dict(zip(self.names or map("x{}".format, range(len(self.came))), self.came, strict=False))


class ContextReader:
    """Reads contexts for a policy class.

    A class reads numbers. ``declared`` names the features that hold strings, or may be missing, with their values: the
    class then reads tests of these (region in {north, west}; income is missing) beside its numbers, as estimators make
    them (see milpcb.data.made_columns).

    Attributes
    ----------
    policies : the class that reads the numbers
    names : of the features, () where there are none
    declared : name to values

    """

    def __init__(self, policies: PolicyClass, declared: Mapping[str, Sequence[Value]] | None) -> None:
        self.policies = policies
        self.names = tuple(getattr(policies, "feature_names", None) or ())
        self._columns: tuple[Column, ...] = ()
        self.declared = _checked(declared)
        known = {name: self.declared[name] for name in self.names if name in self.declared}
        if known:
            self._columns, self.policies = _with_columns(policies, self.names, known)

    def read(self, context: Any) -> Context:
        """Return one context: numbers (d,), a mapping by names, or a data frame of one row; raises InputError."""
        rows = _records(context)
        if len(rows) != 1:
            raise InputError(
                f"act decides for one context, and this table has {len(rows)} rows: "
                "hand in one of them, or call act_all(table) for a decision on each"
            )
        return self._read(rows[0])

    def read_all(self, table: Any) -> list[Context]:
        """Return the context of each row of a data frame, of an array (n, d), or of a list of contexts."""
        if hasattr(table, "columns"):
            return [self._read(row) for row in _records(table)]
        if hasattr(table, "keys") or not isinstance(table, Iterable):
            raise InputError(f"act_all takes a table: a data frame, or a list of contexts; got {shown(table)}")
        return [self.read(context) for context in table]

    def show(self, policy: Any) -> Any:
        """Return a policy as one that reads tables as they come, strings and missing values included."""
        if not self._columns:
            return policy
        return policy.with_columns(self.names, self._columns, getattr(self.policies, "action_names", None) or ())

    def named_rows(self, context: Context, actions: Sequence[Any]) -> NamedRows:
        """Return the context as constraints read it: the first of several rows.

        The other rows hold every value that was declared, so that a column of strings has their type and a condition
        that names a value which nobody declared is noticed.
        """
        size = 1 + max(map(len, self.declared.values()), default=0)
        columns = {}
        for name, value in context.named.items():
            others = self.declared.get(name, ())
            if _readable(value) and (others or not isinstance(value, str)):
                listed = [value, *others]
                columns[name] = [*listed, *[value] * (size - len(listed))]
        if not columns:
            raise InputError("constraints read contexts by name: give the class feature_names, or contexts by names")
        table = np.empty((size, len(columns)), dtype=object)
        for i, column in enumerate(columns.values()):
            table[:, i] = column
        return NamedRows(read_columns(table, list(columns), columns), actions)

    def undeclared(self, context: Context) -> list[str]:
        """Return the names under which the context has strings that were not declared: constraints do not read them."""
        return [name for name, value in context.named.items() if isinstance(value, str) and name not in self.declared]

    def _read(self, row: Any) -> Context:
        by_name = hasattr(row, "keys")
        try:
            values = self._by_name(row) if by_name else list(row)
        except TypeError as error:
            raise InputError(
                f"a context is a list of numbers, a mapping by names, or a row of a data frame; got {shown(row)}"
            ) from error
        came = row if by_name else values
        ready = _all_numbers(values)
        features = tuple(values if ready else map(_plain, values))
        if not self._columns:
            return Context(features, [values if ready else self._numbers(features)], came, self.names)
        if len(features) != len(self.names):
            raise InputError(f"the context has {len(features)} features, and the class {len(self.names)}")
        return Context(features, self._encoded(features), came, self.names)

    def _by_name(self, row: Mapping[str, Any]) -> list[Any]:
        if not self.names:
            raise InputError(
                "a context by names needs a policy class with feature_names; give them, or a list of numbers"
            )
        for name in self.names:
            if name not in row:
                raise InputError(f"the context has no feature '{name}'{did_you_mean(name, map(str, row.keys()))}")
        return [row[name] for name in self.names]

    def _numbers(self, features: tuple[Value, ...]) -> list[float]:
        for i, value in enumerate(features):
            if not isinstance(value, (int, float)) or not abs(value) <= LARGEST:
                raise self._no_number(i, value)
        return [float(cast("float", value)) for value in features]

    def _encoded(self, features: tuple[Value, ...]) -> Floats:
        """Return the numbers (1, columns) of strings, numbers and missing values."""
        missing = {column.name for column in self._columns if isinstance(column, Number) and column.missing is not None}
        numbers = {column.name for column in self._columns if isinstance(column, Number)}
        values: dict[str, Values] = {}
        for i, (name, value) in enumerate(zip(self.names, features, strict=True)):
            number = isinstance(value, (int, float)) and abs(value) <= LARGEST
            if name in numbers and not (number or (value is None and name in missing)):
                raise self._no_number(i, value)
            if isinstance(value, float) and not isfinite(value):
                raise self._no_number(i, value)
            values[name] = np.empty(1, dtype=float if name in numbers else object)
            values[name][0] = value
        return encoded(self._columns, values, range(len(self._columns)))

    def _no_number(self, i: int, value: Value) -> InputError:
        name = f"feature '{clipped(self.names[i])}'" if i < len(self.names) else f"feature {i}"
        example = clipped(self.names[i]) if i < len(self.names) else "NAME"
        if value is None:
            return InputError(
                f"{name} is missing: fill it in, or declare that it may be, as in Bandit(..., "
                f"values={{'{example}': [None]}})"
            )
        if isinstance(value, str):
            return InputError(
                f"{name} is {shown(value)}, and the class reads numbers: declare its strings, as in Bandit(..., "
                f"values={{'{example}': [{shown(value)}, ...]}})"
            )
        return InputError(f"{name} is {shown(value)}; give a finite number, of at most {LARGEST:g}")


def _records(context: Any) -> Sequence[Any]:
    """Return the rows of a data frame, anything else as the only one."""
    if not hasattr(context, "columns"):
        return [context]
    names = list(context.columns)
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InputError(f"the data frame has several columns named '{clipped(str(twice))}'")
    return cast("Sequence[Any]", context.to_dicts() if hasattr(context, "to_dicts") else context.to_dict("records"))


def _all_numbers(values: list[Any]) -> bool:
    """Return whether these are floats that a class reads as they are; this is on the path of every decision."""
    if set(map(type, values)) != {float} or isnan(sum(values)):  # the least of numbers may hide that one is NaN
        return False
    return bool(-LARGEST <= min(values) <= max(values) <= LARGEST)


def _plain(value: Any) -> Value:
    """Return a value as plain data, None where it is missing; raises InputError on what is no value."""
    entry = value.item() if isinstance(value, np.generic) else value
    if entry is None or type(entry).__name__ in {"NAType", "NaTType"} or (isinstance(entry, float) and isnan(entry)):
        return None
    if isinstance(entry, (bool, int, float, str)):
        return entry
    raise InputError(f"a context holds {shown(value)}; give numbers, strings, booleans, or None")


def _readable(value: Any) -> bool:
    try:
        _plain(value)
    except InputError:
        return False
    return True


def _checked(declared: Mapping[str, Sequence[Value]] | None) -> dict[str, tuple[Value, ...]]:
    if declared is None:
        return {}
    if not isinstance(declared, Mapping):
        raise InputError(f"values must map features to the strings that they may hold, got {shown(declared)}")
    for name, values in declared.items():
        if isinstance(values, str) or not isinstance(values, Iterable) or not list(values):
            raise InputError(f"values['{name}'] must be a list of strings, and None where it may be missing")
    return {str(name): tuple(map(_plain, values)) for name, values in declared.items()}


def _with_columns(
    policies: PolicyClass, names: tuple[str, ...], declared: Mapping[str, tuple[Value, ...]]
) -> tuple[tuple[Column, ...], PolicyClass]:
    """Return what the numbers of a class are made of, and the class with cut points for each of them."""
    options: set[str] = {field.name for field in fields(policies)} if is_dataclass(policies) else set()
    cuts = getattr(policies, "thresholds", None)
    if "thresholds" not in options or isinstance(cuts, (str, int)) or cuts is None or len(cuts) != len(names):
        raise InputError(
            "strings and missing values need a class with explicit cut points: a list for each feature, [] for strings"
        )
    columns: list[Column] = []
    thresholds: list[Sequence[float]] = []
    for name, points in zip(names, cuts, strict=True):
        made = _columns_of(name, declared[name], points) if name in declared else (Number(name),)
        columns += made
        thresholds += [list(points) if isinstance(column, Number) else [0.5] for column in made]
    changed: Any = policies
    return tuple(columns), cast("PolicyClass", replace(changed, thresholds=thresholds, feature_names=None))


def _columns_of(name: str, declared: tuple[Value, ...], cuts: Sequence[float]) -> tuple[Column, ...]:
    texts = [value for value in declared if isinstance(value, (str, bool))]
    if not texts:  # a number that may be missing: a missing one counts as below, or above, all cut points
        if not list(cuts) or not all(isfinite(cut) for cut in cuts):
            raise InputError(f"feature '{clipped(name)}' holds numbers that may be missing: give it cut points")
        column: Values = np.array([np.nan, *map(float, cuts)])
    else:
        column = np.empty(len(declared), dtype=object)
        column[:] = declared
    return make_columns({name: column}, [name], missing="either", most_subsets=4, scores=False)
