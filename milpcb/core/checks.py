"""Checks of user input; each failure is one line that names the mistake and how to fix it."""

import stat
from collections.abc import Callable, Iterable, Mapping
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np

from milpcb.errors import InputError, UnknownNameError, shown
from milpcb.types import Floats, Ints

LARGEST = 1e100  # of a context: sums and products of numbers up to here stay finite
LARGEST_SUM = 1e306  # of the sizes of costs: their sums and differences stay finite
_FLOAT = np.dtype(float)
_KINDS = {"U": "text", "S": "text", "O": "objects", "M": "dates", "m": "times", "c": "complex numbers", "b": "booleans"}
MOST = 2**53  # of a count: up to here every integer is a float
ROUNDING = 1e-9  # what a sum of probabilities may be off by, and, as a share, a probability that is handed back


# ------------------------------------------------------------------- tables


def context_array(contexts: Any, least_columns: int = 1) -> Floats:
    """Return contexts as a read-only (m, d) float array; raises InputError, on numbers beyond 1e100 too."""
    array: Floats = contexts
    own = isinstance(contexts, np.ndarray) and contexts.dtype == np.float64 and contexts.flags.owndata
    if not own or contexts.flags.writeable:  # one of ours that nobody can write to is not copied: it may be large
        array = number_array("contexts", contexts)
    if array.ndim != 2 or 0 in array.shape:
        raise InputError(f"contexts must be a table (rows, features), at least one of each, got shape {array.shape}")
    if array.shape[1] < least_columns:
        raise InputError(f"contexts have {array.shape[1]} columns, and the policy reads {least_columns}; give all")
    if not np.vdot(array, array) <= LARGEST and not -LARGEST <= array.min() <= array.max() <= LARGEST:
        # NaN is neither; the dot product is all there is to do on the path of every decision
        row, column = np.argwhere(~(np.abs(array) <= LARGEST))[0]
        where = f"contexts[{row}, {column}] is {array[row, column]}"
        raise InputError(f"{where}; replace or drop numbers that are not finite, or beyond {LARGEST:g}")
    array.setflags(write=False)
    return array


def cost_array(costs: Any, n_contexts: int, n_actions: int) -> Floats:
    """Return costs as an (m, K) float array; raises InputError, where their sizes add up to more than 1e306 too."""
    array: Floats = (
        costs if isinstance(costs, np.ndarray) and costs.dtype == np.float64 else number_array("costs", costs)
    )
    if array.shape != (n_contexts, n_actions):
        wanted = f"one row per context and one column per action: ({n_contexts}, {n_actions})"
        raise InputError(f"costs have shape {array.shape}; give {wanted}")
    if np.vdot(array, array) <= LARGEST:  # in nearly all calls one dot product is the whole check
        return array
    if not np.isfinite(array).all():
        row, action = np.argwhere(~np.isfinite(array))[0]
        raise InputError(f"costs[{row}, {action}] is {array[row, action]}; costs must be finite")
    if (np.abs(array) / LARGEST_SUM).sum() > 1.0:
        raise InputError(f"the sizes of all costs add up to more than {LARGEST_SUM:g}; give costs in a larger unit")
    return array


def number_array(name: str, data: Any) -> Floats:
    """Return ``data`` as a new float array of any shape, in which missing values are NaN and booleans 1 and 0.

    Raises InputError on ragged tables, text, dates and complex numbers, and where two integers are one float.
    """
    if np.ma.is_masked(data):
        raise InputError(f"{name} has masked entries: fill them in, or leave the rows out")
    try:
        array: Any = np.asarray(data)
        lost = [type(entry).__name__ == "NAType" for entry in _objects(array)]
        if any(lost):  # numpy reads None as NaN, and cannot read pandas' NA
            array = np.where(np.reshape(lost, array.shape), None, array)
        if array.dtype.kind not in "biufO" or any(isinstance(entry, (str, bytes)) for entry in _objects(array)):
            raise TypeError(f"got {_kind(array)}")  # noqa: TRY301 - one message for every way to be wrong
        found = np.array(array, dtype=float)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"{name} must be numbers in a rectangular table: {error}") from error
    if not np.vdot(found, found) < MOST**2:  # one dot product is nearly always the whole check
        _check_distinct(name, data, found)
    return found


def _check_distinct(name: str, data: Any, numbers: Floats) -> None:
    large = np.flatnonzero(np.abs(numbers) >= MOST)
    if not len(large) or (isinstance(data, np.ndarray) and data.dtype.kind == "f"):
        return
    first: dict[float, int] = {}
    for entry, number in zip(np.array(data, dtype=object).flat[large], numbers.flat[large], strict=True):
        if isinstance(entry, (int, np.integer)) and first.setdefault(number, int(entry)) != entry:
            raise InputError(
                f"{name} holds {first[number]} and {entry}, integers beyond 2^53, which are one number to policies: "
                "give identifiers as strings, and numbers in a larger unit"
            )


def whole_array(name: str, data: Any) -> Ints:
    """Return ``data`` as a new array of integers of any shape; raises InputError on anything else, booleans too."""
    try:
        array = np.asarray(data)
    except ValueError as error:
        raise InputError(f"{name} must be a rectangular table of integers: {error}") from error
    if array.size == 0:
        return np.zeros(array.shape, dtype=np.int64)
    if not np.issubdtype(array.dtype, np.integer):
        raise InputError(f"{name} must hold integers, got {_kind(array)}")
    if array.dtype.kind == "u" and array.max() > MOST:
        raise InputError(f"{name} must hold numbers of at most {MOST}, got {array.max()}")
    return array.astype(np.int64)


