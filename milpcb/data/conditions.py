"""Conditions on the rows of a table in the words in which rules are printed, such as "pregnant = 1 and age <= 40".

The grammar, which milpcb.data.columns writes and this file reads; a printed condition is read as the same one:

    condition := test (" and " test)*
    test      := NAME ("<=" | "<" | ">=" | ">") NUMBER missing? | NUMBER "<" NAME "<=" NUMBER
               | NAME ("=" | "!=" | "is not") VALUE missing? | NAME "not"? "in" "{" VALUE ("," VALUE)* "}"
               | NAME "is" "not"? "missing"
    missing   := "(or missing)" | "(not missing)"
    VALUE     := "missing" | "true" | "false" | NUMBER | STRING
    NAME      := STRING

A string that could be read as anything else is in double quotes, with backslashes before quotes and backslashes in it
and escapes for characters that do not print. So ``1`` is a number and ``"1"`` a string, ``missing`` is a missing value
and ``"missing"`` a string.
"""

import operator
import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from milpcb.core.text import QUOTED, folded, unquoted
from milpcb.data.columns import HOLDS, Membership, Value, Values, as_number, in_words, name_in_words
from milpcb.errors import InputError, did_you_mean, shown
from milpcb.types import Bools

_COMPARE: Mapping[str, Callable[[Any, Any], Any]] = {
    **HOLDS, "<": operator.lt, "=": operator.eq, "!=": operator.ne, "is not": operator.ne
}  # fmt: skip
_NAME = rf'(?P<name>{QUOTED}|(?:(?! +(?:is|not|and) )[^"<>=!{{}}])+?)'
_BARE = r'(?:(?! and(?: |$))[^"])+?'
_ITEM = rf' *(?:{QUOTED}|[^\s",{{}}][^",{{}}]*) *'
_END = r" *(?: and +(?P<more>)|$)"
_MISSING = re.compile(rf"{_NAME} +is +(?P<no>not +)?missing{_END}")
_LISTED = re.compile(rf"{_NAME} +(?P<no>not +)?in +\{{(?P<values>{_ITEM}(?:,{_ITEM})*)\}}{_END}")
_BETWEEN = re.compile(rf"(?P<low>[^\s<>=]+) +< +{_NAME} +<= +(?P<high>[^\s<>=]+){_END}")
_COMPARED = re.compile(
    rf"{_NAME} *(?P<sign><=|>=|!=|<|>|=|(?<= )is +not(?= )) *(?P<value>{QUOTED}|{_BARE})"
    rf"(?: +\((?P<side>or|not) missing\))?{_END}"
)


def holds(where: str, values: Mapping[str, Values]) -> Bools:
    """Return at which rows (n,) a condition holds; ``values`` are the columns of the table by name.

    A missing value is not any other, and its comparisons with numbers fail, unless the test has "(or missing)". Raises
    InputError on other strings, and on a value that no row has but one has its like; else warns of the value.
    """
    if not isinstance(where, str):
        raise InputError(f'where must be a condition such as "pregnant = 1", got {shown(where)}')
    found = np.ones(len(next(iter(values.values()))), dtype=bool)
    for test in _tests(where.strip(), values):
        found &= test
    return found


def names_in(where: str) -> Iterator[str]:
    """Yield the column of each test of a condition, as far as it can be read."""
    for found, _ in _read(where.strip()):
        yield _text(found["name"])


def _read(text: str) -> Iterator[tuple[re.Match[str], Callable[..., Bools]]]:
    kinds = ((_MISSING, _missing), (_LISTED, _listed), (_BETWEEN, _between), (_COMPARED, _compared))
    while read := next(((found, kind) for pattern, kind in kinds if (found := pattern.match(text))), None):
        yield read
        text = text[read[0].end() :]


def _tests(text: str, values: Mapping[str, Values]) -> Iterator[Bools]:
    more: object = True
    for found, kind in _read(text):
        name, test, more = _text(found["name"]), found[0].strip(), found["more"]
        if name not in values:
            raise _none(test, values, name)
        yield kind(found, name, values[name], test)
        text = text[found.end() :]
    if more is not None:
        raise _none(text, values)


