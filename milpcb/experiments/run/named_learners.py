"""The ``learners`` argument of ``milpcb.play``: names, classes, tables of options, labels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from milpcb.errors import InputError, did_you_mean, shown
from milpcb.plugins import injection, registry
from milpcb.protocols import Learner


@dataclass(frozen=True)
class NamedLearner:
    """A learner that plays: what the table calls it, its class, its options, and its oracle's, {} for the default.

    ``name`` is the registered one, by which pictures give it its colour; of a class that is not registered its own.
    """

    label: str
    name: str
    cls: type[Learner]
    options: dict[str, Any]
    oracle: dict[str, Any]


def named_learners(learners: Any, oracle: Any) -> list[NamedLearner]:
    """Return the learners; raises InputError where one cannot be read, or two are called the same."""
    if isinstance(learners, Mapping) and "name" not in learners:
        named = [_named(entry, oracle, str(label)) for label, entry in learners.items()]
    else:
        listed = learners if isinstance(learners, (list, tuple)) else [learners]
        named = [_named(entry, oracle, "") for entry in listed]
    if not named:
        raise InputError("there is no learner to play; name at least one, such as 'exp4'")
    labels = [one.label for one in named]
    for label in labels:
        if labels.count(label) > 1:
            raise InputError(f"two learners are called '{label}'; give each a label of its own")
    return named


def _named(entry: Any, oracle: Any, label: str) -> NamedLearner:
    table = dict(entry) if isinstance(entry, Mapping) else {"name": entry}
    name, asked, own = table.pop("name", None), table.pop("oracle", oracle), table.pop("label", "")
    if isinstance(name, type) and issubclass(name, Learner):
        cls, called, registered = name, name.__name__, _registered(name)
    elif isinstance(name, str):
        cls, called, registered = registry.load("learner", name), name, name
    else:
        raise InputError(f"a learner is a name, a Learner class, or a table with the key 'name', got {shown(entry)}")
    known = injection.options(cls, registry.KINDS["learner"].supplied)
    for key in table:
        if key not in known:
            raise InputError(f"learner '{called}' has no option '{key}'{did_you_mean(str(key), known)}")
    return NamedLearner(label or str(own) or called, registered, cls, table, _oracle_options(asked))


def _registered(cls: type[Learner]) -> str:
    """Return the name that a class is registered under; its own where it is not."""
    own = f"{cls.__module__}:{cls.__name__}"
    return next((name for name, target in registry.entries("learner").items() if target == own), cls.__name__)


def _oracle_options(oracle: Any) -> dict[str, Any]:
    if oracle is None:
        return {}
    if isinstance(oracle, str):
        return {"kind": oracle}
    if not isinstance(oracle, Mapping):
        raise InputError(f"oracle must be a kind such as 'milp', or a table with the key 'kind', got {shown(oracle)}")
    return dict(oracle)
