"""Cut points of numbers with weights: a repeated row and a doubled weight give the same ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from milpcb.checks import whole
from milpcb.columns import Column, Membership
from milpcb.decimals import shortest_between
from milpcb.errors import InputError, UnknownNameError
from milpcb.estimators.totals import Rows, exact_sums
from milpcb.types import Floats


def explicit_cuts(
    thresholds: Any, columns: Sequence[Column], features: Sequence[str], rows: Rows, *, from_below: bool
) -> Any:
    """Return one list of cut points for each of ``columns``; "all" and None are returned as they are.

    ``thresholds`` is a number of quantiles, or the cut points of the features by their names, or one list for each of
    ``features``. Quantile cuts divide by x <= cut, or by x >= cut where ``from_below``.
    """
    if thresholds is None or isinstance(thresholds, str):
        return thresholds
    if isinstance(thresholds, (int, np.integer)):
        count = whole("thresholds", thresholds, 1)
        return tuple(
            _quantiles(rows.contexts[:, i], rows.sizes, count, from_below=from_below) for i in range(len(columns))
        )
    given = _by_name(thresholds, features)
    return tuple((0.5,) if isinstance(column, Membership) else given.get(column.name, ()) for column in columns)


def _by_name(thresholds: Any, features: Sequence[str]) -> dict[str, tuple[float, ...]]:
    if not isinstance(thresholds, Mapping):
        if len(thresholds) != len(features):
            raise InputError(
                f"thresholds list {len(thresholds)} features, but there are {len(features)}; give one list of cut "
                "points for each, or a mapping from names of features to cut points"
            )
        thresholds = dict(zip(features, thresholds, strict=True))
    for name in thresholds:
        if name not in features:
            raise UnknownNameError("feature in thresholds", name, features)
    return {name: tuple(sorted({float(cut) for cut in cuts})) for name, cuts in thresholds.items()}


def _quantiles(column: Floats, sizes: Floats, count: int, *, from_below: bool) -> tuple[float, ...]:
    """Return ``count`` weighted quantile cuts of a column, or all that divide it where these are no more.

    A quantile is the least value at or below which lies its share of the weight; the cut is the shortest decimal
    between that value and the next.
    """
    values, group = np.unique(column, return_inverse=True)
    if set(values.tolist()) <= {0.0, 1.0}:
        return (0.5,)
    below = np.arange(len(values) - 1)
    if len(below) > count:
        weights = exact_sums(sizes[:, None], np.ones_like(sizes), group.ravel(), len(values))[:, 0]
        reached = np.cumsum(weights)
        levels = np.arange(1, count + 1) / (count + 1) * reached[-1]
        below = np.unique(np.searchsorted(reached, levels))
        below = below[below < len(values) - 1]
    return tuple(_between(float(values[i]), float(values[i + 1]), from_below=from_below) for i in below)


def _between(low: float, high: float, *, from_below: bool) -> float:
    middle = low + (high - low) / 2
    if not low < middle < high:  # the two are neighbours among floats
        return high if from_below else low
    return shortest_between(low, high, middle, low_included=not from_below)
