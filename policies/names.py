"""Names of features and actions: in printed rules, in data frames, in answers."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from milpcb.core.checks import context_array
from milpcb.core.decimals import written
from milpcb.core.text import escaped, quoted
from milpcb.data.columns import Column, Number, encoded
from milpcb.data.fields import Field
from milpcb.data.frames import n_rows, named_rows, table_names
from milpcb.data.schema import Schema
from milpcb.errors import InputError, clipped, shown
from milpcb.types import Floats


@dataclass(frozen=True)
class Names:
    """Feature and action names; where none are given, features are called x0, x1, ... and actions by their number.

    Where there are ``columns``, ``columns[i]`` makes number i of a context from the given tables;
    ``features`` are the names of the columns of these tables, and ``fields`` are their kinds and values.
    """

    features: tuple[str, ...] = ()
    actions: tuple[str, ...] = ()
    columns: tuple[Column, ...] = ()
    fields: tuple[Field, ...] = ()

    @classmethod
    def of(cls, features: Sequence[str] | None, actions: Sequence[str] | None) -> Names:
        """Return the given names, None for none; raises InputError where two are equal or one is not a string."""
        return cls(_distinct("feature_names", features), _distinct("action_names", actions))

    @property
    def schema(self) -> Schema:
        """Kinds of the columns of tables; without other knowledge they are numbers that are never missing."""
        return Schema(self.fields) if self.fields else Schema.of_numbers(self.features)

    def on(self, contexts: Any, n_actions: int) -> tuple[Names, Floats]:
        """Return the names for these contexts (m, d), and the contexts as a read-only array of floats.

        Without names of features, a table's own names are taken; with them, its columns of these names are. Raises
        InputError where the numbers of names, features and actions differ, and where a column is one of categories:
        classes read numbers.
        """
        columns = table_names(contexts)
        named = Names(self.features or columns, self.actions)
        for field in Schema.infer(contexts, named.features).fields if columns else ():
            odd = field.missing or field.kind not in ("number", "boolean")
            if field.name in named.features and odd:
                what = "has missing values" if field.missing else f"is a {field.kind}"
                raise InputError(
                    f"column '{clipped(field.name)}' {what}, and a policy class reads numbers: turn it into numbers, "
                    "or take an estimator of milpcb.estimators"
                )
        array = named.table(contexts) if columns or named_rows(contexts) else context_array(contexts)
        _check_count("feature_names", named.features, array.shape[1], "features")
        _check_count("action_names", named.actions, n_actions, "actions")
        return named, array

    def table(self, contexts: Any, least_columns: int = 1, tested: Collection[int] | None = None) -> Floats:
        """Return contexts as an array (m, d); of a table with names the columns that carry the names of the features.

        From strings and missing values only the numbers that are ``tested`` are made, None for all. Raises InputError
        where a column is missing or holds unfit values, or there are fewer than ``least_columns`` columns, or more
        columns of a table without names than the features have.
        """
        if self.columns:
            read = range(len(self.columns)) if tested is None else tested
            wanted = dict.fromkeys(self.columns[i].name for i in read)
            if not wanted:  # a constant
                return np.zeros((n_rows(contexts), len(self.columns)))
            return encoded(self.columns, self.schema.read(contexts, wanted), read)
        if not (self.features and (table_names(contexts) or named_rows(contexts))):
            return self._by_position(context_array(contexts, least_columns))
        values = self.schema.read(contexts)
        return context_array(np.column_stack(list(values.values())), least_columns)

    def _by_position(self, array: Floats) -> Floats:
        if self.features and array.shape[1] > len(self.features):
            raise InputError(
                f"contexts have {array.shape[1]} columns, but the policy has names for {len(self.features)}: "
                f"{', '.join(self.features)}; give these columns in this order, or a data frame"
            )
        return array

    def feature(self, i: int) -> str:
        """Return the name of feature ``i`` as it is printed, see milpcb.data.columns."""
        return self.column(i).title

    def column(self, i: int) -> Column:
        """Return the description of feature ``i``: without other knowledge, a number that is never missing."""
        return self.columns[i] if self.columns else Number(self.features[i] if self.features else f"x{i}")

    def field(self, i: int) -> Field:
        """Return the field of the column that feature ``i`` is made of."""
        name = self.column(i).name
        return self.schema[name] if self.features else Field(name)

    def between(self, i: int, low: float, high: float) -> str:
        """Return low < feature ``i`` <= high in words."""
        column = self.column(i)
        if column == Number(column.name):
            return f"{written(low)} < {column.title} <= {written(high)}"
        return f"{column.test('>', low)} and {column.test('<=', high)}"

    def action(self, a: int) -> str:
        """Return the name of action ``a`` as it is printed: in quotes where it would not stand on a line as it is."""
        if not self.actions:
            return f"action {a}"
        name = self.actions[a]
        return name if name == name.strip() == escaped(name) != "" and not name.startswith('"') else quoted(name)


def _distinct(option: str, names: Sequence[str] | None) -> tuple[str, ...]:
    if names is None:
        return ()
    listed = isinstance(names, Iterable) and not isinstance(names, str)
    if not listed or not all(isinstance(name, (str, int, np.integer)) for name in names):
        raise InputError(f"{option} must be a list of names, got {shown(names)}")
    found = tuple(str(name) for name in names)
    for i, name in enumerate(found):
        if name in found[:i]:
            raise InputError(f"{option} has '{name}' twice; give each its own name")
    return found


def _check_count(option: str, names: tuple[str, ...], wanted: int, what: str) -> None:
    if names and len(names) != wanted:
        raise InputError(f"{option} has {len(names)} names for {wanted} {what}; give one for each, or none at all")
