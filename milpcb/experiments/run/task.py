"""One task of a study, as a worker computes it: a cell, which resumes from its saved state, or the best policy."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from milpcb.core.files import append, contents, make_folder, sealed, unsealed, write_file
from milpcb.core.long_search import interrupts_end_everything
from milpcb.errors import MilpcbError, RunError, cause, traced
from milpcb.experiments.results.records import WorldCosts, describe, file_of, installed
from milpcb.experiments.results.schemas import SavedState, checked
from milpcb.experiments.run.backends import report
from milpcb.experiments.run.hindsight import Hindsight, hindsight
from milpcb.experiments.run.player import LearnerPlayer, checkpoints
from milpcb.experiments.study.cells import Cell, Comparator, Task
from milpcb.experiments.study.worlds import World, entrant_of, open_world
from milpcb.types import Floats, Ints

REPORT_EVERY = 0.5  # seconds between two reports of the position
MOST_SAVING = 0.05  # share of the time that saving may take: large states are saved less often


class TaskFiles:
    """The files of one task; its state is saved every ``every`` seconds.

    The clock decides only when a position is reported and a state written, never what is played: a play that goes on
    from any saved state has the numbers of one that never stopped. ``remarks`` is filled with what a user should know.
    """

    def __init__(self, directory: Path, key: str, title: str, every: float) -> None:
        self.directory = directory
        self._part, self._log = file_of(directory, "part", key), file_of(directory, "log", key)
        self._first: int | None = None  # the round that this attempt began from
        self._key, self._title, self._every = key, title, every
        self.remarks: list[str] = []
        now = perf_counter()
        self._report_due, self._save_due = now + REPORT_EVERY, now + every

    def saved(self) -> dict[str, Any] | None:
        """Return the last saved state; None where there is none, or none to go on from, which goes to ``remarks``."""
        try:
            state: dict[str, Any] = dict(checked(SavedState, unsealed(contents(self._part))))
        except FileNotFoundError:
            return None
        except (OSError, ValueError):
            state = {}
        if state.get("key") != self._key:
            self.reject("is damaged")
            return None
        if others := describe([state["versions"]]):
            self.reject(f"was made with other versions, {others}")
            return None
        return state

    def reject(self, reason: str) -> None:
        """Note that the saved state is of no use, so that the task begins anew."""
        self._first = None
        self.remarks.append(f"saved state {self._key} of '{self._title}' {reason}; it is played from its first round")

    def report(self, played: int) -> None:
        """Report how far the task is, at most twice a second; its pace counts from the first call, when all is open."""
        self._first = played if self._first is None else self._first
        if perf_counter() >= self._report_due:
            self._report_due = perf_counter() + REPORT_EVERY
            report({"key": self._key, "first": self._first, "round": played})

    @property
    def save_due(self) -> bool:
        """Whether it is time to save the state."""
        return perf_counter() >= self._save_due

    def save(self, state: dict[str, Any]) -> None:
        """Write a state that ``saved`` returns; damage by a power cut is found by the reader."""
        start = perf_counter()
        document = {"key": self._key, "versions": installed(), **state}
        write_file(self._part, sealed(document), durable=False)
        now = perf_counter()
        self._save_due = now + max(self._every, (now - start) / MOST_SAVING)

    @contextmanager
    def working(self) -> Iterator[None]:
        """Write what is logged or warned of into the task's log meanwhile."""
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


@dataclass(frozen=True)
class Outcome:
    """A finished task: its record, plain data, and lines for the user."""

    record: dict[str, Any]
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True)
class Failure:
    """A task that cannot be computed: one line, the trace of what was not foreseen, and lines for the user."""

    message: str
    trace: str = ""
    remarks: tuple[str, ...] = ()


def compute(task: Task, directory: Path, save_seconds: float) -> Outcome | Failure:
    """Compute a task; raises RunError when the disk refuses, which concerns all tasks.

    Linear algebra keeps to one thread: then sums of floats come in one order, and give the same bytes, on every
    backend.
    """
    files = TaskFiles(directory, task.key, task.title, save_seconds)
    with files.working(), threadpool_limits(limits=1), interrupts_end_everything():
        result = _outcome_or_failure(task, files)
    return replace(result, remarks=tuple(files.remarks))


