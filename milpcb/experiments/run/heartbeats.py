"""Where the playing cells are: small files that workers write and whoever shows progress reads.

A worker writes DIR/live/<key>.json at most twice a second: ``{"round", "horizon", "cost", "started"}``, where ``cost``
is the cumulative cost so far and ``started`` is in seconds since the epoch. A cell that went on from a checkpoint says
in ``first`` from which round, so that its pace counts only what was played since.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from time import time
from typing import Protocol


class Task(Protocol):
    """A cell or a yardstick, as far as progress is concerned; ``horizon`` in rounds."""

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
class Beat:
    """Where a playing cell is: round, the round it began from, cumulative cost, seconds since it began."""

    task: Task
    round: int
    first: int
    cost: float
    seconds: float

    @property
    def pace(self) -> float:
        """Rounds a second."""
        return (self.round - self.first) / self.seconds if self.seconds > 0 else 0.0


def read_beats(live: Path, tasks: Iterable[Task]) -> list[Beat]:
    """Return where the playing ones of ``tasks`` are, in their order; files of other tasks are left aside."""
    keys = {path.stem for path in live.glob("*.json")}
    found = (_read(live / f"{task.key}.json", task) for task in tasks if task.key in keys)
    return [beat for beat in found if beat is not None]


def _read(path: Path, task: Task) -> Beat | None:
    try:
        said = json.loads(path.read_bytes())
        seconds = time() - float(said["started"])
        return Beat(task, int(said["round"]), int(said.get("first", 0)), float(said["cost"]), seconds)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):  # the cell ended, or writes just now
        return None
