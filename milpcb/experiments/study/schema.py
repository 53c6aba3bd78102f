"""The JSON schema of a config, made from the constructors whose arguments are its keys: editors complete and check."""

from __future__ import annotations

from inspect import Parameter
from typing import Any, get_args

from pydantic import ConfigDict, TypeAdapter
from pydantic.errors import PydanticUserError

from milpcb.experiments.study.config import DEFAULT_KIND, KIND_OF
from milpcb.experiments.study.options import as_written
from milpcb.experiments.study.sections import LONGEST, Contexts, ExperimentSection, RunSection
from milpcb.plugins import injection, registry

Schema = dict[str, Any]
OWN_CLASS = r"^[\w.]+:[\w.]+$"  # a class beside the config
LABEL: Schema = {"type": "string", "maxLength": LONGEST, "description": "what curves and tables call it"}


def schema() -> Schema:
    """Return the schema of a whole config.

    A key of a built-in part is checked against the type of its argument; those of a class of somebody's are not known
    here, and anything goes. What depends on several keys is left to ``milpcb run --dry-run``.
    """
    sections: Schema = {
        "experiment": _experiment(),
        "environment": _one_or_many(_component("environment")),
        "policies": _one_or_many(_component("policies", free=("n_actions",))),
        "oracle": _one_or_many(_oracle()),
        "learners": {"type": "array", "minItems": 1, "items": _learner()},
        "constraints": {"type": "array", "items": _component("constraints")},
        "run": _flat(RunSection.model_json_schema()),
        "versions": {"type": "object", "description": "what a run was played with; milpcb writes it"},
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "a study of milpcb",
        **_closed(sections, needed=["experiment", "environment", "policies", "learners"]),
    }


def _experiment() -> Schema:
    """Return [experiment]; a single horizon may stand for a list of one."""
    found = _flat(ExperimentSection.model_json_schema())
    horizon = found["properties"]["horizon"]
    found["properties"]["horizon"] = {"anyOf": [horizon["items"], horizon]}
    return found


def _component(section: str, *, more: Schema | None = None, free: tuple[str, ...] = ()) -> Schema:
    """Return a section that names a part and sets its options; ``more`` are keys that the section has besides.

    ``free`` are options that need not be set, as they are known later.
    """
    kind, own = KIND_OF[section], {"label": LABEL, **(more or {})}
    each = [_named(kind, name, own, free) for name in registry.entries(kind)]
    other = {"type": "object", "required": ["name"], "properties": {"name": {"type": "string", "pattern": OWN_CLASS}}}
    return {"type": "object", "required": ["name"], "anyOf": [*each, other]}


def _named(kind: str, name: str, own: Schema, free: tuple[str, ...]) -> Schema:
    properties, needed = _options(kind, name)
    properties = {"name": {"const": name}, **own, **properties}
    about = {"title": name, "description": injection.summary(registry.load(kind, name))}
    return {**about, **_closed(properties, needed=["name", *(key for key in needed if key not in free)])}


def _options(kind: str, name: str) -> tuple[Schema, list[str]]:
    part, supplied = registry.load(kind, name), registry.KINDS[kind].supplied
    hints, found = injection.types(part, supplied), injection.options(part, supplied)
    properties = {key: _value(hints[key], parameter) for key, parameter in found.items()}
    return properties, [key for key, parameter in found.items() if parameter.default is Parameter.empty]


def _value(hint: Any, parameter: Parameter) -> Schema:
    """Return the schema of an option, anything where its type has none, with its default where that is plain."""
    try:
        found = _flat(TypeAdapter(as_written(hint), config=ConfigDict(arbitrary_types_allowed=True)).json_schema())
    except (PydanticUserError, TypeError):
        found = {}
    default = parameter.default
    return {**found, "default": default} if isinstance(default, (bool, int, float, str)) else found


def _oracle() -> Schema:
    each = []
    for kind in registry.entries("oracle"):
        properties, _ = _options("oracle", kind)
        if "solver" in properties:
            solver = {"type": "string", "examples": list(registry.entries("solver"))}
            properties["solver"] = {"anyOf": [solver, {"type": "array", "minItems": 1, "items": solver}]}
        named = {"kind": {"const": kind}, "label": LABEL, **properties}
        each.append({"title": kind, **_closed(named, needed=[] if kind == DEFAULT_KIND else ["kind"])})
    return {"type": "object", "anyOf": each}


def _learner() -> Schema:
    more = {
        "oracle": _oracle(),
        "contexts": {"enum": list(get_args(Contexts)), "description": "what it knows of contexts to come"},
        "max_horizon": {"type": "integer", "minimum": 1, "description": "it is left out at longer horizons"},
    }
    return _component("learners", more=more)


def _one_or_many(section: Schema) -> Schema:
    return {"anyOf": [section, {"type": "array", "minItems": 1, "items": section}]}


def _closed(properties: Schema, *, needed: list[str]) -> Schema:
    return {"type": "object", "properties": properties, "required": needed, "additionalProperties": False}


def _flat(found: Schema) -> Schema:
    """Return a schema with its definitions in their places, so that it may stand within another one."""
    definitions = found.pop("$defs", {})

    def put(part: Any) -> Any:
        if isinstance(part, dict) and "$ref" in part:
            return put(definitions[part["$ref"].rpartition("/")[2]])
        if isinstance(part, dict):
            return {key: put(value) for key, value in part.items()}
        return [put(value) for value in part] if isinstance(part, list) else part

    return {key: value for key, value in put(found).items() if key != "title"}
