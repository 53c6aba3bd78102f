"""The guarantees of a config's classes on their contexts: every closed form, and Rel(empty), which it bounds."""

from collections.abc import Callable, Iterator
from itertools import product
from typing import NamedTuple

import polars as pl

from milpcb import rng
from milpcb.experiments.study.cells import Task
from milpcb.experiments.study.sections import Config
from milpcb.experiments.study.worlds import open_world
from milpcb.oracles.base import Oracle
from milpcb.plugins import injection, registry
from milpcb.protocols import ContextModel
from milpcb.relaxations.value import RelaxationValue, Setting


class BoundTask(NamedTuple):
    """One environment, policy class and horizon, opened for bounds of its regret; ``seed`` decides the contexts."""

    name: str
    oracle: Oracle
    pool: ContextModel
    horizon: int
    seed: int


class Bound(NamedTuple):
    """The regret that one relaxation guarantees for a task: at the closed form's best L, and over a grid of L."""

    setting: BoundTask
    noise: str
    closed_scale: float
    closed_form: float
    value: RelaxationValue


def settings(config: Config) -> Iterator[BoundTask]:
    """Open every environment with every class at every horizon, at the first seed, with the fastest exact oracle."""
    seed = config.experiment.seeds[0]
    for environment, policies, horizon in product(config.environments, config.policies, config.experiment.horizon):
        shared = (config.constraints, horizon, seed, config.experiment.checkpoints)
        world = open_world(Task(environment, policies, *shared, "", folder=config.run.folder))
        several = [(config.environments, environment.label), (config.policies, policies.label)]
        parts = [label for sections, label in several if len(sections) > 1]
        name = ", ".join(parts or [policies.label, environment.label])
        yield BoundTask(name, world.comparator_oracle(), world.knowledge("pool"), horizon, seed)


def compute_bound(setting: BoundTask, noise: str, draws: int, tick: Callable[[int], None]) -> Bound:
    """Return the closed form of a registered relaxation and its estimate from ``draws`` draws."""
    relaxation = injection.make(registry.load("relaxation", noise), {})
    oracle, T = setting.oracle, setting.horizon
    draw = rng.child(setting.seed, "bound", noise)
    value = Setting(relaxation, oracle, setting.pool, T).value(draw, draws, tick)
    scale = relaxation.best_scale(T, oracle.n_actions, oracle.log_size)
    return Bound(setting, noise, scale, relaxation.guarantee(scale, T, oracle.n_actions, oracle.log_size), value)


def bounds_frame(bounds: list[Bound]) -> pl.DataFrame:
    """Return a row per L: those of the grid, which share their draws, then the best one again from draws of its own."""
    rows = []
    for setting, noise, *_, value in bounds:
        shared = (setting.name, setting.horizon, noise)
        rows += [(*shared, "shared", *point) for point in value.grid]
        rows.append((*shared, "own", *value.best))
    names = ("setting", "horizon", "noise", "draws", "scale", "estimate", "half_width", "closed_form")
    return pl.DataFrame(rows, schema=names, orient="row")
