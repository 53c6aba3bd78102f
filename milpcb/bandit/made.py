"""Builds the parts of a bandit from its settings: oracle, learner, and contexts that are known in advance."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from milpcb.bandit.contexts import ContextReader
from milpcb.constraints import LabelConstraint, NamedConstraint, bind_to
from milpcb.contexts import FinitePool
from milpcb.errors import InputError, shown
from milpcb.oracles import open_oracle
from milpcb.oracles.growing import GrowingOracle
from milpcb.plugins import injection, registry
from milpcb.protocols import PolicyClass
from milpcb.types import Floats

if TYPE_CHECKING:  # a learner is reached by its name: importing all of them takes half of an import of milpcb
    from milpcb.learners.base import Learner


def action_names(policies: PolicyClass) -> list[Any]:
    """Return the names of the actions, their numbers where they have none."""
    names = getattr(policies, "action_names", None)
    return list(map(str, names)) if names else list(range(policies.n_actions))


def featureless(policies: PolicyClass) -> bool:
    """Return whether a class has a list of cut points for each feature, and that of no features."""
    cuts = getattr(policies, "thresholds", None)
    return isinstance(cuts, (list, tuple)) and not cuts and is_dataclass(policies)


def with_constant(policies: PolicyClass) -> PolicyClass:
    """Return a class with one constant feature in the place of none; every other class as it is."""
    changed: Any = policies
    return (
        cast("PolicyClass", replace(changed, thresholds=[[]], feature_names=None))
        if featureless(policies)
        else policies
    )


def constant(context: Any) -> list[float]:
    """Return the constant feature for a context that has none; raises InputError on one that has some."""
    try:
        empty = context is None or len(context) == 0
    except TypeError:
        empty = False
    if not empty:
        raise InputError(f"the class has no features: call act() without a context, got {shown(context)}")
    return [0.0]


def constants(table: Any) -> list[list[float]]:
    """Return the constant feature for each of several contexts that have none; raises InputError."""
    if not isinstance(table, Iterable) or getattr(table, "ndim", 1) == 0:
        raise InputError(f"act_all takes a list of contexts, each empty, as there are no features; got {shown(table)}")
    return list(map(constant, table))


def with_action(policies: PolicyClass, name: Any) -> PolicyClass:
    """Return the class with one action more, the last one; raises InputError where it cannot have it."""
    own: set[str] = {part.name for part in fields(policies)} if is_dataclass(policies) else set()
    if "n_actions" not in own:
        raise InputError(f"a {type(policies).__name__} cannot have another action: it has no n_actions to be raised")
    names = action_names(policies)
    if isinstance(name, bool) or not isinstance(name, (str, int)) or str(name) in map(str, names):
        raise InputError(f"add_action takes the name of an action that there is not yet, got {shown(name)}")
    changed: Any = policies
    if getattr(policies, "action_names", None):
        if not isinstance(name, str) or not name.strip():
            raise InputError(f"the actions of the class have names: give another one, and not {shown(name)}")
        return cast("PolicyClass", replace(changed, n_actions=len(names) + 1, action_names=[*names, str(name)]))
    if str(name) != str(len(names)):
        raise InputError(f"the actions of the class have no names: the next is {len(names)}, got {shown(name)}")
    return cast("PolicyClass", replace(changed, n_actions=len(names) + 1))


def known(
    contexts: Any, reader: ContextReader, constraints: Sequence[NamedConstraint], actions: Sequence[Any]
) -> tuple[Floats, list[LabelConstraint]]:
    """Return contexts that are known in advance as the numbers (m, d) that the class reads, and constraints on them."""
    if reader.declared:
        rows = reader.read_all(contexts)
        if not rows:
            raise InputError("contexts must be a table of at least one row; leave it out where contexts arrive")
        numbers = np.vstack([context.numbers for context in rows])
    else:
        numbers = reader.policies.read(contexts)
    if not constraints:
        return numbers, []
    return numbers, bind_to(constraints, contexts, reader.names, actions)


def oracle(
    policies: PolicyClass,
    numbers: Floats | None,
    rules: Sequence[LabelConstraint],
    options: Mapping[str, Any],
    changing: bool,
) -> Any:
    """Return the oracle on contexts (m, d), or one to which they are added as they arrive; ``options`` are its own."""
    if numbers is not None:
        return open_oracle(policies, numbers, constraints=rules, **options)
    return GrowingOracle(policies, constrained=changing, **options)


def learner(
    settings: Mapping[str, Any],
    oracle: Any,
    *,
    arrive: bool,
    constrained: bool,
    today: Callable[[int], int] | None,
) -> Learner:
    """Return the learner of a bandit's settings, with ``today`` as its baseline where there is one.

    Raises InputError where it cannot play as it is to be asked.
    """
    name = settings["learner"]
    cls = registry.load("learner", name)
    if cls.full_information or injection.asks(cls, "best"):
        raise InputError(
            f"learner '{name}' learns from the costs of all actions, which nobody knows here: take 'exp4', or another "
            "one that learns from what was played"
        )
    if constrained and not cls.plays_policies:
        raise InputError(
            f"learner '{name}' also draws actions that no allowed policy plays, so it cannot keep constraints; "
            "take 'exp4', or 'ftpl'"
        )
    supplied = {"seed": settings["seed"], "horizon": settings["horizon"]}
    supplied |= {"oracle": oracle, "n_actions": oracle.n_actions}
    if not arrive:
        supplied |= {"contexts": oracle.contexts, "pool": FinitePool(oracle.contexts)}
    elif injection.asks(cls, "pool") or injection.asks(cls, "contexts"):
        raise InputError(f"learner '{name}' needs to know contexts: give Bandit the contexts that can occur")
    alone = cast("Learner", injection.make(cls, supplied, settings["options"]))
    if today is None:
        return alone
    options = {name: option for name, option in settings["baseline"].items() if name != "is"}
    around = registry.load("learner", "conservative")
    return cast("Learner", injection.make(around, supplied, {"inner": alone, "baseline": today, **options}))
