"""The objects of a cell, made from its settings: environment, policy class, stream, oracles, learner; best policies."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from inspect import signature
from itertools import pairwise
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from milpcb.blocks import Blocks, InTurn
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
    Policy,
    PolicyClass,
    Stream,
    check_n_actions,
    open_class,
)
from milpcb.types import Floats, Ints

if TYPE_CHECKING:  # milpcb.play does without pydantic
    from milpcb.experiments.study.cells import Cell, Task
    from milpcb.experiments.study.sections import Component


@dataclass(frozen=True)
class Entrant:
    """A learner that plays; ``name`` is its registered name, and an oracle {} the one that finds comparators."""

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
    """Environment, policy class, Stream or LiveStream, horizon and constraints that the learners share."""

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
        """Return a fresh model of future contexts for a learner: it may change during the play."""
        known, order = self.stream.contexts, self.stream.order
        if contexts == "empirical":
            return Empirical(known)
        if contexts == "order" and order is None:
            order = np.fromiter(map(self.stream.reveal, range(self.horizon)), np.int64, self.horizon)
        return FinitePool(known) if order is None else Transductive(known, order)

    @cached_property
    def best_labels(self) -> Ints:
        """The labels (m,) of the best policy in hindsight, found by going through the environment once."""
        policy = hindsight(self.stream, self.comparator_oracle(), self.horizon, {self.horizon}).policy
        return np.asarray(policy.predict(self.stream.contexts)) if policy else np.zeros(0, dtype=np.int64)

    def learner(self, entrant: Entrant, seed: int, *, plays: bool = True) -> tuple[Learner, Oracle | None]:
        """Make a learner, and the oracle that it queries, if any; raises InputError that begins with its label.

        A learner that never ``plays`` is made without the best policy in hindsight.
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
                "best": self.best_labels if plays and "best" in asked else np.zeros(len(contexts), dtype=np.int64),
            }
            return cast("Learner", injection.make(entrant.cls, supplied, entrant.options)), oracle
        except InputError as error:
            raise InputError(f"learner '{entrant.label}': {error}") from error


def open_world(task: Task, cache: Cache | None = None) -> World:
    """Return the world of a task, which may be open already; ``cache`` keeps costs that take long to compute."""
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
    kept = {"cache": cache} if "cache" in signature(type(environment).open).parameters else {}
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


# ------------------------------------------------------------------- the best policies in hindsight


@dataclass(frozen=True)
class Hindsight:
    """The least total cost of any policy after each checkpoint, and the policy that attains the last one.

    ``totals`` (m, K) are the costs of all rounds by context, ``shown`` (m,) counts the rounds. Where policies in turn
    are asked for, ``in_turn`` is the cost of the best ones after each checkpoint, and ``sequence`` the last of these:
    the rounds ``after`` which they change, and their total ``cost`` and that of ``random`` choice at each checkpoint.
    """

    best_cost: dict[int, float]
    policy: Policy | None
    totals: Floats
    shown: Ints
    in_turn: dict[int, float]
    sequence: dict[str, list[Any]] | None


def hindsight(
    stream: Stream,
    oracle: Oracle,
    horizon: int,
    at: Collection[int],
    tick: Callable[[int], None] = lambda _: None,
    changes: int | None = None,
) -> Hindsight:
    """Walk through the environment once, adding up true costs; with ``changes``, twice, of policies in turn too."""
    totals = np.zeros((oracle.n_contexts, oracle.n_actions))
    shown = np.zeros(oracle.n_contexts, dtype=np.int64)
    best: dict[int, float] = {}
    policy = None
    turns = None if changes is None else _Turns(oracle, horizon, changes)
    in_turn: dict[int, float] = {}
    for t in range(horizon):
        row = stream.reveal(t)
        totals[row] += stream.costs(t)
        shown[row] += 1
        tick(t + 1)
        if t + 1 in at:
            answer = oracle.minimise(totals)
            best[t + 1], policy = answer.value, answer.policy
            if turns is not None:
                in_turn[t + 1] = turns.least(totals)[-1].total
        if turns is not None and t + 1 in turns.ends:
            turns.before[t + 1] = (totals.copy(), turns.least(totals))
    sequence = None if turns is None else turns.follow(stream, totals, horizon, at)
    return Hindsight(best, policy, totals, shown, in_turn, sequence)


class _Turns:
    """The least totals of 1, 2, ... policies in turn, from the totals (m, K) at the ends of blocks."""

    def __init__(self, oracle: Oracle, horizon: int, changes: int) -> None:
        blocks = Blocks()
        blocks.plan(horizon)
        self.ends, self._oracle, self._most = frozenset(blocks.ends), oracle, changes + 1
        self.before: dict[int, tuple[Floats, list[InTurn]]] = {}  # by end: totals, and the least by number of policies

    def least(self, totals: Floats) -> list[InTurn]:
        """Return the least of at most 1, 2, ... policies in turn, of which the last began at the end of a block."""
        found = [InTurn(self._oracle.value(totals), ())] * self._most
        for end, (then, least) in self.before.items():
            last = self._oracle.value(totals - then)
            more = (InTurn(one.total + last, (*one.after, end)) for one in least)
            found = [found[0], *map(min, found[1:], more)]
        return found

    def follow(self, stream: Stream, totals: Floats, horizon: int, at: Collection[int]) -> dict[str, list[Any]] | None:
        """Walk through the environment with the best policies in turn; None where no policy attains a least total."""
        after = self.least(totals)[-1].after
        sums = [np.zeros_like(totals), *(self.before[end][0] for end in after), totals]
        policies = [self._oracle.minimise(late - early).policy for early, late in pairwise(sums)]
        cost = random = 0.0
        found: dict[str, list[Any]] = {"after": list(after), "cost": [], "random": []}
        for policy, start, end in zip(policies, (0, *after), (*after, horizon), strict=True):
            if policy is None:
                return None
            labels = policy.predict(stream.contexts)
            for t in range(start, end):
                costs = stream.costs(t)
                cost += float(costs[labels[stream.reveal(t)]])
                random += float(costs.mean())
                if t + 1 in at:
                    found["cost"].append(cost)
                    found["random"].append(random)
        return found