def _objects(array: Any) -> Iterable[Any]:
    return array.flat if array.dtype.kind == "O" else ()


def _kind(array: Any) -> str:
    return _KINDS.get(array.dtype.kind, str(array.dtype))


# ------------------------------------------------------------------- single values


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
    number = np.inf if time_limit is None else _float(time_limit)
    if not number >= 0:
        raise InputError(f"time_limit must be seconds, 0 or more, or None for no limit; got {shown(time_limit)}")
    return None if number == np.inf else number


def check_gap(gap: float) -> float:
    """Return an absolute gap in units of the costs; raises InputError unless it is finite, and 0 or more."""
    return real("gap", gap, "an absolute gap in units of the costs, 0 or more and finite", lambda number: number >= 0)


def whole(name: str, value: Any, least: int, most: int = MOST) -> int:
    """Return ``value`` as an int; raises InputError unless it is an integer from ``least`` to ``most``."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
        raise InputError(f"{name} must be an integer of at least {least}, got {shown(value)}")
    if value > most:
        raise InputError(f"{name} must be at most {most}, got {shown(value)}")
    return int(value)


def index(name: str, value: Any, count: int | None) -> int:
    """Return ``value`` as an int; raises InputError unless it is an integer in 0..count-1 (None: 0 or more)."""
    return whole(name, value, 0, MOST if count is None else count - 1)


def real(name: str, value: Any, wanted: str, holds: Callable[[float], bool]) -> float:
    """Return ``value`` as a float; raises InputError unless it is finite and ``holds``: ``wanted`` in words."""
    number = _float(value)
    if not (np.isfinite(number) and holds(number)):
        raise InputError(f"{name} must be {wanted}, got {shown(value)}")
    return number


def check_range(name: str, pair: Any) -> tuple[float, float]:
    """Return a pair of finite numbers, the least first; raises InputError."""
    try:
        least, most = (_float(bound) for bound in pair)
    except (TypeError, ValueError):
        least = most = np.nan
    if not -np.inf < least < most < np.inf:
        raise InputError(f"{name} must be two finite numbers, the least and a greater one, got {shown(pair)}")
    return least, most


def instance(name: str, value: Any, cls: type | tuple[type, ...], wanted: str) -> None:
    """Raise InputError unless ``value`` is of a class, which messages call ``wanted``."""
    if not isinstance(value, cls):
        raise InputError(f"{name} must be {wanted}, got {shown(value)}")


def several(name: str, values: Any, cls: type | tuple[type, ...], wanted: str) -> list[Any]:
    """Return an iterable as a list; raises InputError unless each entry is of a class, ``wanted`` in messages."""
    if isinstance(values, (str, bytes, Mapping)) or not isinstance(values, Iterable):
        raise InputError(f"{name} must be a list of {wanted}, got {shown(values)}")
    found = list(values)
    for value in found:
        if not isinstance(value, cls):
            raise InputError(f"{name} must be a list of {wanted}, and one of them is {shown(value)}")
    return found


def choice(name: str, value: Any, known: Iterable[str]) -> str:
    """Return ``value``; raises UnknownNameError, with the nearest name, unless it is one of ``known``."""
    names = tuple(known)
    if not isinstance(value, str) or value not in names:
        raise UnknownNameError(name, value, names)
    return value


def flag(name: str, value: Any) -> bool:
    """Return ``value``; raises InputError unless it is True or False."""
    if not isinstance(value, (bool, np.bool_)):
        raise InputError(f"{name} must be True or False, got {shown(value)}")
    return bool(value)


def check_confidence(confidence: Any, name: str = "confidence", usual: float = 0.95) -> float:
    """Return the probability with which a statement holds, or fails; raises InputError unless it is between 0 and 1."""
    return real(name, confidence, f"above 0 and below 1, such as {usual}", lambda chance: 0.0 < chance < 1.0)


def _float(value: Any) -> float:
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, Real):
        return np.nan
    try:
        return float(value)
    except (OverflowError, TypeError):  # a numpy timedelta is Real, and no number
        return np.nan


# ------------------------------------------------------------------- one round of a learner


def unit_cost(name: str, cost: Any) -> float:
    """Return ``cost`` as a float; raises InputError unless it is a number in [0, 1] (NaN is not)."""
    number = cost if type(cost) is float else _float(cost)
    if not 0.0 <= number <= 1.0:
        raise InputError(f"{name} is {shown(cost)}; costs must be numbers in [0, 1]")
    return number


def probabilities(q: Any, n_actions: int) -> list[float]:
    """Return q as a list; raises ValueError with the reason unless it is an array of K floats >= 0 that sum to 1."""
    if type(q) is not np.ndarray or (q.dtype is not _FLOAT and q.dtype != _FLOAT) or q.shape != (n_actions,):
        raise ValueError(f"it must be a float array of shape ({n_actions},)")
    listed: list[float] = q.tolist()
    total = sum(listed)  # NaN and infinity make it so
    if not -ROUNDING <= total - 1.0 <= ROUNDING:
        raise ValueError(f"its entries sum to {total:.12g}, not to 1")
    if min(listed) < 0.0:
        raise ValueError("an entry is negative")
    return listed


def check_returned(name: str, probability: Any, given: float) -> float:
    """Return ``probability`` as a float; raises InputError unless it is the one ``given``, above 0, up to rounding."""
    number = probability if type(probability) is float else _float(probability)
    if not given > 0.0:
        raise InputError(f"{name} has probability 0 in the q that act() returned, so it was not drawn from it")
    if not abs(number - given) <= ROUNDING * given:
        raise InputError(f"{name} was played with probability {given!r}, got {shown(probability)}; hand in q[action]")
    return number
