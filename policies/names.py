"""What features and actions are called: in printed rules, in data frames, in answers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from milpcb.checks import context_array
from milpcb.errors import InputError, did_you_mean, shown
from milpcb.text import escaped
from milpcb.types import Floats


@dataclass(frozen=True)
class Names:
    """Feature and action names; where none are given, features are called x0, x1, ... and actions by their number."""

    features: tuple[str, ...] = ()
    actions: tuple[str, ...] = ()

    @classmethod
    def of(cls, features: Sequence[str] | None, actions: Sequence[str] | None) -> Names:
        """Return names as handed in, None for none; raises InputError where two are equal or one is no text."""
        return cls(_distinct("feature_names", features), _distinct("action_names", actions))

    def on(self, contexts: Any, n_actions: int) -> tuple[Names, Floats]:
        """Return the names for these contexts (m, d), and the contexts as a read-only array of floats.

        A data frame brings the names of its features, unless there are some already: then its columns of these names
        are taken. Raises InputError where the numbers of names, features and actions differ.
        """
        columns = column_names(contexts)
        named = Names(self.features or columns, self.actions)
        array = named.table(contexts) if columns else context_array(contexts)
        _check_count("feature_names", named.features, array.shape[1], "features")
        _check_count("action_names", named.actions, n_actions, "actions")
        return named, array

    def table(self, contexts: Any, least_columns: int = 1) -> Floats:
        """Return contexts as an array (m, d); of a data frame the columns that carry the names of the features.

        Raises InputError where one of them is missing, or there are fewer than ``least_columns`` columns, or more
        columns of a table without names than the features have.
        """
        columns = column_names(contexts)
        if not (columns and self.features):
            return self._by_position(context_array(contexts, least_columns))
        for name in self.features:
            if columns.count(name) != 1:
                problem = f"has {columns.count(name)} columns" if name in columns else "has no column"
                hint = "" if name in columns else did_you_mean(name, columns)
                raise InputError(f"the data frame of contexts {problem} named '{name}'{hint}")
        return context_array(contexts[list(self.features)], least_columns)

    def _by_position(self, array: Floats) -> Floats:
        """Return an array whose columns are taken in their order; raises InputError where there are more than names."""
        if self.features and array.shape[1] > len(self.features):
            raise InputError(
                f"contexts have {array.shape[1]} columns, but the policy has names for {len(self.features)}: "
                f"{', '.join(self.features)}; give these columns in this order, or a data frame"
            )
        return array

    def feature(self, i: int) -> str:
        """Return the name of feature ``i`` as it is printed, without control characters."""
        return escaped(self.features[i]) if self.features else f"x{i}"

    def action(self, a: int) -> str:
        """Return the name of action ``a`` as it is printed, without control characters."""
        return escaped(self.actions[a]) if self.actions else f"action {a}"


def column_names(table: Any) -> tuple[str, ...]:
    """Return the names of a data frame's columns; () for arrays, lists, and frames whose columns are only numbered."""
    columns = getattr(table, "columns", ())
    return tuple(columns) if len(columns) and all(isinstance(name, str) for name in columns) else ()


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
