"""The JSON schema of a config, with which editors complete and check."""

from collections.abc import Collection
from functools import reduce
from inspect import cleandoc
from operator import or_
from typing import Annotated, Any, Literal, NotRequired, cast

from pydantic import Field, TypeAdapter

from milpcb.experiments.study import sections
from milpcb.experiments.study.config import keys_of
from milpcb.experiments.study.sections import typed
from milpcb.plugins import injection, registry

OWN_CLASS = r"^[\w.]+:[\w.]+$"  # a class beside the config
_list, _literal, _sometimes = cast("tuple[Any, ...]", (list, Literal, NotRequired))  # of values, not of types


def schema() -> dict[str, Any]:
    """Return the JSON schema of a whole config; foreign classes may have any options."""
    oracles, learners = _oracles(own=False), _components("learners", oracle=_sometimes[_oracles(own=True)])
    experiment = keys_of(sections.ExperimentSection)
    tables = {
        "experiment": _table("experiment", cleandoc(str(sections.ExperimentSection.__doc__)), experiment),
        "environment": _one_or_many(_components("environment")),
        "policies": _one_or_many(_components("policies", free=("n_actions",))),
        "oracle": _sometimes[_one_or_many(oracles)],
        "learners": Annotated[_list[learners], Field(min_length=1)],
        "constraints": _sometimes[_list[_components("constraints")]],
        "run": _sometimes[_table("run", injection.summary(sections.RunSection), keys_of(sections.RunSection))],
        "versions": NotRequired[Annotated[dict[str, Any], Field(description="of packages; milpcb writes it")]],
    }
    found: dict[str, Any] = TypeAdapter(_table("a study of milpcb", "", tables)).json_schema()
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **found}


def _table(title: str, words: str, keys: dict[str, Any]) -> Any:
    return typed(keys, title=title, json_schema_extra={"description": words})


def _components(section: str, free: Collection[str] = (), **own: Any) -> Any:
    kind = sections.KIND_OF[section]
    own = {**keys_of(sections.LearnerKeys if section == "learners" else sections.OwnKeys), **own}
    each: list[Any] = [typed({"name": Annotated[str, Field(pattern=OWN_CLASS)]}, extra="allow", title="of your own")]
    for name in registry.entries(kind):
        component = registry.load(kind, name)
        options = keys_of(component, registry.KINDS[kind].supplied)
        options |= {key: _sometimes[options[key]] for key in free if key in options}
        each.append(_table(name, injection.summary(component), {"name": _literal[name], **own, **options}))
    return reduce(or_, each)


def _oracles(*, own: bool) -> Any:
    solver = _sometimes[Annotated[str, Field(examples=list(registry.entries("solver")))]]
    each = []
    for kind in registry.entries("oracle"):
        component = registry.load("oracle", kind)
        options = keys_of(component, registry.KINDS["oracle"].supplied)
        options |= {"solver": solver} if "solver" in options else {}
        needed = own or kind != sections.DEFAULT_KIND
        named = {"kind": _literal[kind] if needed else _sometimes[_literal[kind]], **keys_of(sections.OwnKeys)}
        each.append(_table(kind, injection.summary(component), {**named, **options}))
    return reduce(or_, each)


def _one_or_many(section: Any) -> Any:
    return section | Annotated[_list[section], Field(min_length=1)]
