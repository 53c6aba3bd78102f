"""Builds the objects of a cell from its settings: environment, policy class, stream, oracles, learner."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from milpcb.constraints import Constraint, LabelConstraint, bind_to
from milpcb.constraints.by_names import EVERY_KIND, listed
from milpcb.contexts import Empirical, FinitePool, Transductive
from milpcb.errors import InputError, MilpcbError, cause
from milpcb.learners import Learner
from milpcb.oracles import open_oracle
from milpcb.oracles.base import Oracle
from milpcb.plugins import injection, registry
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
    from milpcb.experiments.study.sections import Component


@dataclass(frozen=True)
class Entrant:
    """A learner that plays; {} for its oracle is that which finds comparators, ``name`` the registered one."""

    label: str
    name: str
    cls: type[Learner]
    options: Mapping[str, Any]
    oracle: Mapping[str, Any]
    contexts: str = "pool"


KEPT = 4  # worlds a worker keeps open: tiny cells of one world follow each other
_open: dict[str, World] = {}


@dataclass(frozen=True)
class World:
    """Environment, policy class, Stream or LiveStream, horizon and constraints that learners share, in plays too."""

    environment: Any  # an Environment, or a live one
    policies: PolicyClass
    stream: Any
    horizon: int
    sections: tuple[Component, ...] = ()

    @cached_property
    def opened(self) -> Opened:
        """The policy class on the contexts of this world; all its oracles share the geometry."""
        return open_class(self.policies, self.stream.contexts)

    @cached_property
    def constraints(self) -> tuple[LabelConstraint, ...]:
        """The side constraints on the contexts of this world, with the environment's names of columns."""
        if not self.sections:
            return ()
        supplied = {
            "contexts": self.stream.contexts,
            "n_contexts": len(self.stream.contexts),
            "n_actions": self.policies.n_actions,
            "feature_names": self.environment.feature_names,
        }
        made: list[Constraint] = []
        for section in self.sections:
            rule = registry.load("constraint", section.name)
            made += listed(injection.make(rule, supplied, section.options), EVERY_KIND)
        named = getattr(self.policies, "action_names", None) or self.environment.action_names
        actions = list(named or range(self.policies.n_actions))
        return tuple(bind_to(made, self.stream.contexts, self.environment.feature_names, actions))

    def oracle(self, options: Mapping[str, Any]) -> Oracle:
        """Open a learner's oracle."""
        return open_oracle(self.opened, self.stream.contexts, constraints=self.constraints, **options)

    def comparator_oracle(self) -> Oracle:
        """Open the oracle that finds the best policy in hindsight: the class's own search, else the default solver."""
        return self.search() or self.oracle({"kind": "milp"})

    def search(self) -> Oracle | None:
        """Open the class's own search; None where it has none, or none that holds the constraints."""
        if "search" not in self.opened.capabilities:
            return None
        try:
            found = self.oracle({"kind": "search"})
            if self.sections:  # under constraints the search may have too much to hold, which is to be known now
                found.opened.search().value(np.zeros((len(found.opened.contexts), found.n_actions)))
        except InputError:
            if not self.sections:
                raise
            return None
        return found

    def knowledge(self, contexts: str) -> ContextModel:
        """Return a learner's model of contexts to come, fresh: it may learn more while it plays."""
        known, order = self.stream.contexts, self.stream.order
        if contexts == "empirical":
            return Empirical(known)
        if contexts == "order" and order is None:
            order = np.fromiter(map(self.stream.reveal, range(self.horizon)), np.int64, self.horizon)
        return FinitePool(known) if order is None else Transductive(known, order)

    def learner(
        self, entrant: Entrant, seed: int, best: Callable[[], Ints | None] | None = None
    ) -> tuple[Learner, Oracle | None]:
        """Make a learner, and the oracle that it asks, if any; raises InputError that begins with its label.

        ``best`` computes the labels (m,) of the best policy in hindsight; a learner that never plays needs none.
        """
        contexts, asked = self.stream.contexts, injection.arguments(entrant.cls)
        try:
            oracle = None
            if "oracle" in asked:
                oracle = self.oracle(entrant.oracle) if entrant.oracle else self.comparator_oracle()
            supplied: dict[str, Any] = {
                "oracle": oracle,
                "pool": self.knowledge(entrant.contexts) if "pool" in asked else None,
                "contexts": contexts,
                "horizon": self.horizon,
                "seed": seed,
                "n_actions": self.policies.n_actions,
                "best": (best() if best else np.zeros(len(contexts), dtype=np.int64)) if "best" in asked else None,
            }
            return cast("Learner", injection.make(entrant.cls, supplied, entrant.options)), oracle
        except InputError as error:
            raise InputError(f"learner '{entrant.label}': {error}") from error


def open_world(task: Task, cache: Cache | None = None) -> World:
    """Return the world of a task, perhaps one that is open already; ``cache`` keeps costs that take long."""
    sections = [[each.name, each.options] for each in (task.environment, task.policies, *task.constraints)]
    key = json.dumps([sections, task.horizon, task.seed, cache], sort_keys=True, default=str)
    if key not in _open:
        made = injection.make(registry.load("environment", task.environment.name), {}, task.environment.options)
        environment = cast("Environment", made)
        policies = build_policies(task.policies, environment)
        stream = _opened(environment, policies, task, cache)
        _open[key] = World(environment, policies, stream, task.horizon, task.constraints)
        while len(_open) > KEPT:
            del _open[next(iter(_open))]  # the oldest
    return _open[key]


def _opened(environment: Environment, policies: PolicyClass, task: Task, cache: Cache | None) -> Stream:
    kept = {"cache": cache} if injection.names(type(environment).open, "cache") else {}
    try:
        return environment.open(policies, task.horizon, task.seed, **kept)
    except (MilpcbError, MemoryError):
        raise
    except Exception as error:
        raise InputError(f"environment '{task.environment.label}' cannot be opened: {cause(error)}") from error


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


def entrant_of(cell: Cell) -> Entrant:
    """Return the learner of a cell."""
    section, oracle = cell.learner, {} if cell.oracle is None else cell.oracle.options
    cls = registry.load("learner", section.name)
    return Entrant(section.label, section.name, cls, section.options, oracle, section.contexts)
