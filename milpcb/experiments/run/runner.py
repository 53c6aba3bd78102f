"""A study becomes a run directory: missing tasks are computed, each by a worker from its saved state, others kept."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from milpcb.core.files import append, contents, make_folder, sealed, unsealed, write_file
from milpcb.errors import MilpcbError, RunError, cause, traced
from milpcb.experiments.results.schemas import SavedState, checked
from milpcb.experiments.results.store import (
    CONFIG,
    RunDirectory,
    WorldCosts,
    check_config,
    describe,
    file_of,
    installed,
)
from milpcb.experiments.run.backends import Backend, News, cores, listening, report
from milpcb.experiments.run.player import LearnerPlayer, checkpoints
from milpcb.experiments.study.cells import Cell, Task, build_study
from milpcb.experiments.study.config import read_config
from milpcb.experiments.study.sections import Config
from milpcb.experiments.study.worlds import Hindsight, World, entrant_of, hindsight, open_world
from milpcb.plugins import injection, local_classes, registry
from milpcb.types import Floats

REPORT_EVERY = 0.5  # seconds between two reports of the position
MOST_SAVING = 0.05  # share of the time that saving may take: large states are saved less often

Failed = list[tuple[Task, str]]


def run(
    config: Config,
    directory: RunDirectory,
    backend: str | None = None,
    tick: Callable[[int, int], object] = lambda *_: None,
    remark: Callable[[str], object] = lambda _: None,
) -> Failed:
    """Compute every task that the directory lacks, and write curves and policies; return the failures.

    The default backend is processes, where there is more than one task and core.

    Mistakes in learners are raised before anything is computed. An interrupt leaves the curves that are finished.
    ``tick`` is called with the rounds played so far and all to play, ``remark`` with lines that a user should see.
    """
    from milpcb.experiments.results.curves import write_curves  # workers do without tables

    study = build_study(config)
    finished, lines = directory.held(study.tasks)
    for line in lines:
        remark(line)
    pending = [task for task in study.tasks if task.key not in finished]
    asked = {"workers": config.run.workers, "scheduler": config.run.scheduler}
    several = len(pending) > 1 and (config.run.workers or cores()) > 1
    name = backend or config.run.backend or ("processes" if several else "serial")
    by: Backend = injection.make(registry.load("backend", name), asked)
    try_out(pending)
    work = partial(compute, directory=directory.path.resolve(), save_seconds=config.run.save_seconds)
    with directory.locked():
        directory.begin(config, study, finished)
        try:
            failed = _keep_all(directory, by.map(work, pending), _Rounds(pending, tick), remark)
        except KeyboardInterrupt:
            with suppress(RunError):
                write_curves(directory)
            raise
        write_curves(directory)
        directory.write_policies()
    return failed


def read_run(directory: Path, *, trust: bool) -> Config:
    """Return the config of a run directory, as a run wrote it; without ``trust`` foreign code and data are refused."""
    check_config(directory)
    return read_config(directory / CONFIG, trusted=trust)


def try_out(tasks: list[Task]) -> None:
    """Make every kind of learner once, at its shortest horizon; raises the error that each would begin with."""
    tried: set[str] = set()
    for task in sorted(tasks, key=lambda task: task.horizon):
        kind = repr((task.environment, task.policies, task.constraints, task.kind))
        kind += repr((task.learner, task.oracle)) if isinstance(task, Cell) else ""
        if kind not in tried:
            tried.add(kind)
            world = open_world(task)
            _ = (
                world.learner(entrant_of(task), task.seed, plays=False)
                if isinstance(task, Cell)
                else world.comparator_oracle()
            )


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


def _keep_all(
    directory: RunDirectory, played: Iterator[tuple[Task, Any]], rounds: _Rounds, remark: Callable[[str], object]
) -> Failed:
    failed: Failed = []
    with listening(rounds.note), closing(played) as results:  # type: ignore[type-var]  # iterators of backends are generators
        for task, result in results:
            if isinstance(result, RunError):
                raise result
            outcome = result if isinstance(result, Outcome) else Outcome({}, str(result))
            for line in outcome.remarks:
                remark(line)
            if outcome.failure:
                directory.log(task, "\n".join([outcome.failure, outcome.trace]).rstrip())
                failed.append((task, " ".join(outcome.failure.split())))
            else:
                directory.keep(task, outcome.record)
            rounds.end(task)
    return failed


# ------------------------------------------------------------------- one task, as a worker computes it


@dataclass(frozen=True)
class Outcome:
    """The record of a task as plain data, or its failure in one line, with the traceback of an unforeseen one."""

    record: dict[str, Any]
    failure: str = ""
    trace: str = ""
    remarks: tuple[str, ...] = ()  # lines that a user should see


class TaskFiles:
    """The files of one task, whose state is saved every ``every`` seconds; the time never changes a result."""

    def __init__(self, directory: Path, task: Task, every: float) -> None:
        self.costs = WorldCosts(directory, task.world_key)
        self._part, self._log = file_of(directory, "part", task.key), file_of(directory, "log", task.key)
        self._first: int | None = None  # the round that this attempt began from
        self._task, self._every = task, every
        self.remarks: list[str] = []
        now = perf_counter()
        self._report_due, self._save_due = now + REPORT_EVERY, now + every

    def saved(self) -> dict[str, Any] | None:
        """Return the last saved state, None without a usable one; a line in ``remarks`` says why."""
        try:
            state: dict[str, Any] = dict(checked(SavedState, unsealed(contents(self._part))))
        except FileNotFoundError:
            return None
        except (OSError, ValueError):
            state = {}
        if state.get("key") != self._task.key:
            self.reject("is damaged")
            return None
        if others := describe([state["versions"]]):
            self.reject(f"was made with other versions, {others}")
            return None
        return state

    def reject(self, reason: str) -> None:
        """Note that the saved state is useless, so that the task begins anew."""
        self._first = None
        state = f"saved state {self._task.key} of '{self._task.title}'"
        self.remarks.append(f"{state} {reason}; it is played from its first round")

    def report(self, played: int) -> None:
        """Report the progress of the task, at most twice a second; its pace counts from the first call."""
        self._first = played if self._first is None else self._first
        if perf_counter() >= self._report_due:
            self._report_due = perf_counter() + REPORT_EVERY
            report({"key": self._task.key, "first": self._first, "round": played})

    @property
    def save_due(self) -> bool:
        """Whether it is time to save the state."""
        return perf_counter() >= self._save_due

    def save(self, state: dict[str, Any]) -> None:
        """Write a state that ``saved`` returns; damage by a power cut is found by the reader."""
        start = perf_counter()
        document = {"key": self._task.key, "versions": installed(), **state}
        write_file(self._part, sealed(document), durable=False)
        now = perf_counter()
        self._save_due = now + max(self._every, (now - start) / MOST_SAVING)

    @contextmanager
    def working(self) -> Iterator[None]:
        """Write log messages and warnings of the block into the task's log."""
        handler = _Log(self._log)
        logging.getLogger().addHandler(handler)
        logging.captureWarnings(True)
        try:
            yield
        finally:
            logging.captureWarnings(False)
            logging.getLogger().removeHandler(handler)


