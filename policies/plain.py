"""Dataclasses to plain data and back: every entry must have the type that its field is declared with."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints


def plain(value: Any) -> Any:
    """Return a value made of dataclasses, tuples, numbers, strings and None as dicts and lists of the last three."""
    if is_dataclass(value):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    return [plain(item) for item in value] if isinstance(value, tuple) else value


def read_fields(cls: Any, data: dict[str, Any], *, but: str = "") -> dict[str, Any]:
    """Return the fields of a dataclass, except one, from what ``plain`` made of them; raises TypeError or KeyError."""
    hints = get_type_hints(cls)
    return {field.name: read(hints[field.name], data[field.name]) for field in fields(cls) if field.name != but}


def read(hint: Any, value: Any) -> Any:
    """Return the value of a declared type from what ``plain`` made of it; raises TypeError or KeyError."""
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
    """Return the value as the first of several types that it fits."""
    for kind in get_args(hint):
        try:
            return read(kind, value)
        except (KeyError, TypeError, ValueError):
            continue
    raise TypeError(f"{str(value)[:40]!r} is none of {hint}")
