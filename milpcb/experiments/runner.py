"""From a config to a run directory: build the parts, play every learner and seed, keep what is finished."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol, cast

import numpy as np

from milpcb import registry, rng
from milpcb.contexts import FinitePool, Transductive
from milpcb.errors import InputError
from milpcb.experiments.config import Component, Config, LearnerSection
from milpcb.experiments.curves import Row
from milpcb.experiments.hindsight import Hindsight, hindsight
from milpcb.experiments.loop import Point, checkpoints, play
from milpcb.experiments.options import option_names
from milpcb.experiments.store import RunDirectory
from milpcb.oracles import open_oracle
from milpcb.oracles.base import Oracle
from milpcb.protocols import Environment, Learner, PolicyClass, Stream


class Progress(Protocol):
    """Hears how far a run is."""

    def start(self, description: str, total: int) -> Callable[[int], None]:
        """Begin a task of ``total`` rounds; return what to call with the number of rounds done."""
        ...


@dataclass
class World:
    """What all learners of one seed share."""

    stream: Stream
    policies: PolicyClass
    pool: FinitePool | Transductive


def run(config: Config, directory: RunDirectory, progress: Progress) -> None:
    """Play every (learner, seed) that the directory does not hold yet, and write down the best policy of each seed."""
    for seed in config.experiment.seeds:
        missing = [section for section in config.learners if (section.label, seed) not in directory.finished()]
        if not missing:
            continue
        world = open_world(config, seed)
        players = [(section, *build_learner(section, world, config.experiment.horizon, seed)) for section in missing]
        best = _hindsight(config, world, seed, progress)
        directory.add_policy(seed, best.policy)
        for section, learner, oracle in players:
            tick = progress.start(f"{section.label}, seed {seed}", config.experiment.horizon)
            points = play(
                learner, world.stream, config.experiment.horizon, rng.child(seed, "actions"), _at(config), tick
            )
            directory.add(_rows(points, section.label, seed, learner, oracle, best))


def open_world(config: Config, seed: int) -> World:
    """Build environment, policy class and context model for one seed."""
    environment = build_environment(config.environment)
    policies = build_policies(config.policies, environment)
    stream = environment.open(policies, config.experiment.horizon, seed)
    order = stream.order
    pool = FinitePool(stream.contexts) if order is None else Transductive(stream.contexts, order)
    return World(stream, policies, pool)


def build_environment(section: Component) -> Environment:
    """Make the environment's settings object."""
    return cast("Environment", registry.load("environment", section.name)(**section.options))


def build_policies(section: Component, environment: Environment) -> PolicyClass:
    """Make the policy class; K and names come from the environment unless the config sets them."""
    cls, options = registry.load("policies", section.name), dict(section.options)
    defaults = {
        "n_actions": environment.n_actions,
        "feature_names": environment.feature_names or None,
        "action_names": environment.action_names or None,
    }
    for key in option_names(cls):
        if key in defaults and options.get(key) is None:
            options[key] = defaults[key]
    policies = cast("PolicyClass", cls(**options))
    if policies.n_actions != environment.n_actions:
        raise InputError(
            f"[policies] has n_actions = {policies.n_actions}, but the environment has {environment.n_actions} actions; "
            "leave n_actions out"
        )
    return policies


def build_learner(section: LearnerSection, world: World, horizon: int, seed: int) -> tuple[Learner, Oracle | None]:
    """Make a learner, opening an oracle only if its constructor asks for one."""
    cls = registry.load("learner", section.component.name)
    asked = inspect.signature(cls).parameters
    oracle = open_oracle(world.policies, world.stream.contexts, **section.oracle) if "oracle" in asked else None
    supplied: dict[str, Any] = {
        "oracle": oracle,
        "pool": world.pool,
        "horizon": horizon,
        "seed": seed,
        "n_actions": world.policies.n_actions,
    }
    given = {key: value for key, value in supplied.items() if key in asked}
    try:
        return cls(**given, **section.component.options), oracle
    except InputError as error:
        raise InputError(f"learner '{section.label}': {error}") from error


def _hindsight(config: Config, world: World, seed: int, progress: Progress) -> Hindsight:
    oracle = open_oracle(world.policies, world.stream.contexts, **config.oracle)
    horizon = config.experiment.horizon
    tick = progress.start(f"best policy in hindsight, seed {seed}", horizon)
    return hindsight(world.stream, oracle, horizon, _at(config), tick)


def _rows(
    points: Iterator[Point], label: str, seed: int, learner: Learner, oracle: Oracle | None, best: Hindsight
) -> list[Row]:
    horizon, guarantee = max(best.best_cost), learner.guarantee()
    return [
        Row(
            learner=label,
            seed=seed,
            horizon=horizon,
            round=point.round,
            cumulative_cost=point.cumulative_cost,
            best_cost=best.best_cost[point.round],
            regret=point.cumulative_cost - best.best_cost[point.round],
            guarantee=guarantee,
            oracle_calls=oracle.calls if oracle else 0,
            seconds=round(point.seconds, 6),
            oracle_seconds=round(oracle.seconds, 6) if oracle else 0.0,
        )
        for point in points
    ]


def _at(config: Config) -> frozenset[int]:
    return frozenset(np.asarray(checkpoints(config.experiment.horizon, config.experiment.checkpoints)).tolist())
