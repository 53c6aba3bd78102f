"""From a config to a finished run directory: what is missing is computed, what is finished is kept."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, cast

from milpcb.errors import RunError
from milpcb.experiments.results.curves import write_curves
from milpcb.experiments.results.records import WorldCosts
from milpcb.experiments.results.store import RunDirectory
from milpcb.experiments.run import trust
from milpcb.experiments.run.backends import Backend
from milpcb.experiments.run.backends.processes import cores
from milpcb.experiments.run.progress import Progress
from milpcb.experiments.run.task import Failure, Outcome, compute
from milpcb.experiments.study.cells import Cell, Task, build_study
from milpcb.experiments.study.sections import Component, Config
from milpcb.experiments.study.worlds import World, build_learner, no_best, open_world
from milpcb.oracles.base import Oracle
from milpcb.plugins import registry

Failed = list[tuple[Task, str]]


@contextmanager
def _compiling_announced_once() -> Iterator[None]:
    """Share a file with the workers that start within: the first to compile the search makes it and writes the line."""
    with TemporaryDirectory(prefix="milpcb-") as folder:
        os.environ["MILPCB_COMPILING"] = str(Path(folder) / "announced")
        try:
            yield
        finally:
            del os.environ["MILPCB_COMPILING"]


@_compiling_announced_once()
def run(config: Config, directory: RunDirectory, progress: Progress, backend: str | None = None) -> Failed:
    """Compute every task that the directory does not hold yet, and write curves and policies; return what failed.

    Mistakes in learners are raised before anything is computed. An interrupt leaves the curves that are finished.
    """
    study = build_study(config)
    held = directory.held(study.tasks)
    for line in held.remarks:
        progress.remark(line)
    pending = [task for task in study.tasks if task.key not in held.finished]
    by = open_backend(config, backend, len(pending))
    try_out(pending, directory.path.resolve())
    with directory.locked():
        directory.begin(config, study, held.finished)
        trust.remember(directory.path, config)
        with _curves_even_if_interrupted(directory):
            failed = _compute_all(config, directory, pending, progress, by)
        directory.write_policies()
        directory.end()
    return failed


def open_backend(config: Config, name: str | None, n_tasks: int) -> Backend:
    """Make the backend of a run."""
    backend = registry.load("backend", backend_name(config, name, n_tasks))
    return cast("Backend", backend(workers=config.run.workers, scheduler=config.run.scheduler))


def backend_name(config: Config, name: str | None, n_tasks: int) -> str:
    """Return the backend named here or in [run]; by default processes, where there is more than one task and core."""
    several = n_tasks > 1 and (config.run.workers or cores()) > 1
    return name or config.run.backend or ("processes" if several else "serial")


def try_out(tasks: list[Task], directory: Path) -> None:
    """Make every kind of learner once, at its shortest horizon; raises the mistake that any would make at its start.

    A kind is a learner, an environment, a policy class and an oracle: learners of one world share what is opened.
    """
    tried: set[str] = set()
    worlds: dict[str, _OpenOnce] = {}
    for task in sorted(tasks, key=lambda task: task.horizon):
        surroundings = repr((task.environment, task.policies, task.constraints))
        kind = repr((surroundings, task.learner, task.oracle) if isinstance(task, Cell) else surroundings)
        if kind in tried:
            continue
        tried.add(kind)
        world = worlds.setdefault(surroundings, _OpenOnce(open_world(task, WorldCosts(directory, task.world_key))))
        if isinstance(task, Cell):
            build_learner(task, world, no_best(task, world))
        else:
            world.comparator_oracle(task.constraints)


class _OpenOnce(World):
    """A world that opens each oracle once, however many ask for it: for learners that are made and never played."""

    def __init__(self, world: World) -> None:
        super().__init__(world.environment, world.policies, world.stream, world.horizon)
        object.__setattr__(self, "_opened", {})

    def oracle(self, options: dict[str, Any], sections: tuple[Component, ...]) -> Oracle:
        opened: dict[str, Oracle] = self.__dict__["_opened"]
        key = repr((options, sections))
        if key not in opened:
            opened[key] = super().oracle(options, sections)
        return opened[key]


def _compute_all(config: Config, directory: RunDirectory, tasks: list[Task], progress: Progress, by: Backend) -> Failed:
    work = partial(compute, directory=directory.path.resolve(), save_seconds=config.run.save_seconds)
    failed: Failed = []
    progress.start(tasks)
    played = cast("Iterator[tuple[Task, Outcome | Failure | Exception]]", by.map(work, tasks))
    with closing(played) as results:  # type: ignore[type-var]  # iterators of backends are generators
        for task, result in results:
            if isinstance(result, Outcome | Failure):
                for line in result.remarks:
                    progress.remark(line)
            failure = _keep(directory, task, result)
            progress.done(task, failure)
            if failure is not None:
                failed.append((task, failure))
    return failed


def _keep(directory: RunDirectory, task: Task, result: Outcome | Failure | Exception) -> str | None:
    """Keep a result; return the one line of a failure. A write error ends the run."""
    if isinstance(result, Outcome):
        directory.keep(task, result.record, result.pictures)
        return None
    if isinstance(result, RunError):
        raise result
    failure = result if isinstance(result, Failure) else Failure(str(result))
    directory.log(task, "\n".join([failure.message, failure.trace]).rstrip())
    return " ".join(failure.message.split())


@contextmanager
def _curves_even_if_interrupted(directory: RunDirectory) -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        with suppress(RunError):
            write_curves(directory)
        raise
    write_curves(directory)
