"""Arguments of constraints as plain values, so that constraints can be compared and written down.

An array becomes tuples; a number or the name of a column stays. All raise InputError on what is none of these.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from milpcb.core.checks import number_array, real
from milpcb.errors import InputError, shown


def is_share(number: float) -> bool:
    """Return whether a number is a share, from 0 to 1."""
    return 0.0 <= number <= 1.0


def plain_weights(given: Any) -> str | tuple[float, ...] | None:
    """Return weights of rows that are finite and not negative, or the name of a column."""
    if given is None or isinstance(given, str):
        return given
    weights = _numbers("weights", given)
    if not (min(weights) >= 0.0 and max(weights) > 0.0):
        raise InputError("weights must be finite, not negative, and not all zero")
    return weights


def _numbers(what: str, given: Any) -> tuple[float, ...]:
    found = number_array(what, given)
    if found.ndim != 1 or not len(found) or not np.isfinite(found).all():
        raise InputError(f"{what} must be a finite number for each row, or the name of a column, got {shown(given)}")
    return tuple(found.tolist())


def plain_group(given: Any) -> int | tuple[Any, ...]:
    """Return the number of a column, or the value of each row."""
    array = np.array(given, dtype=object) if isinstance(given, (list, tuple)) else np.asarray(given)
    if array.ndim == 0 and np.issubdtype(array.dtype, np.integer):
        return int(array)
    entries = tuple(array.tolist()) if array.ndim == 1 else ()
    if not entries or not {list, tuple, dict, set}.isdisjoint(map(type, entries)):
        raise InputError(f"group must be the name or number of a column, or a value for each row, got {shown(given)}")
    return entries


def plain_amounts(given: Any) -> dict[Any, Any] | tuple[tuple[float, ...], ...]:
    """Return what each action takes: by action, or as a table (m, K) or (1, K)."""
    if isinstance(given, Mapping) and given:
        return {action: _amount(amount) for action, amount in given.items()}
    if isinstance(given, Mapping) or not hasattr(given, "__len__"):
        raise InputError(f"amounts must map names of actions to numbers or columns, or be a table, got {shown(given)}")
    table = np.atleast_2d(number_array("amounts of mean_at_most", given))
    if table.ndim != 2 or not table.size or not np.isfinite(table).all():
        raise InputError(f"amounts of mean_at_most must be a table of finite numbers, got {shown(given)}")
    return tuple(map(tuple, table.tolist()))


def _amount(given: Any) -> str | float | tuple[float, ...]:
    if isinstance(given, str):
        return given
    if hasattr(given, "__len__"):
        return _numbers("an amount of mean_at_most", given)
    return real("an amount of mean_at_most", given, "a finite number", lambda _number: True)


def plain_rows(given: Any) -> tuple[int, ...] | tuple[bool, ...]:
    """Return row numbers, at least one, or a boolean for each row, at least one of them True."""
    try:
        rows = np.atleast_1d(np.asarray(given))
    except ValueError as error:
        raise InputError(f"rows must be row numbers, or True and False, got {shown(given)}") from error
    if rows.ndim != 1 or not len(rows) or (rows.dtype == bool and not rows.any()):
        raise InputError("rows names no row; give row numbers, or one True or False for each row")
    if rows.dtype != bool and not np.issubdtype(rows.dtype, np.integer):
        raise InputError(f"rows must be row numbers, or True and False, got {rows.dtype}")
    if rows.dtype != bool and rows.min() < 0:
        raise InputError(f"row {rows.min()} is none; rows count from 0")
    return tuple(rows.tolist())
