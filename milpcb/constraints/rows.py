"""Rows as side constraints read them: columns and actions by name, and what was given for each row."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from milpcb.core.checks import index
from milpcb.data.actions import action_name, place
from milpcb.data.columns import Values
from milpcb.errors import InputError, UnknownNameError
from milpcb.types import Bools, Floats


@dataclass(frozen=True)
class NamedRows:
    """Rows of a table as constraints read them."""

    values: Mapping[str, Values]  # the columns (n,) by name, in their order
    actions: Sequence[Any]  # their names
    # ``weight`` (n,) of the rows, and ``total``, from a table (n, k) to its weighted sums (g, k) at distinct contexts
    merged: Any = None
    kept: Bools | None = None  # (m,) which of the m rows that were handed in are the n rows here; None for all

    def __len__(self) -> int:
        return len(next(iter(self.values.values())))

    def column(self, column: str | int) -> Values:
        """Return a column (n,) by its name or number; raises UnknownNameError, InputError."""
        names = list(self.values)
        name = column if isinstance(column, str) else names[index("the column of a constraint", column, len(names))]
        if name not in self.values:
            raise UnknownNameError("column of a constraint", name, map(str, names))
        return self.values[name]

    def per_row(self, what: str, given: Any) -> npt.NDArray[Any]:
        """Return of ``given``, an entry for each row that was handed in, those of the rows here (n, ...)."""
        n = len(self) if self.kept is None else len(self.kept)
        if len(given) != n:
            raise InputError(f"{what} must have an entry for each of the {n} rows, got {len(given)}")
        entries = np.asarray(given)
        return entries if self.kept is None else entries[self.kept]

    def chosen(self, rows: Any) -> Bools:
        """Return which of the rows (n,) are those of ``rows``: row numbers, or a boolean for each row."""
        if isinstance(rows[0], bool):
            return self.per_row("the booleans of rows", rows)
        n = len(self) if self.kept is None else len(self.kept)
        if max(rows) >= n:
            raise InputError(f"row {max(rows)} is outside the {n} rows; rows count from 0")
        return self.per_row("the numbers of rows", np.isin(np.arange(n), rows))

    def numbers(self, what: str, given: Any) -> Floats:
        """Return a number for each row (n,): a number for all, or the column of this name."""
        if not isinstance(given, str):
            return np.full(len(self), float(given))
        column = self.column(given)
        if column.dtype == object or np.isnan(column).any():
            raise InputError(f"column '{given}' must hold a number in every row for {what}")
        return column

    def number(self, action: Any) -> int:
        """Return the number of an action, matched by name; raises UnknownNameError."""
        return place("action of a constraint", action, [action_name(each) for each in self.actions])

    def table(self, weights: npt.ArrayLike, action: Any, *, others: bool = False) -> Floats:
        """Return a table (n, K) that is ``weights`` (n,) at an action and 0 elsewhere, or the other way round."""
        at = np.arange(len(self.actions)) == self.number(action)
        return np.where(at != others, np.asarray(weights, dtype=float)[:, None], 0.0)
