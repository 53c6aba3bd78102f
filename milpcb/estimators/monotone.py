"""``monotone=`` of estimators: the order that it asks for, by the columns of the table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from milpcb.core.text import escaped
from milpcb.data.columns import Column, Values
from milpcb.errors import InputError, UnknownNameError, shown
from milpcb.offline.arguing.order import Joint
from milpcb.types import Floats

WAYS = {"more": 1, "less": -1}


def joints_of(monotone: Any, columns: Sequence[Column], values: Mapping[str, Values], contexts: Floats) -> list[Joint]:
    """Return what the numbers that policies read may be together, with the order that ``monotone`` asks for.

    Parameters
    ----------
    monotone : maps names of columns to "more" or "less", or None: then there is nothing to return
    columns, contexts : what policies read, and (n, d) of the rows of a table
    values : the columns (n,) of the table by name

    Raises
    ------
    InputError, UnknownNameError

    """
    signs = _signs(monotone)
    if not signs:
        return []
    names = tuple(dict.fromkeys(column.name for column in columns))
    for name in signs:
        if name not in names:
            raise UnknownNameError("column of monotone", name, names)
    return list(_joints(signs, names, columns, values, contexts))


def _signs(monotone: Any) -> dict[str, int]:
    """Return 1 or -1 by column; raises InputError."""
    if monotone is None:
        return {}
    if not isinstance(monotone, Mapping) or not all(way in WAYS for way in monotone.values()):
        raise InputError(f"monotone must map names of columns to 'more' or 'less', got {shown(monotone)}")
    return {name: WAYS[way] for name, way in monotone.items()}


def _joints(
    signs: Mapping[str, int],
    names: Sequence[str],
    columns: Sequence[Column],
    values: Mapping[str, Values],
    contexts: Floats,
) -> Iterator[Joint]:
    for name in names:
        places = tuple(place for place, column in enumerate(columns) if column.name == name)
        numbers = contexts[:, places]
        if name not in signs:
            yield Joint(places, np.unique(numbers, axis=0))
            continue
        raw = values[name]
        if raw.dtype == object:
            raise InputError(
                f"monotone is for columns of numbers, and '{escaped(name)}' holds strings or booleans: give numbers"
            )
        known = ~np.isnan(raw)
        _, first = np.unique(raw[known], return_index=True)
        rising = numbers[known][first][:: signs[name]]
        yield Joint(places, np.concatenate([rising, numbers[~known][:1]]), len(rising))
