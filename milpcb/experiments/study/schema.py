"""The JSON schema of a config, with which editors complete and check."""

from collections.abc import Callable, Collection
from inspect import cleandoc
from typing import Any

from milpcb.experiments.study import sections
from milpcb.experiments.study.config import table_of
from milpcb.plugins import injection, registry

Schema = dict[str, Any]
OWN_CLASS = r"^[\w.]+:[\w.]+$"  # a class beside the config


def schema() -> Schema:
    """Return the JSON schema of a whole config; of classes of somebody's, anything goes."""
    experiment = _made_from(sections.ExperimentSection)
    horizon = experiment["properties"]["horizon"]
    experiment["properties"]["horizon"] = {"anyOf": [horizon["items"], horizon]}
    tables: Schema = {
        "experiment": {**experiment, "description": cleandoc(str(sections.ExperimentSection.__doc__))},
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
    found = _flat(table_of(part, frozenset(supplied)).json_schema())
    for key, parameter in injection.options(part, supplied).items():
        if isinstance(parameter.default, (bool, int, float, str)):
            found["properties"][key]["default"] = parameter.default
    needed = [key for key in found.get("required", []) if key not in free]
    properties = {**(own or {}), **found.get("properties", {})}
    return {"description": injection.summary(part), **_closed(properties, needed=["name"] * bool(own) + needed)}


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
    each, label = [], _made_from(sections.OwnKeys)["properties"]
    for kind in registry.entries("oracle"):
        found = _made_from(registry.load("oracle", kind), None, registry.KINDS["oracle"].supplied)
        properties = {"kind": {"const": kind}, **label, **found["properties"]}
        if "solver" in properties:
            properties["solver"] = {"type": "string", "examples": list(registry.entries("solver"))}
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
            return {key: put(value) for key, value in part.items() if key != "title" or isinstance(value, dict)}
        return [put(value) for value in part] if isinstance(part, list) else part

    return dict(put(found))
