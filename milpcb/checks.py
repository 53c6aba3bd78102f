"""Checks of what users hand in; each failure is one line that says how to mend it."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import Any

import numpy as np

from milpcb.errors import InputError
from milpcb.types import Floats


def context_array(contexts: Any, least_columns: int = 1) -> Floats:
    """Return contexts as a read-only (m, d) float array; raises InputError on shape, text, NaN or infinity."""
    array = _numbers(contexts, "contexts")
    if array.ndim != 2 or 0 in array.shape:
        raise InputError(
            f"contexts must be a table (rows, features) with at least one of each, got shape {array.shape}"
        )
    if array.shape[1] < least_columns:
        raise InputError(
            f"contexts have {array.shape[1]} columns, but the policy reads {least_columns}; give all of them"
        )
    bad = np.argwhere(~np.isfinite(array))
    if len(bad):
        row, column = bad[0]
        raise InputError(f"contexts[{row}, {column}] is {array[row, column]}; replace or drop what is not finite")
    array.setflags(write=False)
    return array


def cost_array(costs: Any, n_contexts: int, n_actions: int) -> Floats:
    """Return costs as an (m, K) float array; raises InputError on shape, NaN or infinity."""
    array: Floats = costs if isinstance(costs, np.ndarray) and costs.dtype == np.float64 else _numbers(costs, "costs")
    if array.shape != (n_contexts, n_actions):
        raise InputError(
            f"costs have shape {array.shape}; give one row per context and one column per action: "
            f"({n_contexts}, {n_actions})"
        )
    # A finite sum means finite entries; only when it is not (an overflow is possible) is every entry looked at.
    if not np.isfinite(np.add.reduce(array, axis=None)) and not np.isfinite(array).all():
        row, action = np.argwhere(~np.isfinite(array))[0]
        raise InputError(f"costs[{row}, {action}] is {array[row, action]}; costs must be finite")
    return array


def check_same_size(oracle: int, pool: int) -> None:
    """Raise InputError unless the oracle and the pool have as many contexts."""
    if oracle != pool:
        raise InputError(f"the oracle was opened on {oracle} contexts, but the pool has {pool}; use the same")


def check_cost(played: int, action: int, cost: float) -> None:
    """Raise InputError unless ``cost``, of ``action`` after ``played`` whole rounds, lies in [0, 1] (NaN does not)."""
    if not 0.0 <= cost <= 1.0:
        raise InputError(f"round {played + 1} has cost {cost} for action {action}; costs must lie in [0, 1]")


def check_played(action: int, probability: float, least: float) -> None:
    """Raise InputError unless ``probability`` may have come from a distribution that gives every action ``least``."""
    if not least * (1 - 1e-9) <= probability <= 1 + 1e-9:
        raise InputError(
            f"probability {probability} of action {action} is not one that act() gave: it is below {least:g} or above 1"
        )


def check_delta(delta: float) -> float:
    """Return the chance that a guarantee may fail, as a float; raises InputError unless 0 < delta < 1."""
    if not 0.0 < delta < 1.0:
        raise InputError(f"delta must lie strictly between 0 and 1, got {delta!r}; 0.05 is usual")
    return float(delta)


def check_file(path: Path, what: str = "") -> None:
    """Raise InputError unless a path leads to a file: directories, pipes and devices cannot be read to their end."""
    called = f"cannot read {f'{what} ' if what else ''}{path}"
    try:
        mode = path.stat().st_mode
    except OSError as error:
        raise InputError(f"{called}: {error.strerror}") from error
    except ValueError as error:  # a zero byte in the path
        raise InputError(f"{called}: {error}") from error
    if not stat.S_ISREG(mode):
        raise InputError(f"{called}: it is a {'directory' if stat.S_ISDIR(mode) else 'device or a pipe'}, not a file")


def check_time_limit(time_limit: float | None) -> float | None:
    """Return seconds, or None for no limit; raises InputError unless they are 0 or more."""
    if time_limit is None or time_limit == np.inf:
        return None
    if isinstance(time_limit, bool) or not isinstance(time_limit, (int, float)) or not time_limit >= 0:
        raise InputError(f"time_limit must be seconds, 0 or more, or None for no limit; got {time_limit!r}")
    return float(time_limit)


def check_gap(gap: float) -> float:
    """Return an absolute gap in units of the costs; raises InputError unless it is finite, and 0 or more."""
    if isinstance(gap, bool) or not isinstance(gap, (int, float)) or not 0 <= gap < np.inf:
        raise InputError(f"gap must be an absolute gap in units of the costs, 0 or more and finite; got {gap!r}")
    return float(gap)


def whole(name: str, value: Any, least: int) -> int:
    """Return ``value`` as an int; raises InputError unless it is a whole number of at least ``least``."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
        raise InputError(f"{name} must be a whole number of at least {least}, got {value!r}")
    return int(value)


def _numbers(data: Any, what: str) -> Floats:
    try:
        return np.array(data, dtype=float)
    except (TypeError, ValueError) as error:
        raise InputError(f"{what} must be numbers in a rectangular table: {' '.join(str(error).split())}") from error
