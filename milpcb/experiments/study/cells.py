"""Units of a study: cells (a learner at play) and comparators (a best policy), as values that can be pickled."""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from typing import Any, ClassVar, Literal

from milpcb.errors import InputError
from milpcb.experiments.study.fingerprints import fingerprint, sources_of
from milpcb.experiments.study.sections import Component, Config, LearnerSection
from milpcb.plugins import injection, registry

FORMAT = 14  # of run directories and of keys, which contain it: raised whenever records, states or draws change
NO_ORACLE = "-"
BEST = "best policy in hindsight"  # begins the title of a comparator
Kind = Literal["cell", "comparator"]


@dataclass(frozen=True)
class Task:
    """The task to find the best policy in hindsight; with ``changes``, also the best sequence with so many changes.

    No number depends on ``title``, ``draw`` (whether the policy that is found is drawn), ``folder`` (of the config's
    own classes) and labels, so these are no part of ``key``.
    """

    kind: ClassVar[Kind] = "comparator"
    environment: Component
    policies: Component
    constraints: tuple[Component, ...]
    horizon: int
    seed: int
    checkpoints: int
    title: str
    draw: bool = field(default=False, kw_only=True)
    folder: str | None = field(default=None, kw_only=True)
    changes: int | None = field(default=None, kw_only=True)

    def settings(self) -> dict[str, Any]:
        """Return everything that decides the numbers, contents of files and source code included."""
        return {
            "task": self.kind,
            **self._world_settings(),
            "constraints": [fingerprint("constraint", each.name, each.options) for each in self.constraints],
            "checkpoints": self.checkpoints,
            **({} if self.changes is None else {"changes": self.changes}),
        }

    def _world_settings(self) -> dict[str, Any]:
        return {
            "format": FORMAT,
            "environment": fingerprint("environment", self.environment.name, self.environment.options),
            "policies": fingerprint("policies", self.policies.name, self.policies.options),
            "horizon": self.horizon,
            "seed": self.seed,
        }

    @cached_property
    def key(self) -> str:
        """The task's name on disk, computed once, from the files as they then are: equal settings, equal key."""
        return _digest(self.settings())

    @cached_property
    def world_key(self) -> str:
        """The name on disk of data that all tasks with the same contexts and costs share."""
        return _digest(self._world_settings())


@dataclass(frozen=True)
class Cell(Task):
    """The task to play one learner: its oracle, None for a learner without one, and the confidence of certificates."""

    kind: ClassVar[Kind] = "cell"
    learner: LearnerSection
    oracle: Component | None
    confidence: float | None = field(default=None, kw_only=True)

    def settings(self) -> dict[str, Any]:
        """Return everything that decides the numbers."""
        own, oracle = self.learner, None if self.oracle is None else self.oracle.options
        if oracle and (sources := sources_of(oracle)):
            oracle = {**oracle, "source": sources}
        return {
            **super().settings(),
            "learner": {**fingerprint("learner", own.name, own.options), "contexts": self.learner.contexts},
            "oracle": oracle,
            **({} if self.confidence is None else {"confidence": self.confidence}),
        }

    @property
    def labels(self) -> dict[str, Any]:
        """The columns by which this cell's curve differs from the others."""
        return {
            "learner": self.learner.label,
            "environment": self.environment.label,
            "policies": self.policies.label,
            "oracle": NO_ORACLE if self.oracle is None else self.oracle.label,
            "seed": self.seed,
            "horizon": self.horizon,
        }


@dataclass(frozen=True)
class Study:
    """All tasks of a config; ``comparator_of`` has the keys of comparators by those of cells."""

    cells: tuple[Cell, ...]
    comparators: tuple[Task, ...]
    comparator_of: dict[str, str]

    @property
    def tasks(self) -> tuple[Task, ...]:
        """All tasks, the longest first, as the last one to end then delays the others least."""
        of_cells: dict[str, list[Task]] = {}
        for cell in self.cells:
            of_cells.setdefault(self.comparator_of[cell.key], []).append(cell)
        longest_first = sorted(self.comparators, key=lambda task: -task.horizon)
        return tuple(task for comparator in longest_first for task in (comparator, *of_cells[comparator.key]))


MOST_DRAWN = 24  # best policies: in a study of thousands of seeds, pictures would delay the curves


def build_study(config: Config) -> Study:
    """Multiply out the lists of a config; raises InputError where two cells would be the same, or none is left."""
    cells: list[Cell] = []
    comparators: list[Task] = []
    comparator_of: dict[str, str] = {}
    experiment, folder = config.experiment, config.run.folder
    for environment, policies in product(config.environments, config.policies):
        where = [environment.label] * (len(config.environments) > 1) + [policies.label] * (len(config.policies) > 1)
        for horizon, seed in product(experiment.horizon, experiment.seeds):
            when = [f"T = {horizon}"] * (len(experiment.horizon) > 1) + [f"seed {seed}"]
            shared = (environment, policies, config.constraints, horizon, seed, experiment.checkpoints)
            played = []
            for learner, oracle in _players(config, horizon):
                asked = [oracle.label] if oracle and len(learner.oracles) > 1 else []
                title = ", ".join([learner.label, *where, *asked, *when])
                more: dict[str, Any] = {"folder": folder, "confidence": experiment.confidence}
                played.append(Cell(*shared, title, learner, oracle, **more))
            if played:
                title, draw = ", ".join([BEST, *where, *when]), len(comparators) < MOST_DRAWN
                best = Task(*shared, title, draw=draw, folder=folder, changes=experiment.changes)
                comparators.append(best)
                comparator_of |= {cell.key: best.key for cell in played}
                cells += played
    _check_distinct([*cells, *comparators])
    if not cells:
        raise InputError("no cell is left to play: every learner's max_horizon is below every horizon; raise one")
    return Study(tuple(cells), tuple(comparators), comparator_of)


def _players(config: Config, horizon: int) -> Iterator[tuple[LearnerSection, Component | None]]:
    for learner in config.learners:
        if learner.max_horizon is None or horizon <= learner.max_horizon:
            asks = injection.asks(registry.load("learner", learner.name), "oracle")
            yield from ((learner, oracle) for oracle in (learner.oracles if asks else (None,)))


def _check_distinct(tasks: list[Task]) -> None:
    seen: dict[str, Task] = {}
    for task in tasks:
        other = seen.setdefault(task.key, task)
        if other is not task:
            raise InputError(
                f"'{other.title}' and '{task.title}' have the same settings, so their numbers would be the same; "
                "leave one of them out"
            )


def _digest(settings: dict[str, Any]) -> str:
    text = json.dumps(settings, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]
