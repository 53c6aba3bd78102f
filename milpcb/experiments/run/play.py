"""One task of a study, as a worker computes it: a cell, which goes on from its checkpoint, or a yardstick."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from milpcb import rng
from milpcb.errors import MilpcbError, RunError
from milpcb.experiments.run.desk import Desk, Pace
from milpcb.experiments.run.hindsight import Hindsight, hindsight
from milpcb.experiments.run.leader import actions, leader
from milpcb.experiments.run.loop import Tally, checkpoints, play
from milpcb.experiments.study.cells import Cell, Task, Yardstick
from milpcb.experiments.study.worlds import World, asks_best, build_learner, open_world
from milpcb.protocols import Policy
from milpcb.types import Floats, Ints


@dataclass(frozen=True)
class Outcome:
    """A finished task: its record, plain data, and pictures by the ending of their file."""

    record: dict[str, Any]
    pictures: dict[str, bytes] = field(default_factory=dict)


@dataclass(frozen=True)
class Failure:
    """A task that cannot be computed: one line, and the trace of what was not foreseen."""

    message: str
    trace: str = ""


def compute(task: Task, directory: Path, checkpoint_seconds: float) -> Outcome | Failure:
    """Compute a task; raises RunError when the disk refuses, which concerns all tasks."""
    desk = Desk(directory, task.key, task.horizon, checkpoint_seconds)
    with desk.working():
        try:
            return measure(task, desk) if isinstance(task, Yardstick) else play_cell(task, desk)
        except RunError:
            raise
        except MilpcbError as error:
            return Failure(str(error))
        except MemoryError:
            return Failure("out of memory; make the policy class, the contexts or the number of workers smaller")
        except Exception as error:  # noqa: BLE001 - a mistake in one learner must not end the others
            return Failure(f"{type(error).__name__}: {error}", traceback.format_exc())


def play_cell(cell: Task, desk: Desk) -> Outcome:
    """Play one learner to the horizon, from its checkpoint if there is one."""
    if not isinstance(cell, Cell):
        raise TypeError(cell)
    game, pace = Game(cell, open_world(cell)), Pace()
    saved = desk.saved()
    if saved is not None:
        game.restore(saved)
    while game.tally.round < cell.horizon:
        pace.measure(game.advance(pace.rounds))
        desk.beat(game.tally.round, game.tally.cost)
        if desk.save_due:
            desk.save(game.state())
    record = game.record()
    stays_with = leader(cell, game.world, game.learner, game.oracle)
    if stays_with is None:
        return Outcome(record)
    record |= {"leader": str(stays_with), "actions": actions(stays_with, game.world.stream.contexts)}
    return Outcome(record, _pictures(cell, stays_with, game.world.stream.contexts))


def measure(task: Yardstick, desk: Desk) -> Outcome:
    """Find the best policy in hindsight, and draw it."""
    world = open_world(task)
    best = best_policy(task, world, checkpoints(task.horizon, task.checkpoints), desk)
    record = {
        "key": task.key,
        "rounds": list(best.best_cost),
        "best_cost": list(best.best_cost.values()),
        "policy": str(best.policy),
        "actions": None if best.policy is None else actions(best.policy, world.stream.contexts),
    }
    with np.errstate(invalid="ignore", divide="ignore"):
        mean_costs = np.nan_to_num(best.totals / best.shown[:, None])
    return Outcome(record, _pictures(task, best.policy, world.stream.contexts, mean_costs, best.shown))


def best_policy(task: Task, world: World, at: Ints, desk: Desk | None = None) -> Hindsight:
    """Walk through the rounds once; the world's search, or a solver where there are side constraints, is asked ``at``."""

    def tick(played: int) -> None:
        if desk is not None and played % 1024 == 0:
            desk.beat(played, 0.0)

    oracle = world.yardstick_oracle(task.constraints)
    return hindsight(world.stream, oracle, task.horizon, frozenset(at.tolist()), tick)


class Game:
    """A learner in its environment: what must be saved together so that a play can go on bit by bit as it would have."""

    def __init__(self, cell: Cell, world: World, best_labels: Callable[[Cell, World], Ints] | None = None) -> None:
        self.cell, self.world = cell, world
        best = (best_labels or _labels)(cell, world) if asks_best(cell.learner) else None
        self.learner, self.oracle = build_learner(cell, world, best)
        self.tally = Tally()
        self._guarantee = self.learner.guarantee()
        self._rng = rng.child(cell.seed, "actions")
        self._at: list[int] = checkpoints(cell.horizon, cell.checkpoints).tolist()
        self._points: list[dict[str, float]] = []

    def advance(self, rounds: int) -> int:
        """Play at most ``rounds`` rounds, no further than the next point of the curve; return how many were played."""
        before, point = self.tally.round, self._at[len(self._points)]
        play(self.learner, self.world.stream, self.tally, min(point, before + rounds), self._rng)
        if self.tally.round == point:
            self._points.append(self._point())
        return self.tally.round - before

    def state(self) -> dict[str, Any]:
        """Return everything that ``restore`` needs, as plain data; between two rounds only."""
        return {
            **asdict(self.tally),
            "learner": self.learner.state(),
            "actions": rng.freeze(self._rng),
            "oracle": [self.oracle.calls, self.oracle.seconds] if self.oracle else None,
            "points": self._points,
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from a saved state."""
        self.tally = Tally(state["round"], state["cost"], state["seconds"])
        self.learner.restore(state["learner"])
        rng.thaw(self._rng, state["actions"])
        if self.oracle:
            self.oracle.calls, self.oracle.seconds = state["oracle"]
        self._points = state["points"]

    def record(self) -> dict[str, Any]:
        """Return the finished curve by columns."""
        columns = {name: [point[name] for point in self._points] for name in self._points[0]}
        guarantee = float(self._guarantee)
        return {"key": self.cell.key, "guarantee": guarantee if np.isfinite(guarantee) else None, **columns}

    def _point(self) -> dict[str, float]:
        return {
            "rounds": self.tally.round,
            "cumulative_cost": self.tally.cost,
            "certificate": float(self.learner.certificate()),
            "oracle_calls": int(self.oracle.calls) if self.oracle else 0,
            "seconds": round(self.tally.seconds, 6),
            "oracle_seconds": round(self.oracle.seconds, 6) if self.oracle else 0.0,
        }


def _pictures(task: Task, policy: Policy | None, contexts: Floats, *known: Any) -> dict[str, bytes]:
    """Return drawings of a policy where the task asks for them, with what its leaves hold and cost where it can say that.

    ``known`` are the mean costs (m, K) of the contexts, and how often each was shown (m,), or nothing.
    """
    if not task.draw:
        return {}
    from milpcb.experiments.results.figures.policy import draw_policy  # matplotlib takes its time and memory

    ours: Any = policy if hasattr(policy, "leaves") and hasattr(policy, "figure") else None  # others need have neither
    return draw_policy(policy, None if ours is None else ours.leaves(contexts, *known))


def _labels(cell: Cell, world: World) -> Ints:
    """Return the actions (m,) of the best policy in hindsight."""
    policy = best_policy(cell, world, np.array([cell.horizon])).policy
    return np.asarray(policy.predict(world.stream.contexts)) if policy else np.zeros(0, dtype=np.int64)
