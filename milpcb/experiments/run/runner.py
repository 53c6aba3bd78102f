"""From a config to a finished run directory: missing tasks are computed, finished ones are kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from dataclasses import replace
from functools import partial
from math import ceil
from pathlib import Path
from time import perf_counter
from typing import cast

from milpcb.errors import RunError
from milpcb.experiments.results.curves import write_curves
from milpcb.experiments.results.records import CONFIG
from milpcb.experiments.results.store import RunDirectory, check_config
from milpcb.experiments.run.backends import Backend, News, cores, listening
from milpcb.experiments.run.player import LearnerPlayer, checkpoints
from milpcb.experiments.run.task import Failure, Outcome, compute
from milpcb.experiments.study.cells import Cell, Task, build_study
from milpcb.experiments.study.config import read_config
from milpcb.experiments.study.sections import Config
from milpcb.experiments.study.worlds import World, entrant_of, open_world
from milpcb.plugins import registry

ROUNDS, SECONDS = 300, 0.3  # of play to measure a pace by

Failed = list[tuple[Task, str]]


def run(
    config: Config,
    directory: RunDirectory,
    backend: str | None = None,
    tick: Callable[[int, int], object] = lambda *_: None,
    remark: Callable[[str], object] = lambda _: None,
) -> Failed:
    """Compute every task that the directory does not hold yet, and write curves and policies; return what failed.

    Mistakes in learners are raised before anything is computed. An interrupt leaves the curves that are finished.
    ``tick`` is called with the rounds played so far and all to play, ``remark`` with lines that a user should see.
    """
    study = build_study(config)
    held = directory.held(study.tasks)
    for line in held.remarks:
        remark(line)
    pending = [task for task in study.tasks if task.key not in held.finished]
    make_backend = registry.load("backend", backend_name(config, backend, len(pending)))
    by = cast("Backend", make_backend(workers=config.run.workers, scheduler=config.run.scheduler))
    try_out(pending)
    with directory.locked():
        directory.begin(config, study, held.finished)
        try:
            failed = _compute_all(config, directory, pending, by, _Rounds(pending, tick), remark)
        except KeyboardInterrupt:
            with suppress(RunError):
                write_curves(directory)
            raise
        write_curves(directory)
        directory.write_policies()
    return failed


def backend_name(config: Config, name: str | None, n_tasks: int) -> str:
    """Return the backend named here or in [run]; by default processes, where there is more than one task and core."""
    several = n_tasks > 1 and (config.run.workers or cores()) > 1
    return name or config.run.backend or ("processes" if several else "serial")


def try_out(tasks: list[Task]) -> None:
    """Make every kind of learner once, at its shortest horizon; raises the mistake that any would make at its start.

    A kind is a learner, an environment, a policy class and an oracle: learners of one world share what is opened.
    """
    tried: set[str] = set()
    worlds: dict[str, World] = {}
    for task in sorted(tasks, key=lambda task: task.horizon):
        surroundings = repr((task.environment, task.policies, task.constraints))
        kind = repr((surroundings, task.learner, task.oracle) if isinstance(task, Cell) else surroundings)
        if kind in tried:
            continue
        tried.add(kind)
        world = worlds.setdefault(surroundings, replace(open_world(task), kept={}))
        if isinstance(task, Cell):
            world.learner(entrant_of(task), task.seed)
        else:
            world.comparator_oracle()


class _Rounds:
    """Counts the rounds of tasks, without those that an earlier attempt has played."""

    def __init__(self, tasks: list[Task], tick: Callable[[int, int], object]) -> None:
        self._tick, self._left = tick, {task.key: task.horizon for task in tasks}
        self._played, self._total = 0, sum(self._left.values())
        self._at: dict[str, int] = {}  # rounds that have been counted of tasks at play

    def note(self, news: News) -> None:
        """Count the rounds of a task that reports; one that has ended is left aside."""
        key, now = news["key"], int(news["round"])
        if key in self._left:
            if key not in self._at:
                self._at[key] = news["first"]
                self._total -= news["first"]
            self._played += now - self._at[key]
            self._at[key] = now
            self._tick(self._played, self._total)

    def end(self, task: Task) -> None:
        """Count a task as played."""
        self._played += self._left.pop(task.key) - self._at.pop(task.key, 0)
        self._tick(self._played, self._total)


def _compute_all(
    config: Config,
    directory: RunDirectory,
    tasks: list[Task],
    by: Backend,
    rounds: _Rounds,
    remark: Callable[[str], object],
) -> Failed:
    work = partial(compute, directory=directory.path.resolve(), save_seconds=config.run.save_seconds)
    failed: Failed = []
    played = cast("Iterator[tuple[Task, Outcome | Failure | Exception]]", by.map(work, tasks))
    with listening(rounds.note), closing(played) as results:  # type: ignore[type-var]  # iterators of backends are generators
        for task, result in results:
            if isinstance(result, Outcome | Failure):
                for line in result.remarks:
                    remark(line)
            failure = _keep(directory, task, result)
            rounds.end(task)
            if failure is not None:
                failed.append((task, failure))
    return failed


def _keep(directory: RunDirectory, task: Task, result: Outcome | Failure | Exception) -> str | None:
    if isinstance(result, Outcome):
        directory.keep(task, result.record)
        return None
    if isinstance(result, RunError):
        raise result
    failure = result if isinstance(result, Failure) else Failure(str(result))
    directory.log(task, "\n".join([failure.message, failure.trace]).rstrip())
    return " ".join(failure.message.split())


def read_run(directory: Path, *, trust: bool) -> Config:
    """Return the config of a run directory; raises RunError where it is not as a run wrote it.

    Unless ``trust``, it raises InputError where the config asks for more than milpcb brings.
    """
    check_config(directory)
    return read_config(directory / CONFIG, trusted=trust)


def estimated_seconds(cells: list[Cell], workers: int) -> float:
    """Return about how many seconds the cells take, by the first rounds of each kind; hindsight is not counted."""
    paces: dict[str, float] = {}
    needed = []
    for cell in cells:
        kind = repr((cell.learner.label, cell.environment.label, cell.policies.label, cell.labels["oracle"]))
        if kind not in paces:
            at = checkpoints(cell.horizon, cell.checkpoints)
            paces[kind] = _measure(LearnerPlayer(open_world(cell), entrant_of(cell), cell.seed, at, cell.confidence))
        needed.append(cell.horizon / paces[kind])
    return max(sum(needed) / workers, *needed)


def _measure(player: LearnerPlayer) -> float:
    """Play for a moment; return the rounds a second, without the slowest tenth: those that compile what they call."""
    seconds: list[float] = []
    while not seconds or (len(seconds) < min(player.at[-1], ROUNDS) and sum(seconds) - max(seconds) < SECONDS):
        start = perf_counter()
        player.advance(1)
        seconds.append(perf_counter() - start)
    quick = sorted(seconds)[: ceil(0.9 * len(seconds))]
    return len(quick) / sum(quick)
