"""Keys of a section are the arguments of a constructor: one mechanism checks, fills in defaults, prints the schema."""

import json
from collections.abc import Callable, Collection, Mapping
from functools import reduce
from inspect import Parameter, cleandoc
from operator import or_
from types import UnionType
from typing import Any, Union, get_args, get_origin

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError
from pydantic.errors import PydanticUserError

from milpcb.errors import InputError, clipped, did_you_mean, shown
from milpcb.experiments.study import sections
from milpcb.plugins import injection, registry

LARGEST = 2**63 - 1  # the integers of TOML
Numbers = tuple[bool | int | float, ...] | tuple[tuple[bool | int | float, ...], ...]  # an array in a config

Schema = dict[str, Any]
OWN_CLASS = r"^[\w.]+:[\w.]+$"  # a class beside the config


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
    for key in table:  # the cause of a missing one, so it comes first
        if key not in own:
            near = f"unknown key '{clipped(key)}' in {where}{did_you_mean(key, own)}"
            raise KeyProblemError(key, near if own else f"{where} has no options")
    checked = {}
    for key, parameter in own.items():
        if key in table:
            checked[key] = _checked(key, table[key], hints[key], where)
        elif parameter.default is Parameter.empty:
            raise KeyProblemError(key, f"{where} needs the key '{key}'")
        else:
            checked[key] = parameter.default
    return checked


def _checked(key: str, value: Any, kind: Any, where: str) -> Any:
    if (adapter := _adapter(kind)) is None:
        raise KeyProblemError(key, f"{key} in {where} cannot be set in a config: its type is {kind}")
    try:  # as JSON, where a list may stand for a tuple
        checked = adapter.validate_json(json.dumps(value, default=str), strict=True)
    except ValidationError as error:
        problem = error.errors()[0]
        given, reason = clipped(repr(problem["input"]), 200), problem["msg"].lower().removeprefix("value error, ")
        reason = reason.replace("an object", "a table")
        raise KeyProblemError(key, f"{key} in {where}: {reason}, got {given}") from error
    if _largest(value) > LARGEST:
        raise KeyProblemError(key, f"{key} in {where}: integers beyond 2**63 - 1 are too large")
    return checked


def _adapter(kind: Any) -> TypeAdapter[Any] | None:
    """Return the type of an option in a config, where arrays are lists of numbers; None where it cannot be checked."""
    if kind == npt.ArrayLike:
        kind = Numbers
    elif get_origin(kind) in (Union, UnionType):
        kind = reduce(or_, (part for part in get_args(kind) if get_origin(part) is not np.ndarray))
    is_model = isinstance(kind, type) and issubclass(kind, BaseModel)
    try:
        return TypeAdapter(kind, config=None if is_model else ConfigDict(arbitrary_types_allowed=True))
    except (PydanticUserError, TypeError):
        return None


def check_plain(options: Mapping[str, Any], where: str) -> None:
    """Raise KeyProblemError for an option that no config can hold, set or by default: a run writes down all of them."""
    for key, value in options.items():
        if not _is_plain(value):
            raise KeyProblemError(
                key,
                f"{key} in {where} is {shown(value)}, which a config cannot hold; "
                "let the class take numbers, strings, and lists and tables of them",
            )


def _is_plain(value: Any) -> bool:
    if isinstance(value, dict):
        return all(isinstance(key, str) and _is_plain(item) for key, item in value.items())
    if isinstance(value, (list, tuple)):
        return all(item is not None and _is_plain(item) for item in value)  # TOML has nothing for it
    return value is None or isinstance(value, (bool, int, float, str))


def _largest(value: Any) -> int:
    if isinstance(value, (dict, list)):
        return max(map(_largest, value.values() if isinstance(value, dict) else value), default=0)
    return abs(value) if isinstance(value, int) else 0


