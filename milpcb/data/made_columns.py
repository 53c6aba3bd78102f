"""From a table with strings and missing values to the numbers that policy classes read."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from math import ceil, floor
from typing import Any

import numpy as np

from milpcb.core.checks import several
from milpcb.core.decimals import spaced
from milpcb.data.columns import Column, Membership, Number, Value, Values
from milpcb.data.fields import Field
from milpcb.errors import InputError, UnknownNameError, clipped
from milpcb.types import Floats

FEW = 4  # categories, missing being one, up to which every subset of them is tested; of more each against the rest
MOST_CATEGORIES = 100  # each is a literal of its own: beyond it a column is rather an identifier
SIDES = ("either", "yes", "no")  # of a comparison, for a missing number


def make_columns(
    values: Mapping[str, Values], fields: Sequence[Field], *, missing: str, scores: bool, few: int = FEW
) -> tuple[Column, ...]:
    """Return descriptions of the numbers that a policy class reads, made of ``fields`` with these values (n,).

    ``missing`` is the side of a comparison for a missing number: "yes" as if it held, "no" as if it failed, "either"
    offers both. For ``scores``, conditions that are weighted and added up are 1 where they hold.
    """
    found: list[Column] = []
    for field in fields:
        column = values[field.name]
        if field.is_number:
            found += _numbers(field.name, column, missing, scores=scores)
        else:
            found += _categories(field, set(column.tolist()), int(scores), few)
    return tuple(found)


def declared_columns(field: Field, cuts: Sequence[float]) -> tuple[Column, ...]:
    """Return descriptions of the numbers of a declared column: each category is tested against all others."""
    if field.is_number:
        return tuple(_numbers(field.name, np.array([np.nan, *cuts] if field.missing else cuts), "either", scores=False))
    known = {*field.values, *([None] if field.missing else [])}
    return tuple(_categories(field, known, 0, closed=field.kind == "boolean"))


def chosen_features(features: Any, names: Sequence[str]) -> tuple[str, ...]:
    """Return the columns that policies may test, by name or number, all for None; raises InputError."""
    if features is None:
        return tuple(names)
    features = several("features", [features] if isinstance(features, str) else features, object, "names of columns")
    chosen = tuple(names[int(f)] if isinstance(f, (int, np.integer)) and 0 <= f < len(names) else f for f in features)
    for name in chosen:
        if name not in names:
            raise UnknownNameError("feature", name, names)
    if not chosen or len(set(chosen)) < len(chosen):
        raise InputError("features must name at least one column of the table, and each once")
    return chosen


def _numbers(name: str, column: Floats, missing: str, *, scores: bool) -> Iterator[Column]:
    lost = np.isnan(column)
    known = column[~lost]
    if not len(known):
        return  # always missing: nothing to test
    if lost.any():
        yield Membership(name, (None,), inside=int(scores))  # first: of tests that divide alike, classes take the first
    elif missing == "either":
        yield Number(name)
        return
    low, high = float(known.min()), float(known.max())
    below, above = float(floor(low - max(1.0, abs(low)))), float(ceil(high + max(1.0, abs(high))))
    if scores:
        yield Number(name, 0.0)
        return
    if missing in ("either", "yes"):
        yield Number(name, below)
    if missing in ("either", "no"):
        yield Number(name, above)


def _categories(
    field: Field, present: set[Value], inside: int, few: int = FEW, *, closed: bool = True
) -> Iterator[Column]:
    """Yield the memberships that divide rows; where no others come (``closed``), of a set and the rest the smaller."""
    categories = sorted(present, key=_rank)
    count = len(categories)
    if closed and count > MOST_CATEGORIES:
        what = f"column '{clipped(field.name)}' has {spaced(count)} different strings, and at most {MOST_CATEGORIES}"
        raise InputError(f"{what} are tested: group them, or name the other columns in features")
    most = 1 if count > few else max(count // 2, int(not closed))
    for size in range(1, most + 1):
        for chosen in combinations(categories, size):
            if not closed or 2 * size < count or chosen[0] == categories[0]:
                yield Membership(field.name, chosen, inside)
    if field.kind == "ordered category" and count > few:
        in_order = [value for value in field.values if value in present]
        for size in range(2, len(in_order) - 1 + (None in present)):
            yield Membership(field.name, tuple(in_order[:size]), inside)


def _rank(value: Value) -> tuple[Any, ...]:
    """Order categories: true before false, then numbers, strings, and missing last."""
    if isinstance(value, bool):
        return (0, -value)
    if value is None:
        return (3,)
    return (2, value) if isinstance(value, str) else (1, value)
