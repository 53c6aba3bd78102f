"""Conditions on the rows of a table in the words in which rules are printed, such as "pregnant = 1 and age <= 40"."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from milpcb.columns import Membership, Value, Values
from milpcb.errors import InputError, did_you_mean, shown
from milpcb.types import Bools

_COMPARE: Mapping[str, Callable[[Any, float], Any]] = {
    "<=": np.less_equal,
    "<": np.less,
    ">=": np.greater_equal,
    ">": np.greater,
    "=": np.equal,
    "!=": np.not_equal,
}
_LISTED = re.compile(r"(?P<no>not )?in \{(?P<values>.*)\}")
_COMPARED = re.compile(r"(?P<sign><=|<|>=|>|!=|=|is not) (?P<value>.+)")
_ITEM = re.compile(r'\s*(?:"(?P<quoted>[^"]*)"|(?P<bare>[^,"]+))\s*(?:,|$)')


def holds(where: str, values: Mapping[str, Values]) -> Bools:
    """Return at which rows (n,) a condition holds; ``values`` are the columns of the table by name.

    A test is ``COLUMN <= NUMBER`` (or <, >=, >), ``COLUMN = VALUE``, ``COLUMN is not VALUE``, ``COLUMN in {VALUE,
    VALUE}``, ``COLUMN not in {...}``, ``COLUMN is missing`` or ``COLUMN is not missing``; " and " joins several. Texts
    may be in double quotes. A missing value is not any other, and its comparisons with numbers fail. Raises InputError
    on anything else.
    """
    if not isinstance(where, str):
        raise InputError(f'where must be a condition such as "pregnant = 1", got {shown(where)}')
    found = np.ones(len(next(iter(values.values()))), dtype=bool)
    for test in re.split(r" and (?=(?:[^\"]*\"[^\"]*\")*[^\"]*$)", where.strip()):  # not inside of quotes
        found &= _holds(test.strip(), values)
    return found


def _holds(test: str, values: Mapping[str, Values]) -> Bools:
    names = [name for name in values if test.startswith(f"{name} ")]
    if not names:
        raise InputError(
            f"the condition '{test}' does not begin with a column{did_you_mean(test.split(' ', maxsplit=1)[0], values)}"
        )
    name = max(names, key=len)
    column, rest = values[name], test[len(name) :].strip()
    if rest in ("is missing", "is not missing"):
        return np.asarray(_among(name, column, (None,)) == (rest == "is missing"))
    if listed := _LISTED.fullmatch(rest):
        entries = [item["quoted"] or item["bare"].strip() for item in _ITEM.finditer(listed["values"])]
        return np.asarray(_among(name, column, tuple(_value(entry, column) for entry in entries)) != bool(listed["no"]))
    compared = _COMPARED.fullmatch(rest)
    if compared is None:
        raise InputError(f"the condition '{test}' is none: write, for example, '{name} = 1' or '{name} is missing'")
    sign, text = compared["sign"].replace("is not", "!="), compared["value"].strip().strip('"')
    if column.dtype == object:
        if sign not in ("=", "!="):
            raise InputError(f"column '{name}' holds texts, which '{test}' compares; write '{name} = {text}'")
        return np.asarray(_among(name, column, (_value(text, column),)) == (sign == "="))
    return np.asarray(_COMPARE[sign](column, _number(text, test)))


def _among(name: str, column: Values, chosen: tuple[Value, ...]) -> Bools:
    return np.asarray(Membership(name, chosen, inside=1).read(column) == 1)


def _value(text: str, column: Values) -> Value:
    """Return the value of a column that is written so; warns where no row has it."""
    if text == "missing":
        return None
    if column.dtype != object:
        return _number(text, text)
    present: dict[str, Value] = {_written(value): value for value in set(column.tolist()) if value is not None}
    if text not in present:  # a rare value may be absent from a fold, so this is no error
        warnings.warn(f"no row has the value '{text}' of a condition{did_you_mean(text, present)}", stacklevel=2)
    return present.get(text, text)


def _written(value: Value) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _number(text: str, test: str) -> float:
    try:
        return float(text)
    except ValueError as error:
        raise InputError(f"'{text}' in the condition '{test}' is no number, but its column holds numbers") from error