def schema() -> Schema:
    """Return the JSON schema of a whole config, with which editors complete and check.

    A key of a built-in part is checked against the type of its argument; those of a class of somebody's are not known
    here, and anything goes. Rules on several keys are left to ``milpcb run --dry-run``.
    """
    tables: Schema = {
        "experiment": _experiment(),
        "environment": _one_or_many(_component("environment")),
        "policies": _one_or_many(_component("policies", free=("n_actions",))),
        "oracle": _one_or_many(_oracle()),
        "learners": {"type": "array", "minItems": 1, "items": _component("learners")},
        "constraints": {"type": "array", "items": _component("constraints")},
        "run": _made_from(sections.RunSection),
        "versions": {"type": "object", "description": "what a run was played with; milpcb writes it"},
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "a study of milpcb",
        **_closed(tables, needed=["experiment", "environment", "policies", "learners"]),
    }


def _made_from(
    part: Callable[..., Any], own: Schema | None = None, supplied: Collection[str] = (), free: Collection[str] = ()
) -> Schema:
    """Return the schema of a section with the keys ``own`` and the options of a part, which may leave ``free`` out."""
    hints, options = injection.types(part, supplied), injection.options(part, supplied)
    properties = {**(own or {}), **{key: _value(hints[key], shown) for key, shown in options.items()}}
    needed = [key for key, shown in options.items() if shown.default is Parameter.empty and key not in free]
    return {"description": injection.summary(part), **_closed(properties, needed=["name"] * bool(own) + needed)}


def _value(hint: Any, parameter: Parameter) -> Schema:
    try:
        adapter = _adapter(hint)
        found = _flat(adapter.json_schema()) if adapter else {}
    except PydanticUserError:
        found = {}
    default = parameter.default
    return {**found, "default": default} if isinstance(default, (bool, int, float, str)) else found


def _experiment() -> Schema:
    found = {**_made_from(sections.ExperimentSection), "description": cleandoc(str(sections.ExperimentSection.__doc__))}
    horizon = found["properties"]["horizon"]
    found["properties"]["horizon"] = {"anyOf": [horizon["items"], horizon]}
    return found


def _component(section: str, *, free: tuple[str, ...] = ()) -> Schema:
    kind, each = sections.KIND_OF[section], []
    own = _made_from(sections.LearnerKeys if section == "learners" else sections.OwnKeys)["properties"]
    own |= {"oracle": _oracle(own=True)} if section == "learners" else {}
    for name in registry.entries(kind):
        own |= {"name": {"const": name}}
        each.append({"title": name, **_made_from(registry.load(kind, name), own, registry.KINDS[kind].supplied, free)})
    other = {"type": "object", "required": ["name"], "properties": {"name": {"type": "string", "pattern": OWN_CLASS}}}
    return {"type": "object", "required": ["name"], "anyOf": [*each, other]}


def _oracle(*, own: bool = False) -> Schema:
    """Return the schema of [oracle], or of a learner's own, which has no other kind by default."""
    each, label = [], _made_from(sections.OwnKeys)["properties"]
    for kind in registry.entries("oracle"):
        found = _made_from(registry.load("oracle", kind), None, registry.KINDS["oracle"].supplied)
        properties = {"kind": {"const": kind}, **label, **found["properties"]}
        if "solver" in properties:
            solver = {"type": "string", "examples": list(registry.entries("solver"))}
            properties["solver"] = {"anyOf": [solver, {"type": "array", "minItems": 1, "items": solver}]}
        needed = ["kind"] if own or kind != sections.DEFAULT_KIND else []
        each.append({"title": kind, **_closed(properties, needed=needed)})
    return {"type": "object", "anyOf": each}


def _one_or_many(section: Schema) -> Schema:
    return {"anyOf": [section, {"type": "array", "minItems": 1, "items": section}]}


def _closed(properties: Schema, *, needed: list[str]) -> Schema:
    return {"type": "object", "properties": properties, "required": needed, "additionalProperties": False}


def _flat(found: Schema) -> Schema:
    definitions = found.pop("$defs", {})

    def put(part: Any) -> Any:
        if isinstance(part, dict) and "$ref" in part:
            return put(definitions[part["$ref"].rpartition("/")[2]])
        if isinstance(part, dict):
            return {key: put(value) for key, value in part.items()}
        return [put(value) for value in part] if isinstance(part, list) else part

    return {key: value for key, value in put(found).items() if key != "title"}
