"""Inputs of estimators: features, validated as by scikit-learn; costs, labels and weights; the columns of a log."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import validate_data

from milpcb.core.checks import LARGEST, number_array
from milpcb.data.actions import action_name, columns_of, is_missing, place, places
from milpcb.data.columns import Values
from milpcb.data.fields import odd_words
from milpcb.data.frames import as_array, check_once, is_frame, table_names
from milpcb.data.schema import Schema
from milpcb.data.tables import frame_of
from milpcb.errors import InputError, LogWarning, shown
from milpcb.offline.log import RANDOMISED
from milpcb.types import Bools, Floats


@dataclass(frozen=True)
class Features:
    """The columns of a table by name, in the order of its schema, which has their kinds."""

    values: Mapping[str, Values]
    schema: Schema

    def __len__(self) -> int:
        return len(next(iter(self.values.values())))

    def take(self, rows: Bools) -> Features:
        """Return some of the rows, and the schema without the others."""
        values = {name: column[rows] for name, column in self.values.items()}
        return Features(values, Schema(tuple(field.seen(values[field.name]) for field in self.schema.fields)))


def checked(estimator: Any, X: Any, *, reset: bool) -> Any:
    """Return a table that fits the estimator, an array if it has no names; ``reset`` stores its columns."""
    X = as_array(X) if isinstance(X, (list, tuple)) else X
    names = table_names(X)
    if not names:
        try:
            return validate_data(estimator, X, reset=reset, dtype=None, ensure_all_finite="allow-nan")
        except (ValueError, OverflowError) as error:  # of several lines, or from the insides of numpy
            raise InputError(f"X cannot be read: {error}") from error
    check_once("the table has several columns", names)
    named = X if is_frame(X) else frame_of(Schema.of_numbers(names).fields, [[0] * len(names)])  # for scikit-learn
    validate_data(estimator, named, reset=reset, skip_check_array=True)
    if not len(X):
        raise InputError("Found array with 0 sample(s), while a minimum of 1 is required: the data frame has no rows")
    return X


def read_features(estimator: Any, X: Any) -> Features:
    """Return the columns of a table that was ``checked``, and their schema."""
    given = getattr(estimator, "feature_names_in_", [f"x{i}" for i in range(estimator.n_features_in_)])
    schema = Schema.infer(X, list(given))
    return Features(schema.read(X), schema)


def read_targets(y: Any, n_rows: int, *, maximise: bool, actions: Any = None, log: bool = False) -> tuple[Floats, Any]:
    """Return the table (n, K) of the costs or rewards of each action, and the names of the actions (K,).

    Parameters
    ----------
    y : (n, K) numbers, K >= 2; the columns of a data frame name the actions, else they are 0..K-1. Or labels, (n,) or
        (n, 1): then the actions are the distinct labels, and each costs 1 where it is not the label, or earns 1 where
        it is. Numbers that are not whole are labels only of a ``log``: else they are effects, and are refused
    actions : (K,) where they are known already; a data frame may have its columns in any order then

    """
    names = _names(y)
    if len({action_name(name) for name in names}) < len(names):
        raise InputError(f"two columns of costs are for the same action: {shown(names)}; give each its own name")
    try:
        array: Any = np.asarray(y)
    except ValueError as error:
        raise InputError("costs must be a rectangular table: its rows differ in length") from error
    if array.ndim == 0 or len(array) != n_rows:
        size = f"{len(array)} of y" if array.ndim else "one value as y"
        raise InputError(f"Found input variables with inconsistent numbers of samples: {n_rows} rows of X, {size}")
    if array.ndim == 1 or (array.ndim == 2 and array.shape[1] == 1):
        return _of_labels(array.ravel(), maximise=maximise, actions=actions, log=log)
    if names and actions is not None:
        columns = [action_name(name) for name in names]
        array = array[:, [place("action among the columns of costs: missing", each, columns) for each in actions]]
    table = number_array("costs", array)
    if table.ndim != 2 or (actions is not None and table.shape[1] != len(actions)):
        raise InputError(
            f"costs have shape {table.shape}; give one row for each row of X and one column for each action"
        )
    for row, column in np.argwhere(~(np.abs(table) <= LARGEST))[:1]:
        number = table[row, column]
        fix = f"give them in a larger unit: the most is {LARGEST:g}"
        if not np.isfinite(number):
            fix = "leave out the row, or fill it in: Input y contains NaN or infinity"
        raise InputError(f"costs[{row}, {column}] is {'missing' if np.isnan(number) else f'{number:g}'}; {fix}")
    if actions is not None:
        return table, actions
    texts = all(isinstance(name, str) for name in names)
    return table, np.array(names, dtype=object if texts else None) if names else np.arange(table.shape[1])


def _of_labels(labels: Any, *, maximise: bool, actions: Any, log: bool) -> tuple[Floats, Any]:
    listed = labels.tolist()
    if any(map(is_missing, listed)) or (labels.dtype.kind == "f" and not np.isfinite(labels).all()):
        raise InputError("Input y contains NaN or infinity, or no label: give one for each row, or a table of costs")
    numbers = [] if log else [label for label in listed if isinstance(label, (float, Decimal)) and label % 1]
    if numbers:
        raise InputError(
            f"y is one column of numbers such as {numbers[0]:.6g}, which are no labels of actions; give a table with a "
            "column for each action. For effects of a treatment this is "
            "np.column_stack([0 * effect, effect]) with maximise=True, or -effect as costs"
        )
    try:
        known = np.unique(labels) if actions is None else actions
    except TypeError as error:  # strings beside numbers
        raise InputError("labels must be of one kind: all of them strings, or all of them numbers") from error
    if len(known) < 2:
        raise InputError(f"y holds one class only, {known.tolist()[0]!r}: give two actions or more")
    names = [action_name(action) for action in known.tolist()]
    right = places("y", labels, names, unknown=-1)[:, None] == np.arange(len(names))
    return (right if maximise else ~right).astype(float), known


def warn_of_alike(actions: Any) -> None:
    """Warn of actions (K,) that may be one, misspelt."""
    if odd := odd_words(map(action_name, actions.tolist())):
        warnings.warn(f"the actions are {odd}", LogWarning, stacklevel=3)


def _names(table: Any) -> list[Any]:
    """Return what the columns of a table are called; [] where it has none, or they are only numbered 0, 1, ..."""
    names = list(getattr(table, "columns", ()))
    return [] if names == list(range(len(names))) else names


def read_weights(sample_weight: Any, n_rows: int) -> Floats:
    """Return the weights of rows (n,), 1 for None; raises InputError, as for weights that are all 0."""
    if sample_weight is None:
        return np.ones(n_rows)
    weight = number_array("sample_weight", sample_weight)
    if weight.shape != (n_rows,):
        raise InputError(f"sample_weight.shape == {weight.shape}, expected {(n_rows,)}: one number for each row")
    if not (np.isfinite(weight).all() and (weight >= 0).all() and weight.any()):
        raise InputError("Sample weights must contain at least one non-zero number, all finite and none negative")
    return weight


@dataclass(frozen=True)
class Columns:
    """The role of each column of a log."""

    # action, outcome: names; what was done, and what came of it
    action: str
    outcome: str
    maximise: bool  # whether a larger outcome is better
    # name of the column with the probability of what was done, or names of K columns, one for each of the actions
    # ``propensity_of``; () where it is not known
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

    @classmethod
    def named(
        cls, action: str, reward: str | None, cost: str | None, propensity: Any, features: Any, actions: Any
    ) -> Self:
        """Return the columns by the arguments of ``fit_batches``; raises InputError."""
        if (reward is None) == (cost is None):
            raise InputError("give either reward= (larger is better) or cost= (smaller is better)")
        named = tuple(map(action_name, propensity)) if isinstance(propensity, Mapping) else ()
        chances = propensity.values() if isinstance(propensity, Mapping) else propensity
        known = (chances,) if isinstance(chances, str) else tuple(chances)
        by_lot = known == (RANDOMISED,)
        found = cls(action, str(reward or cost), cost is None, () if by_lot else known, named, by_lot)
        return replace(found, features=tuple(features or ()), actions=tuple(map(action_name, actions or ())))

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns of action, outcome and propensities."""
        return (self.action, self.outcome, *self.propensity)

    def by(self, actions: Sequence[str]) -> Columns:
        """Return the names with K columns of probabilities in the order of ``actions``, see data.actions.columns_of."""
        if len(self.propensity) < 2 and not self.propensity_of:
            return self
        columns = columns_of("propensity", self.propensity, self.propensity_of, actions)
        return replace(self, propensity=columns, propensity_of=())