class _Log(logging.Handler):
    """Adds lines to a file, which the first one makes; what cannot be written is lost, and ends no task."""

    def __init__(self, path: Path) -> None:
        super().__init__(logging.INFO)
        self.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
        self._path = path

    def emit(self, record: logging.LogRecord) -> None:
        """Write a line."""
        with suppress(Exception):  # a message may not fit its arguments
            make_folder(self._path.parent)
            append(self._path, f"{self.format(record)}\n")


def compute(task: Task, directory: Path, save_seconds: float) -> Outcome:
    """Compute a task; raises RunError when the disk refuses, which concerns all tasks."""
    if task.folder is not None:  # a worker process has not read the config
        local_classes.look_in(task.folder)
    files = TaskFiles(directory, task, save_seconds)
    # With one thread sums of floats come in one order, and give the same bytes, on every backend.
    with files.working(), threadpool_limits(limits=1):
        outcome = _outcome(task, files)
    return replace(outcome, remarks=tuple(files.remarks))


def _outcome(task: Task, files: TaskFiles) -> Outcome:
    try:
        if replace(task).key != task.key:  # computed anew, from the files as they are now
            return Outcome({}, "the files or the source code that it reads are not those the run began with; run again")
        return Outcome(play_cell(task, files) if isinstance(task, Cell) else measure(task, files))
    except RunError:
        raise
    except MilpcbError as error:
        return Outcome({}, str(error))
    except MemoryError:
        return Outcome({}, "out of memory; make the policy class, the contexts or the number of workers smaller")
    except (Exception, SystemExit) as error:  # noqa: BLE001 - a mistake in one learner must not end the others
        return Outcome({}, cause(error), traced(error))


