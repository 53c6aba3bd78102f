"""From a config to a finished run directory: what is missing is computed, what is finished is kept."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from functools import partial
from time import perf_counter
from typing import cast

from milpcb import registry
from milpcb.errors import RunError
from milpcb.experiments.results.curves import write_curves
from milpcb.experiments.results.store import RunDirectory
from milpcb.experiments.run.backends import Backend
from milpcb.experiments.run.backends.processes import cores
from milpcb.experiments.run.play import Failure, Outcome, compute
from milpcb.experiments.run.progress import Progress
from milpcb.experiments.study.cells import Cell, Task, build_study
from milpcb.experiments.study.sections import Config
from milpcb.experiments.study.worlds import build_learner, no_best, open_world

TRIAL_SECONDS = 3.0

Failed = list[tuple[Task, str]]


def run(config: Config, directory: RunDirectory, progress: Progress, backend: str | None = None) -> Failed:
    """Compute every task that the directory does not hold yet, and write curves and policies; return what failed.

    Mistakes in learners are told before anything is computed. An interrupt leaves the curves that are finished.
    """
    study = build_study(config)
    finished = directory.finished(study.tasks)
    pending = [task for task in study.tasks if task.key not in finished]
    by = open_backend(config, backend, len(pending))
    try_out(pending)
    with directory.locked():
        directory.begin(config, study)
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
    """Return the backend that is named here or in [run]; by default processes, where there is more than one task and core."""
    several = n_tasks > 1 and (config.run.workers or cores()) > 1
    return name or config.run.backend or ("processes" if several else "serial")


def try_out(tasks: list[Task], seconds: float = TRIAL_SECONDS) -> None:
    """Make each learner once where it is cheapest, so that a mistake in the last one is told before the first plays.

    What does not fit into ``seconds`` tells its mistakes when it is played.
    """
    start = perf_counter()
    tried: set[str] = set()
    for task in sorted(tasks, key=lambda task: task.horizon):
        player = (task.learner, task.oracle) if isinstance(task, Cell) else None
        what = repr((task.environment, task.policies, player))
        if what in tried:
            continue
        if perf_counter() - start > seconds:
            return
        tried.add(what)
        world = open_world(task)
        if isinstance(task, Cell):
            build_learner(task, world, no_best(task, world))
        else:
            world.yardstick_oracle(task.constraints)


def _compute_all(config: Config, directory: RunDirectory, tasks: list[Task], progress: Progress, by: Backend) -> Failed:
    work = partial(compute, directory=directory.path.resolve(), checkpoint_seconds=config.run.checkpoint_seconds)
    failed: Failed = []
    progress.start(tasks)
    with closing(cast("Iterator[tuple[Task, Outcome | Failure | Exception]]", by.map(work, tasks))) as results:  # type: ignore[type-var]  # iterators of backends are generators
        for task, result in results:
            failure = _settle(directory, task, result)
            progress.done(task, failure)
            if failure is not None:
                failed.append((task, failure))
    return failed


def _settle(directory: RunDirectory, task: Task, result: Outcome | Failure | Exception) -> str | None:
    """Keep a result; return the one line of a failure. A disk that refuses ends the run."""
    if isinstance(result, Outcome):
        directory.keep(task, result.record, result.pictures)
        return None
    if isinstance(result, RunError):
        raise result
    failure = result if isinstance(result, Failure) else Failure(str(result))
    directory.note(task, "\n".join([failure.message, failure.trace]).rstrip())
    return " ".join(failure.message.split())


@contextmanager
def _curves_even_if_interrupted(directory: RunDirectory) -> Iterator[None]:
    """Put the curves together after the block; after an interrupt too, unless the disk refuses."""
    try:
        yield
    except KeyboardInterrupt:
        with suppress(RunError):
            write_curves(directory)
        raise
    write_curves(directory)
