"""A component's config keys are its constructor's arguments: one mechanism for every section."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Collection, Mapping
from typing import Any, get_type_hints

from pydantic import BaseModel, ConfigDict, ValidationError, create_model

from milpcb.errors import InputError, did_you_mean


class KeyProblemError(InputError):
    """A key of a table is wrong; ``key`` names it so that a config can add its line."""

    def __init__(self, key: str, message: str) -> None:
        super().__init__(message)
        self.key = key


def option_names(component: Callable[..., Any], supplied: Collection[str] = ()) -> list[str]:
    """Return the keys a user may set: the constructor's arguments that the runtime does not supply."""
    return [name for name in inspect.signature(component).parameters if name not in supplied]


def check_options(
    component: Callable[..., Any], table: Mapping[str, Any], where: str, supplied: Collection[str] = ()
) -> dict[str, Any]:
    """Return all options with defaults filled in; raises KeyProblemError that names the key and the nearest one."""
    hints = get_type_hints(component if inspect.isfunction(component) else component.__init__)
    parameters = inspect.signature(component).parameters
    fields: dict[str, Any] = {
        name: (hints[name], ... if parameters[name].default is inspect.Parameter.empty else parameters[name].default)
        for name in option_names(component, supplied)
    }
    model = create_model("Options", __config__=_CONFIG, **fields)
    return dict(validate(model, table, where))


def validate(model: type[BaseModel], table: Mapping[str, Any], where: str) -> BaseModel:
    """Return the validated model; the table is read as JSON, where a list may stand for a tuple."""
    try:
        return model.model_validate_json(json.dumps(table, default=str), strict=True)
    except ValidationError as error:
        problems = error.errors()
        unknown = [
            problem for problem in problems if problem["type"] == "extra_forbidden"
        ]  # the cause of a missing one
        raise KeyProblemError(*_explain((unknown or problems)[0], list(model.model_fields), where)) from error


_CONFIG = ConfigDict(extra="forbid", frozen=True, arbitrary_types_allowed=True)


def _explain(problem: Any, known: list[str], where: str) -> tuple[str, str]:
    key = ".".join(str(part) for part in problem["loc"][:1])
    if problem["type"] == "extra_forbidden":
        return key, f"unknown key '{key}' in {where}{did_you_mean(key, known)}"
    if problem["type"] == "missing":
        return key, f"{where} needs the key '{key}'"
    return key, f"{key} in {where}: {problem['msg'].lower()}, got {problem['input']!r}"