def _outcome_or_failure(task: Task, files: TaskFiles) -> Outcome | Failure:
    try:
        if not task.is_current():
            return Failure("the files or the source code that it reads are not those the run began with; run again")
        return play_cell(task, files) if isinstance(task, Cell) else measure(task, files)
    except RunError:
        raise
    except MilpcbError as error:
        return Failure(str(error))
    except MemoryError:
        return Failure("out of memory; make the policy class, the contexts or the number of workers smaller")
    except (Exception, SystemExit) as error:  # noqa: BLE001 - a mistake in one learner must not end the others
        return Failure(cause(error), traced(error))


def play_cell(cell: Cell, files: TaskFiles) -> Outcome:
    """Play one learner to the horizon, from its saved state if there is one that serves.

    A state that cannot be restored, or from which the play ends in an error, is given up and the cell played from
    its first round: no saved state can make every later attempt fail.
    """
    saved = files.saved()
    player = cell_player(cell, _world(cell, files))
    if saved is None:
        return _play_on(cell, player, files)
    problem = "cannot be restored"
    try:
        player.restore(saved)
        problem = "led to an error"  # a state that does not fit shows itself anywhere
        return _play_on(cell, player, files)
    except RunError:
        raise
    except Exception as error:  # noqa: BLE001 - it may hold anything
        files.reject(f"{problem} ({type(error).__name__})")
    return _play_on(cell, cell_player(cell, _world(cell, files)), files)


def _play_on(cell: Cell, player: LearnerPlayer, files: TaskFiles) -> Outcome:
    while player.tally.round < cell.horizon:
        player.advance(1)  # a look at the clock takes a microsecond
        files.report(player.tally.round)
        if files.save_due:
            files.save(player.state())
    record = {"key": cell.key, **player.record()}
    leader = None if cell.oracle is None else player.certify().policy
    return Outcome(record if leader is None else {**record, "leader": str(leader)})


def measure(task: Task, files: TaskFiles) -> Outcome:
    """Find the best policy in hindsight, and draw it."""
    world, changes = _world(task, files), task.changes if isinstance(task, Comparator) else None
    best = hindsight_of_task(task, world, checkpoints(task.horizon, task.checkpoints), files, changes)
    record = {
        "key": task.key,
        "rounds": list(best.best_cost),
        "best_cost": list(best.best_cost.values()),
        **({} if changes is None else {"changes": changes, "in_turn": list(best.in_turn.values())}),
        **({} if best.sequence is None else {"sequence": best.sequence}),
        "policy": str(best.policy),
        **({"drawing": _drawing(best, world.stream.contexts)} if task.draw else {}),
    }
    return Outcome(record)


def hindsight_of_task(
    task: Task, world: World, at: Ints, files: TaskFiles | None = None, changes: int | None = None
) -> Hindsight:
    """Return the best policies in hindsight after each of the rounds ``at`` (n,); progress is written to ``files``."""

    def tick(played: int) -> None:
        if files is not None and played % 1024 == 0:
            files.report(played)

    return hindsight(world.stream, world.comparator_oracle(), task.horizon, frozenset(at.tolist()), tick, changes)


def cell_player(cell: Cell, world: World) -> LearnerPlayer:
    """Return the player of a cell, about to play."""

    def labels() -> Ints:
        policy = hindsight_of_task(cell, world, np.array([cell.horizon])).policy
        return np.asarray(policy.predict(world.stream.contexts)) if policy else np.zeros(0, dtype=np.int64)

    at = checkpoints(cell.horizon, cell.checkpoints)
    return LearnerPlayer(world, entrant_of(cell), cell.seed, at, cell.confidence, labels)


def _world(task: Task, files: TaskFiles) -> World:
    return open_world(task, WorldCosts(files.directory, task.world_key))


def _drawing(best: Hindsight, contexts: Floats) -> str:
    """Return the best policy as an SVG, with what its leaves hold and cost where it has leaves."""
    from milpcb.experiments.results.figures.drawing import draw_policy  # matplotlib takes its time and memory

    policy: Any = best.policy
    with np.errstate(invalid="ignore", divide="ignore"):
        mean_costs = np.nan_to_num(best.totals / best.shown[:, None])
    has_leaves = hasattr(policy, "leaves") and hasattr(policy, "figure")
    leaves = policy.leaves(contexts, mean_costs, best.shown) if has_leaves else None
    return draw_policy(policy, leaves, ("svg",))["svg"].decode()
