"""Rules as JSON documents: written as plain data, read back, and checked against their class."""

from collections.abc import Sequence
from dataclasses import fields, is_dataclass
from math import isfinite
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from milpcb.core import gate
from milpcb.errors import InputError, UnknownNameError
from milpcb.plugins import registry

FORMAT = 4  # of the JSON of policies
ACTIONS = ("action", "actions", "inside", "outside", "default", "least")  # fields that hold numbers of actions
INCREASING = ("cuts", "steps")


def plain(value: Any) -> Any:
    """Return a value made of dataclasses, tuples, numbers, strings and None as dicts and lists of the last three."""
    if is_dataclass(value):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    return [plain(item) for item in value] if isinstance(value, tuple) else value


def read_fields(cls: Any, data: dict[str, Any], *, but: str = "") -> dict[str, Any]:
    """Return the fields of a dataclass, except one, from their ``plain`` form; raises TypeError or KeyError."""
    hints = get_type_hints(cls)
    return {field.name: read(hints[field.name], data[field.name]) for field in fields(cls) if field.name != but}


def read(hint: Any, value: Any) -> Any:
    """Return the value of a declared type from its ``plain`` form; raises TypeError or KeyError."""
    if get_origin(hint) in (Union, UnionType):
        return _read_either(hint, value)
    if is_dataclass(hint) and isinstance(hint, type) and isinstance(value, dict):
        return hint(**read_fields(hint, value))
    if get_origin(hint) is tuple and isinstance(value, list):
        first, *rest = get_args(hint)
        kinds = [first] * len(value) if rest == [...] else [first, *rest]
        return tuple(read(kind, item) for kind, item in zip(kinds, value, strict=True))
    if hint is float and type(value) is int:
        return float(value)
    if hint in (bool, int, float, str, NoneType) and type(value) is hint:
        return value
    raise TypeError(f"{str(value)[:40]!r} is no {getattr(hint, '__name__', hint)}")


def _read_either(hint: Any, value: Any) -> Any:
    for kind in get_args(hint):
        try:
            return read(kind, value)
        except (KeyError, TypeError, ValueError):
            continue
    raise TypeError(f"{str(value)[:40]!r} is none of {hint}")


def check_sound(rule: Any) -> None:
    """Raise ValueError on infinite numbers, cuts out of order or place, and features or actions out of range."""
    names = rule.names
    n_features, n_actions = len(names.columns or names.features), len(names.actions)
    _check_binary(rule)
    for field in fields(rule):
        if field.name != "names":
            _check(field.name, getattr(rule, field.name), n_features, n_actions)
    for column in names.columns:
        _check("columns", column, 0, 2)  # what is inside a set of values is 0 or 1
        if column.name not in names.schema.names:
            raise ValueError("a column is not in its schema")
    for feature, cuts in (rule.cut_points() or {}).items() if names.columns else ():
        if hasattr(names.columns[feature], "inside"):  # a condition, which is 0 or 1
            _check_between(cuts or ())


def _check(name: str, value: Any, n_features: int, n_actions: int) -> None:
    if is_dataclass(value):
        _check_binary(value)
        for field in fields(value):
            _check(field.name, getattr(value, field.name), n_features, n_actions)
    elif isinstance(value, tuple):
        numbers = [entry for entry in value if isinstance(entry, (int, float))]
        if name in INCREASING and numbers != sorted(numbers):
            raise ValueError(f"its {name} are not in increasing order")
        for entry in value:
            _check(name, entry, n_features, n_actions)
    elif isinstance(value, float) and not isfinite(value):
        raise ValueError(f"its {name} is {value}, which is no finite number")
    elif name in ("feature", *ACTIONS) and type(value) is int:
        most = n_features if name == "feature" else n_actions
        if value < 0 or (most and value >= most):
            raise ValueError(f"its {name} {value} is out of range")


def _check_binary(part: Any) -> None:
    """Raise ValueError where a feature of 0 and 1, which words compare with these, is cut anywhere but between them."""
    if getattr(part, "binary", False):
        cuts = [cut for name in INCREASING for cut in getattr(part, name, None) or ()]
        _check_between([*cuts, *(getattr(part, name, None) for name in ("threshold", "lower", "upper"))])


def _check_between(cuts: Sequence[float | None]) -> None:
    if not all(cut is None or 0.0 <= cut < 1.0 for cut in cuts):
        raise ValueError("a feature that is 0 or 1 is not cut between the two")


def from_json(text: str) -> Any:
    """Return the policy that ``to_json`` wrote, or that of an answer of ``milpcb solve --out``; raises InputError.

    Only classes registered under kind "policy" are ever loaded.

    Parameters
    ----------
    text : from ``policy.to_json()``, or the content of such an answer

    """
    try:
        document = gate.read_json(text)
    except (AttributeError, TypeError, ValueError) as error:
        raise InputError(f"this is no JSON of a policy: {error}") from error
    if isinstance(document, dict) and isinstance(document.get("policy"), dict):
        document = document["policy"]
    if not isinstance(document, dict) or document.get("milpcb_policy") != FORMAT:
        raise InputError(f"this is no JSON of a policy in format {FORMAT}; give what policy.to_json() wrote")
    name, known = document.get("class"), registry.names("policy")
    if name not in known:
        raise UnknownNameError("policy", str(name), known)
    try:
        return registry.load("policy", name).from_document(document)
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
        raise InputError(f"the JSON of a {name} is damaged ({type(error).__name__}: {error})") from error
