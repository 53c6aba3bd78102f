"""Builds the objects of a cell from its settings: environment, policy class, stream, oracles, learner."""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from milpcb.constraints import Constraint, LabelConstraint, bind_to
from milpcb.constraints.binding import EVERY_KIND, listed
from milpcb.contexts import Empirical, FinitePool, Transductive
from milpcb.errors import InputError, MilpcbError, cause
from milpcb.learners import Learner
from milpcb.oracles import open_oracle
from milpcb.oracles.base import Oracle
from milpcb.plugins import injection, local_classes, registry
from milpcb.protocols import (
    Cache,
    ContextModel,
    Environment,
    Opened,
    PolicyClass,
    Stream,
    check_n_actions,
    open_class,
)
from milpcb.types import Ints

if TYPE_CHECKING:  # milpcb.play does without pydantic
    from milpcb.experiments.study.cells import Cell, Task
    from milpcb.experiments.study.sections import Component, LearnerSection

KEPT = 4  # worlds a worker keeps open: tiny cells of one world follow each other
_open: OrderedDict[str, World] = OrderedDict()


@dataclass(frozen=True)
class World:
    """Environment, policy class, horizon and seed that learners share, in a study and in ``milpcb.play``."""

    environment: Any  # an Environment, or a live one
    policies: PolicyClass
    stream: Any  # a Stream, or a LiveStream, which has contexts and an order too
    horizon: int

    @cached_property
    def opened(self) -> Opened:
        """The policy class on the contexts of this world; all its oracles share the geometry."""
        return open_class(self.policies, self.stream.contexts)

    def constraints(self, sections: tuple[Component, ...]) -> tuple[LabelConstraint, ...]:
        """Return the side constraints on the contexts of this world, with the environment's names of columns."""
        if not sections:
            return ()
        supplied = {
            "contexts": self.stream.contexts,
            "n_contexts": len(self.stream.contexts),
            "n_actions": self.policies.n_actions,
            "feature_names": self.environment.feature_names,
        }
        made = [rule for section in sections for rule in _constraints(section, supplied)]
        named = getattr(self.policies, "action_names", None) or self.environment.action_names
        actions = list(named or range(self.policies.n_actions))
        return tuple(bind_to(made, self.stream.contexts, self.environment.feature_names, actions))

    def oracle(self, options: dict[str, Any], sections: tuple[Component, ...]) -> Oracle:
        """Open a learner's oracle."""
        return open_oracle(self.opened, self.stream.contexts, constraints=self.constraints(sections), **options)

    def comparator_oracle(self, sections: tuple[Component, ...]) -> Oracle:
        """Open the oracle that finds the best policy in hindsight: the class's own search, else the default solver."""
        return self.search_or({"kind": "milp"}, sections)

    def search_or(self, options: dict[str, Any], sections: tuple[Component, ...]) -> Oracle:
        """Open the class's own search where it has one that holds the constraints, else the oracle of ``options``."""
        return self.search(sections) or self.oracle(options, sections)

    def search(self, sections: tuple[Component, ...]) -> Oracle | None:
        """Open the class's own search; None where it has none, or none that holds the constraints."""
        if "search" not in self.opened.capabilities:
            return None
        try:
            found = self.oracle({"kind": "search"}, sections)
            if sections:  # under constraints the search may have too much to hold, which is to be known now
                found.opened.search().value(np.zeros((len(found.opened.contexts), found.n_actions)))
        except InputError:
            if not sections:
                raise
            return None
        return found

    def knowledge(self, contexts: str) -> ContextModel:
        """Return what a learner knows of contexts to come, fresh: it may learn more while it plays."""
        known, order = self.stream.contexts, self.stream.order
        if contexts == "empirical":
            return Empirical(known)
        if contexts == "order" and order is None:
            order = np.fromiter(map(self.stream.reveal, range(self.horizon)), np.int64, self.horizon)
        return FinitePool(known) if order is None else Transductive(known, order)

    def learner(
        self, cls: type[Learner], options: Mapping[str, Any], oracle: Oracle | None, contexts: str, seed: int, best: Any
    ) -> Learner:
        """Make a learner from what it asks for; ``contexts`` is as of ``knowledge``, ``best`` (m,) as in hindsight."""
        supplied = {
            "oracle": oracle,
            "pool": self.knowledge(contexts) if injection.asks(cls, "pool") else None,
            "contexts": self.stream.contexts,
            "horizon": self.horizon,
            "seed": seed,
            "n_actions": self.policies.n_actions,
            "best": best,
        }
        return cast("Learner", injection.make(cls, supplied, options))


