"""What a task leaves in its run directory while it runs: a heartbeat, a checkpoint, a log. A worker writes these."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter, time
from typing import Any

from milpcb.experiments.results.store import file_of, write_file

BEAT_EVERY = 0.5  # seconds
SLICE = 0.1  # seconds of play between two looks at the clock
DEAREST = 0.05  # share of the time that checkpoints may take: large states are saved less often


class Desk:
    """One task's place in a run directory; ``every`` seconds its state is saved."""

    def __init__(self, directory: Path, key: str, horizon: int, every: float) -> None:
        self._live, self._part = file_of(directory, "live", key), file_of(directory, "part", key)
        self._log = file_of(directory, "log", key)
        self._facts = {"key": key, "horizon": horizon, "first": 0, "started": round(time(), 3)}
        self._every = every
        now = perf_counter()
        self._beat_due, self._save_due = now + BEAT_EVERY, now + every

    def saved(self) -> dict[str, Any] | None:
        """Return the last checkpoint; None where there is none, or only a damaged one."""
        try:
            state = json.loads(self._part.read_bytes())
        except (OSError, ValueError):
            return None
        if not isinstance(state, dict) or state.get("key") != self._facts["key"]:
            return None
        self._facts["first"] = state["round"]
        return state

    def beat(self, played: int, cost: float) -> None:
        """Say how far the task is, at most twice a second."""
        now = perf_counter()
        if now >= self._beat_due:
            self._beat_due = now + BEAT_EVERY
            said = {**self._facts, "round": played, "cost": cost}
            write_file(self._live, json.dumps(said).encode(), durable=False)

    @property
    def save_due(self) -> bool:
        """Whether it is time for a checkpoint."""
        return perf_counter() >= self._save_due

    def save(self, state: dict[str, Any]) -> None:
        """Write a checkpoint that ``saved`` returns; damage by a power cut is found by the reader."""
        start = perf_counter()
        write_file(self._part, json.dumps({"key": self._facts["key"], **state}).encode(), durable=False)
        now = perf_counter()
        self._save_due = now + max(self._every, (now - start) / DEAREST)

    @contextmanager
    def working(self) -> Iterator[None]:
        """Write what is logged or warned of into the task's log meanwhile; the heartbeat ends with the block."""
        handler = _Lazy(self._log)
        logging.getLogger().addHandler(handler)
        logging.captureWarnings(True)
        try:
            yield
        finally:
            logging.captureWarnings(False)
            logging.getLogger().removeHandler(handler)
            handler.close()
            self._live.unlink(missing_ok=True)


class Pace:
    """How many rounds to play between two looks at the clock."""

    def __init__(self) -> None:
        self.rounds = 1
        self._then = perf_counter()

    def measure(self, played: int) -> None:
        """Hear how many rounds were played since the last time."""
        now = perf_counter()
        fit = SLICE * played / max(now - self._then, 1e-9)
        self.rounds, self._then = max(1, min(4 * self.rounds, int(fit))), now


class _Lazy(logging.FileHandler):
    """Makes the file, and its folder, with the first line."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, encoding="utf-8", delay=True)
        self.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
        self.setLevel(logging.INFO)

    def _open(self) -> Any:
        Path(self.baseFilename).parent.mkdir(parents=True, exist_ok=True)
        return super()._open()