def play_cell(cell: Cell, files: TaskFiles) -> dict[str, Any]:
    """Play one learner to the horizon, from its saved state if one is usable; return its record.

    A state that cannot be restored, or from which the play ends in an error, is given up and the cell played from
    its first round: no saved state can make every later attempt fail.
    """
    saved, player = files.saved(), cell_player(cell, open_world(cell, files.costs))
    if saved is not None:
        try:
            player.restore(saved)
            return _play_on(cell, player, files)
        except RunError:
            raise
        except Exception as error:  # noqa: BLE001 - it may hold anything, and show that it does not fit anywhere
            files.reject(f"does not serve ({type(error).__name__})")
            player = cell_player(cell, open_world(cell, files.costs))
    return _play_on(cell, player, files)


def _play_on(cell: Cell, player: LearnerPlayer, files: TaskFiles) -> dict[str, Any]:
    while player.tally.round < cell.horizon:
        player.advance(1)  # a look at the clock takes a microsecond
        files.report(player.tally.round)
        if files.save_due:
            files.save(player.state())
    record = {"key": cell.key, **player.record()}
    leader = None if cell.oracle is None else player.certify().policy
    return record if leader is None else {**record, "leader": str(leader)}


def cell_player(cell: Cell, world: World) -> LearnerPlayer:
    """Return the player of a cell, about to play."""
    at = checkpoints(cell.horizon, cell.checkpoints)
    return LearnerPlayer(world, entrant_of(cell), cell.seed, at, cell.confidence)


def measure(task: Task, files: TaskFiles) -> dict[str, Any]:
    """Find the best policy in hindsight, and draw it; return the record."""

    def tick(played: int) -> None:
        if played % 1024 == 0:
            files.report(played)

    world, changes = open_world(task, files.costs), task.changes
    at = frozenset(checkpoints(task.horizon, task.checkpoints).tolist())
    best = hindsight(world.stream, world.comparator_oracle(), task.horizon, at, tick, changes)
    return {
        "key": task.key,
        "rounds": list(best.best_cost),
        "best_cost": list(best.best_cost.values()),
        **({} if changes is None else {"changes": changes, "in_turn": list(best.in_turn.values())}),
        **({} if best.sequence is None else {"sequence": best.sequence}),
        "policy": str(best.policy),
        **({"drawing": _drawing(best, world.stream.contexts)} if task.draw else {}),
    }


def _drawing(best: Hindsight, contexts: Floats) -> str:
    from milpcb.experiments.results.figures.drawing import draw_policy  # matplotlib takes its time and memory

    policy: Any = best.policy
    with np.errstate(invalid="ignore", divide="ignore"):
        mean_costs = np.nan_to_num(best.totals / best.shown[:, None])
    has_leaves = hasattr(policy, "leaves") and hasattr(policy, "figure")
    leaves = policy.leaves(contexts, mean_costs, best.shown) if has_leaves else None
    return draw_policy(policy, leaves, ("svg",))["svg"].decode()
