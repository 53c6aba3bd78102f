"""Conditions on the rows of a table in the words in which rules are printed, such as "pregnant = 1 and age <= 40"."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from milpcb.columns import Membership, Objects, Value
from milpcb.errors import InputError, did_you_mean, shown
from milpcb.types import Bools, Floats

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


def holds(where: str, values: Mapping[str, Floats | Objects]) -> Bools:
    """Return at which rows (n,) a condition holds; ``values`` are the columns of the table by name.

    A test is ``COLUMN <= NUMBER`` (or <, >=, >), ``COLUMN = VALUE``, ``COLUMN is not VALUE``, ``COLUMN in {VALUE,
    VALUE}``, ``COLUMN not in {...}``, ``COLUMN is missing`` or ``COLUMN is not missing``; " and " joins several. Texts
    may be in double quotes. Comparisons of a missing number fail. Raises InputError on anything else.
    """
    if not isinstance(where, str):
        raise InputError(f'where must be a condition such as "pregnant = 1", got {shown(where)}')
    found = np.ones(len(next(iter(values.values()))), dtype=bool)
    for test in re.split(r" and (?=(?:[^\"]*\"[^\"]*\")*[^\"]*$)", where.strip()):  # not inside of quotes
        found &= _holds(test.strip(), values)
    return found


def _holds(test: str, values: Mapping[str, Floats | Objects]) -> Bools:
    names = [name for name in values if test.startswith(f"{name} ")]
    if not names:
        raise InputError(
            f"the condition '{test}' does not begin with a column{did_you_mean(test.split(' ', maxsplit=1)[0], values)}"
        )
    name = max(names, key=len)
    column, rest = values[name], test[len(name) :].strip()
    if rest in ("is missing", "is not missing"):
        return _among(name, column, (None,)) == (rest == "is missing")
    if listed := _LISTED.fullmatch(rest):
        entries = [item["quoted"] or item["bare"].strip() for item in _ITEM.finditer(listed["values"])]
        return _among(name, column, tuple(_value(entry, column) for entry in entries)) != bool(listed["no"])
    compared = _COMPARED.fullmatch(rest)
    if compared is None:
        raise InputError(f"the condition '{test}' is none: write, for example, '{name} = 1' or '{name} is missing'")
    sign, text = compared["sign"].replace("is not", "!="), compared["value"].strip().strip('"')
    if column.dtype == object:
        if sign not in ("=", "!="):
            raise InputError(f"column '{name}' holds texts, which '{test}' compares; write '{name} = {text}'")
        return _among(name, column, (_value(text, column),)) == (sign == "=")
    return np.asarray(_COMPARE[sign](column, _number(text, test)))


def _among(name: str, column: Floats | Objects, chosen: tuple[Value, ...]) -> Bools:
    return Membership(name, chosen, inside=1).read(column) == 1


def _value(text: str, column: Floats | Objects) -> Value:
    """Return the value of a column that is written so; raises InputError where the column has none."""
    if text == "missing":
        return None
    if column.dtype != object:
        return _number(text, text)
    present = {value: str(value).lower() if isinstance(value, bool) else str(value) for value in set(column.tolist())}
    written = {shape: value for value, shape in present.items() if value is not None}
    if text not in written:
        raise InputError(f"no row has the value '{text}'{did_you_mean(text, written)}")
    return written[text]


def _number(text: str, test: str) -> float:
    try:
        return float(text)
    except ValueError as error:
        raise InputError(f"'{text}' in the condition '{test}' is no number, but its column holds numbers") from error
