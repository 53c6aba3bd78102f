"""A component's config keys are its constructor's arguments: one mechanism for every section."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from functools import reduce
from inspect import Parameter
from operator import or_
from types import UnionType
from typing import Any, Union, get_args, get_origin

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError
from pydantic.errors import PydanticUserError

from milpcb.errors import InputError, clipped, did_you_mean, shown
from milpcb.plugins import injection

LARGEST = 2**63 - 1  # the integers of TOML
Numbers = tuple[bool | int | float, ...] | tuple[tuple[bool | int | float, ...], ...]  # an array as it is written down


class KeyProblemError(InputError):
    """A key of a table is wrong; ``key`` names it so that a config can add its line."""

    def __init__(self, key: str, message: str) -> None:
        super().__init__(message)
        self.key = key


def option_names(component: Callable[..., Any], supplied: Collection[str] = ()) -> list[str]:
    """Return the keys a user may set: the constructor's arguments that the runtime does not supply."""
    return list(injection.options(component, supplied))


def check_options(
    component: Callable[..., Any], table: Mapping[str, Any], where: str, supplied: Collection[str] = ()
) -> dict[str, Any]:
    """Return all options with defaults filled in; raises KeyProblemError that names the key and the nearest one."""
    own, hints = injection.options(component, supplied), injection.types(component, supplied)
    for key in table:
        if key not in own:
            raise KeyProblemError(key, _unknown(key, list(own), where))
    checked = {}
    for key, parameter in own.items():
        if key in table:
            checked[key] = _checked(key, table[key], hints[key], where)
        elif parameter.default is Parameter.empty:
            raise KeyProblemError(key, f"{where} needs the key '{key}'")
        else:
            checked[key] = parameter.default
    return checked


def check_plain(options: Mapping[str, Any], where: str) -> None:
    """Raise KeyProblemError for an option that no config can hold, set or by default: a run writes down all of them."""
    for key, value in options.items():
        if not _is_plain(value):
            raise KeyProblemError(
                key,
                f"{key} in {where} is {shown(value)}, which a config cannot hold; "
                "let the class take numbers, strings, and lists and tables of them",
            )


def validate(model: type[BaseModel], table: Mapping[str, Any], where: str) -> BaseModel:
    """Return the validated model; the table is read as JSON, where a list may stand for a tuple."""
    for key in table:
        if key not in model.model_fields:  # the cause of a missing one, so it comes first
            raise KeyProblemError(key, _unknown(key, list(model.model_fields), where))
    try:
        return model.model_validate_json(_as_json(table), strict=True)
    except ValidationError as error:
        problem = error.errors()[0]
        key = str(problem["loc"][0]) if problem["loc"] else ""
        if problem["type"] == "missing":
            raise KeyProblemError(key, f"{where} needs the key '{key}'") from error
        raise KeyProblemError(key, _wrong(key, problem, where)) from error


_CONFIG = ConfigDict(arbitrary_types_allowed=True)


def _checked(key: str, value: Any, kind: Any, where: str) -> Any:
    if _largest(value) > LARGEST:
        raise KeyProblemError(key, f"{key} in {where}: integers beyond 2**63 - 1 are too large")
    try:
        adapter: TypeAdapter[Any] = TypeAdapter(as_written(kind), config=_config_of(kind))
    except (PydanticUserError, TypeError) as error:
        raise KeyProblemError(key, f"{key} in {where} cannot be set in a config: its type is {kind}") from error
    try:
        return adapter.validate_json(_as_json(value), strict=True)
    except ValidationError as error:
        raise KeyProblemError(key, _wrong(key, error.errors()[0], where)) from error


def as_written(kind: Any) -> Any:
    """Return the type of an option as a config writes it: of an array or one of several types, lists of numbers."""
    if kind == npt.ArrayLike:
        return Numbers
    parts = tuple(part for part in get_args(kind) if get_origin(part) is not np.ndarray)
    return reduce(or_, parts) if get_origin(kind) in (Union, UnionType) else kind


def _config_of(kind: Any) -> ConfigDict | None:
    return None if isinstance(kind, type) and issubclass(kind, BaseModel) else _CONFIG


def _as_json(value: Any) -> str:
    return json.dumps(value, default=str)


def _is_plain(value: Any) -> bool:
    if isinstance(value, dict):
        return all(isinstance(key, str) and _is_plain(item) for key, item in value.items())
    if isinstance(value, (list, tuple)):
        return all(item is not None and _is_plain(item) for item in value)  # TOML has nothing for it
    return value is None or isinstance(value, (bool, int, float, str))


def _largest(value: Any) -> int:
    if isinstance(value, dict):
        return max(map(_largest, value.values()), default=0)
    if isinstance(value, list):
        return max(map(_largest, value), default=0)
    return abs(value) if isinstance(value, int) else 0


def _unknown(key: str, known: list[str], where: str) -> str:
    return f"unknown key '{clipped(key)}' in {where}{did_you_mean(key, known)}" if known else f"{where} has no options"


def _wrong(key: str, problem: Any, where: str) -> str:
    given = clipped(repr(problem["input"]), 200)
    return f"{key} in {where}: {problem['msg'].lower()}, got {given}"