def open_world(task: Task, cache: Cache | None = None) -> World:
    """Return the world of a task, perhaps one that is open already.

    An environment that takes long to compute its costs keeps them in ``cache``, and finds them there.
    """
    if task.folder is not None:
        local_classes.look_in(task.folder)
    axes = [task.environment.name, task.environment.options, task.policies.name, task.policies.options]
    key = json.dumps([*axes, task.horizon, task.seed, cache], sort_keys=True, default=str)
    if key in _open:
        _open.move_to_end(key)
        return _open[key]
    environment = build_environment(task.environment)
    policies = build_policies(task.policies, environment)
    world = World(environment, policies, _opened(environment, policies, task, cache), task.horizon)
    _open[key] = world
    while len(_open) > KEPT:
        _open.popitem(last=False)
    return world


def _opened(environment: Environment, policies: PolicyClass, task: Task, cache: Cache | None) -> Stream:
    """Open an environment; whatever one of somebody else's raises is an InputError with its file and line."""
    kept = {"cache": cache} if injection.names(type(environment).open, "cache") else {}
    try:
        return environment.open(policies, task.horizon, task.seed, **kept)
    except (MilpcbError, MemoryError):
        raise
    except Exception as error:
        raise InputError(f"environment '{task.environment.label}' cannot be opened: {cause(error)}") from error


def build_environment(section: Component) -> Environment:
    """Make the environment's settings object."""
    return cast("Environment", injection.make(registry.load("environment", section.name), {}, section.options))


def build_policies(section: Component, environment: Environment) -> PolicyClass:
    """Make the policy class; K and names come from the environment unless the config sets them."""
    known = {
        "n_actions": environment.n_actions,
        "feature_names": environment.feature_names or None,
        "action_names": environment.action_names or None,
    }
    own = {key: value for key, value in section.options.items() if key not in known or value is not None}
    left = {key: value for key, value in known.items() if key not in own}
    policies = cast("PolicyClass", injection.make(registry.load("policies", section.name), left, own))
    check_n_actions(policies)
    if policies.n_actions != environment.n_actions:
        raise InputError(
            f"[policies] has n_actions = {policies.n_actions}, "
            f"but the environment has {environment.n_actions} actions; leave n_actions out"
        )
    return policies


def build_learner(cell: Cell, world: World, best: Ints | None) -> tuple[Learner, Oracle | None]:
    """Make a learner, opening an oracle only if it asks for one; ``best`` (m,) is for those who ask for that."""
    cls = registry.load("learner", cell.learner.component.name)
    oracle = None if cell.oracle is None else world.oracle(cell.oracle.options, cell.constraints)
    options, contexts = cell.learner.component.options, cell.learner.contexts
    try:
        return world.learner(cls, options, oracle, contexts, cell.seed, best), oracle
    except InputError as error:
        raise InputError(f"learner '{cell.learner.label}': {error}") from error


def asks_best(learner: LearnerSection) -> bool:
    """Return whether a learner asks for the best policy in hindsight."""
    return injection.asks(registry.load("learner", learner.component.name), "best")


def no_best(task: Task, world: World) -> Ints:
    """Return labels (m,) that stand for the best policy where a learner is only made, and never played."""
    del task
    return np.zeros(len(world.stream.contexts), dtype=np.int64)


def _constraints(section: Component, supplied: dict[str, Any]) -> list[Constraint]:
    made = injection.make(registry.load("constraint", section.name), supplied, section.options)
    return listed(made, EVERY_KIND)
