"""Feature tables that estimators are given: validated as scikit-learn does, then read column by column."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sklearn.utils.validation import validate_data

from milpcb.data.columns import Values, as_numbers
from milpcb.data.frames import as_array, is_frame, table_names
from milpcb.data.schema import Schema
from milpcb.data.tables import frame_of
from milpcb.errors import InputError
from milpcb.types import Bools, Floats


@dataclass(frozen=True)
class Features:
    """The columns of a table by name, in the order of its schema, which has their kinds."""

    values: Mapping[str, Values]
    schema: Schema

    def __len__(self) -> int:
        return len(next(iter(self.values.values())))

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(self.values)

    def take(self, rows: Bools) -> Features:
        """Return some of the rows, and what they are without the others."""
        values = {name: column[rows] for name, column in self.values.items()}
        return Features(values, Schema(tuple(field.seen(values[field.name]) for field in self.schema.fields)))

    def numbers(self) -> Floats:
        """Return all columns as numbers (n, d), for models: strings by their place in the alphabet, NaN for missing."""
        return as_numbers(self.values.values())


def checked(estimator: Any, X: Any, *, reset: bool) -> Any:
    """Return a table that fits the estimator: one whose columns or rows carry names as it is, all else as an array.

    ``reset`` takes number and names of its columns down; otherwise they must be those. Raises ValueError.
    """
    X = as_array(X) if isinstance(X, (list, tuple)) else X
    names = table_names(X)
    if not names:
        try:
            return validate_data(estimator, X, reset=reset, dtype=None, ensure_all_finite="allow-nan")
        except (ValueError, OverflowError) as error:  # of several lines, or from the insides of numpy
            raise InputError(f"X cannot be read: {error}") from error
    named = X if is_frame(X) else frame_of(Schema.of_numbers(names).fields, [[0] * len(names)])  # for scikit-learn
    validate_data(estimator, named, reset=reset, skip_check_array=True)
    if not len(X):
        raise InputError("Found array with 0 sample(s), while a minimum of 1 is required: the data frame has no rows")
    return X


def read_features(estimator: Any, X: Any) -> Features:
    """Return the columns of a table that was ``checked``, and what they are."""
    given = getattr(estimator, "feature_names_in_", [f"x{i}" for i in range(estimator.n_features_in_)])
    schema = Schema.infer(X, list(given))
    return Features(schema.read(X), schema)
