"""The numbers that policies read: their weighted cut points, and the order that ``monotone=`` asks for."""

import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from milpcb.core.checks import number_array, several, whole
from milpcb.core.decimals import in_32_bits, shortest_between, snapped
from milpcb.core.text import escaped
from milpcb.data.columns import Column, Number, Reached, Values
from milpcb.errors import InputError, LogWarning, UnknownNameError, clipped, shown
from milpcb.estimators.totals import Rows, exact_sums
from milpcb.offline.restrictions.monotone import Joint
from milpcb.types import Floats


def explicit_cuts(thresholds: Any, columns: Sequence[Column], features: Sequence[str], rows: Rows) -> Any:
    """Return one list of cut points for each of ``columns``; "all" and None are returned as they are.

    ``thresholds`` is a number of quantiles, or cut points by feature, or one list for each of ``features``.
    """
    if thresholds is None or isinstance(thresholds, str):
        return thresholds
    if isinstance(thresholds, (int, np.integer)):
        count = whole("thresholds", thresholds, 1)
        return tuple(quantile_cuts(rows.contexts[:, i], rows.sizes, count) for i in range(len(columns)))
    given = _by_name(thresholds, features)
    for i, column in enumerate(columns):
        if isinstance(column, Number):
            _warn_of_rounded(column.name, rows.contexts[:, i], given.get(column.name, ()), from_below=False)
    return tuple(given.get(column.name, ()) if isinstance(column, Number) else (0.5,) for column in columns)


def as_tests(
    columns: Sequence[Column], thresholds: Any, features: Sequence[str], values: Mapping[str, Values], weight: Floats
) -> Iterator[Column]:
    """Yield ``columns``, with a test x >= cut for each cut point in place of numbers that are not 0 or 1."""
    given = {} if isinstance(thresholds, (int, np.integer, str)) else _by_name(thresholds, features)
    for column in columns:
        if not isinstance(column, Number):
            yield column
            continue
        known = ~np.isnan(values[column.name])
        numbers = values[column.name][known]
        if known.all() and set(np.unique(numbers).tolist()) <= {0.0, 1.0}:
            yield column
        elif given:
            _warn_of_rounded(column.name, numbers, given.get(column.name, ()), from_below=True)
            yield from (Reached(column.name, cut) for cut in given.get(column.name, ()))
        else:
            count = len(numbers) if thresholds == "all" else whole("thresholds", thresholds, 1)
            cuts = quantile_cuts(numbers, weight[known], count, from_below=True)
            yield from (Reached(column.name, cut) for cut in cuts)


def _warn_of_rounded(name: str, numbers: Floats, cuts: Sequence[float], *, from_below: bool) -> None:
    """Warn of numbers that are a cut in 32 bits, and on its other side; cuts that are chosen by them are not."""
    meant = snapped(numbers[:, None], {0: cuts})[:, 0]
    if (wrong := np.flatnonzero(meant > numbers if from_below else meant < numbers)).size:
        what = f"column '{clipped(name)}'"
        warnings.warn(in_32_bits(what, numbers[wrong[0]], meant[wrong[0]]), LogWarning, stacklevel=5)


def quantile_cuts(column: Floats, weight: Floats, count: int, *, from_below: bool = False) -> tuple[float, ...]:
    """Return ``count`` weighted quantile cuts of a column, or all that divide it where these are no more.

    A cut is the shortest decimal between a quantile and the next value; it divides by <=, or >= if ``from_below``.
    """
    values, group = np.unique(column, return_inverse=True)
    if len(values) <= 2 and set(values.tolist()) <= {0.0, 1.0}:
        return (0.5,)
    below = np.arange(len(values) - 1)
    if len(below) > count:
        weights = exact_sums(weight[:, None], np.ones_like(weight), group.ravel(), len(values))[:, 0]
        reached = np.cumsum(weights)
        levels = np.arange(1, count + 1) / (count + 1) * reached[-1]
        below = np.unique(np.searchsorted(reached, levels))
        below = below[below < len(values) - 1]
    return tuple(_between(float(values[i]), float(values[i + 1]), from_below=from_below) for i in below)


def _by_name(thresholds: Any, features: Sequence[str]) -> dict[str, tuple[float, ...]]:
    if not isinstance(thresholds, Mapping):
        listed = several("thresholds", thresholds, object, "cut points, a list for each feature")
        if len(listed) != len(features):
            raise InputError(
                f"thresholds list {len(listed)} features, but there are {len(features)}; give one list of cut "
                "points for each, or a mapping from names of features to cut points"
            )
        thresholds = dict(zip(features, listed, strict=True))
    for name in thresholds:
        if name not in features:
            raise UnknownNameError("feature in thresholds", name, features)
    return {name: tuple(np.unique(_numbers(name, cuts)).tolist()) for name, cuts in thresholds.items()}


def _numbers(name: str, cuts: Any) -> Floats:
    found = number_array(f"thresholds of '{name}'", cuts)
    if found.ndim != 1 or not np.isfinite(found).all():
        raise InputError(f"thresholds of '{name}' must be a list of finite numbers, got {shown(cuts)}")
    return found


def _between(low: float, high: float, *, from_below: bool) -> float:
    middle = low + (high - low) / 2
    if not low < middle < high:  # the two are neighbours among floats
        return high if from_below else low
    return shortest_between(low, high, middle, low_included=not from_below)


WAYS = {"more": 1, "less": -1}


def joints_of(monotone: Any, columns: Sequence[Column], values: Mapping[str, Values], contexts: Floats) -> list[Joint]:
    """Return the values that the numbers of policies take together, with the order of ``monotone``; [] for None.

    ``values`` are the columns (n,) by name, ``contexts`` (n, d) are numbers made of them. Raises InputError.
    """
    signs = _signs(monotone)
    if not signs:
        return []
    names, found = tuple(dict.fromkeys(column.name for column in columns)), []
    for name in signs:
        if name not in names:
            raise UnknownNameError("column of monotone", name, names)
    for name in names:
        places = tuple(place for place, column in enumerate(columns) if column.name == name)
        numbers = contexts[:, places]
        if name not in signs:
            found.append(Joint(places, np.unique(numbers, axis=0)))
            continue
        raw = values[name]
        if raw.dtype == object:
            raise InputError(
                f"monotone is for columns of numbers, and '{escaped(name)}' holds strings or booleans: give numbers"
            )
        known = ~np.isnan(raw)
        _, first = np.unique(raw[known], return_index=True)
        rising = numbers[known][first][:: signs[name]]
        found.append(Joint(places, np.concatenate([rising, numbers[~known][:1]]), len(rising)))
    return found


def _signs(monotone: Any) -> dict[str, int]:
    if monotone is None:
        return {}
    if not isinstance(monotone, Mapping) or not all(way in WAYS for way in monotone.values()):
        raise InputError(f"monotone must map names of columns to 'more' or 'less', got {shown(monotone)}")
    return {name: WAYS[way] for name, way in monotone.items()}