def _missing(found: re.Match[str], name: str, column: Values, test: str) -> Bools:
    _check_present(name, column, None, "missing", test)
    return _among(name, column, [None], holds=not found["no"])


def _listed(found: re.Match[str], name: str, column: Values, test: str) -> Bools:
    chosen = [_value(item, name, column, test) for item in re.findall(_ITEM, found["values"])]
    return _among(name, column, chosen, holds=not found["no"])


def _between(found: re.Match[str], name: str, column: Values, test: str) -> Bools:
    low, high = _number(found["low"], name, column, test), _number(found["high"], name, column, test)
    return np.asarray((low < column) & (column <= high))


def _compared(found: re.Match[str], name: str, column: Values, test: str) -> Bools:
    sign, written = " ".join(found["sign"].split()), found["value"]
    if column.dtype != object:
        compared = _COMPARE[sign](column, _number(written, name, column, test))
        side = found["side"]
        return np.asarray(compared if side is None else np.where(np.isnan(column), side == "or", compared))
    if sign not in ("=", "!=", "is not"):
        raise InputError(f"column '{name}' holds categories, but '{test}' compares numbers; write '{name} = {written}'")
    if found["side"] is not None:
        raise InputError(
            f"column '{name}' holds categories, and '(or missing)' is for numbers: write strings in quotes"
        )
    return _among(name, column, [_value(written, name, column, test)], holds=sign == "=")


def _among(name: str, column: Values, chosen: list[Value], *, holds: bool) -> Bools:
    return np.asarray(Membership(name, tuple(chosen), inside=int(holds)).read(column) == 1)


def _text(written: str) -> str:
    """Return a name or text as it was before it was written."""
    return unquoted(written) if written.startswith('"') else written.strip()


def _value(written: str, name: str, column: Values, test: str) -> Value:
    written = written.strip()
    value: Value = as_number(written)
    if written.startswith('"'):
        value = unquoted(written)
    elif value is None:
        value = {"missing": None, "true": True, "false": False}.get(written, written)
    if value is not None and column.dtype != object:
        return _number(written, name, column, test)
    _check_present(name, column, value, written, test)
    return value


def _number(written: str, name: str, column: Values, test: str) -> float:
    number = as_number(written)
    if column.dtype == object:
        raise InputError(f"column '{name}' holds categories, which '{test}' compares with numbers")
    if number is None:
        raise InputError(f"'{written}' in the condition '{test}' is no number, but its column holds numbers")
    return float(number)


def _check_present(name: str, column: Values, value: Value, written: str, test: str) -> None:
    """Where no row has a value: raise InputError if another is written alike; else warn, as it may be rare."""
    present = set(column.tolist()) if column.dtype == object else set()
    if value in present or (value is None and not present):
        return
    alike = [written] if written in present else [other for other in present if _plainly(other) == _plainly(value)]
    if alike and not written.startswith('"'):
        there = in_words(alike[0])
        some = f"some have {there} in column '{name}'; write '{name} = {there}' for these"
        raise InputError(f"no row has the value {written} of the condition '{test}', but {some}")
    if value is not None:
        near = did_you_mean(written, [in_words(other) for other in present if other is not None])
        warnings.warn(f"no row has the value '{_plainly(value)}' of a condition{near}", stacklevel=2)


def _plainly(value: Value) -> str:
    return "missing" if value is None else folded(str(value))


def _none(text: str, values: Mapping[str, Values], name: str = "") -> InputError:
    """Return the error on a text that is no test, or one of a column that is not there."""
    if any(text.startswith((f"{column} ", f"{name_in_words(column)} ")) for column in values):
        return InputError(f"'{text}' is no condition: write, for example, 'age = 1' or 'age is missing'")
    near = did_you_mean(name or text.split(" ", maxsplit=1)[0], values)
    return InputError(f"the condition '{text}' does not begin with a column{near}")
