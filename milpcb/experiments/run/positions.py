"""Progress files: small files that playing tasks write and that the progress display reads.

A worker writes DIR/live/<key>.json at most twice a second: ``{"round", "horizon", "cost", "started"}``, where ``cost``
is the cumulative cost so far. ``started``, in seconds since the epoch, and ``first``, the round it was in then, are
when the task had played its first round, or its first one after a saved state: opening, loading and compiling are no
part of its pace.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from time import time
from typing import Protocol

from milpcb.core.files import contents
from milpcb.core.gate import read_json
from milpcb.experiments.results.schemas import LivePosition, checked


class TaskInfo(Protocol):
    """A cell or a comparator, as far as progress is concerned; ``horizon`` in rounds."""

    @property
    def key(self) -> str:
        """Names the task's files."""
        ...

    @property
    def title(self) -> str:
        """What a user calls the task."""
        ...

    @property
    def horizon(self) -> int:
        """How many rounds the task plays."""
        ...


@dataclass(frozen=True)
class Position:
    """How far a playing task is: round, the round it began from, cumulative cost, seconds since it began."""

    task: TaskInfo
    round: int
    first: int
    cost: float
    seconds: float

    @property
    def pace(self) -> float:
        """Rounds a second."""
        return (self.round - self.first) / self.seconds if self.seconds > 0 else 0.0


def read_positions(live: Path, tasks: Iterable[TaskInfo]) -> list[Position]:
    """Return the positions of those ``tasks`` that are playing, in their order; files of other tasks are left aside."""
    keys = {path.stem for path in live.glob("*.json")}
    found = (_read(live / f"{task.key}.json", task) for task in tasks if task.key in keys)
    return [position for position in found if position is not None]


def _read(path: Path, task: TaskInfo) -> Position | None:
    try:
        written = checked(LivePosition, read_json(contents(path)))
    except (OSError, ValueError):  # the task has ended, or is writing just now
        return None
    return Position(task, written["round"], written.get("first", 0), written["cost"], time() - written["started"])
