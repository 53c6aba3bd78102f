"""The files that a worker writes while its task runs: progress, saved state, log."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from time import perf_counter, time
from typing import Any

from milpcb.core.files import contents, make_folder, open_to_append, sealed, unsealed, write_file
from milpcb.errors import RunError
from milpcb.experiments.results.layout import file_of
from milpcb.experiments.results.schemas import SavedState, checked
from milpcb.experiments.results.versions import describe, installed

REPORT_EVERY = 0.5  # seconds between two reports of the position
SLICE = 0.1  # seconds of play between two looks at the clock
MOST_SAVING = 0.05  # share of the time that saving may take: large states are saved less often


class TaskFiles:
    """The files of one task; its state is saved every ``every`` seconds.

    The clock decides only when a position and a state are written, never what is played: a play that goes on from
    any saved state has the numbers of one that never stopped. ``remarks`` is filled with what a user should know.
    """

    def __init__(self, directory: Path, key: str, title: str, horizon: int, every: float) -> None:
        self.directory = directory
        self._live, self._part = file_of(directory, "live", key), file_of(directory, "part", key)
        self._log = file_of(directory, "log", key)
        self._facts = {"key": key, "horizon": horizon, "first": 0, "started": 0.0}
        self._playing = False
        self._title, self._every = title, every
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
        if state.get("key") != self._facts["key"]:
            self.reject("is damaged")
            return None
        if others := describe([state["versions"]]):
            self.reject(f"was made with other versions, {others}")
            return None
        return state

    def reject(self, reason: str) -> None:
        """Note that the saved state is of no use, so that the task begins anew."""
        self._playing = False
        self.remarks.append(
            f"saved state {self._facts['key']} of '{self._title}' {reason}; it is played from its first round"
        )

    def report(self, played: int, cost: float) -> None:
        """Write how far the task is, at most twice a second; its pace counts from the first call, when all is open."""
        now = perf_counter()
        if not self._playing:
            self._playing = True
            self._facts |= {"first": played, "started": round(time(), 3)}
        if now >= self._report_due:
            self._report_due = now + REPORT_EVERY
            position = {**self._facts, "round": played, "cost": cost}
            write_file(self._live, json.dumps(position).encode(), durable=False)

    @property
    def save_due(self) -> bool:
        """Whether it is time to save the state."""
        return perf_counter() >= self._save_due

    def save(self, state: dict[str, Any]) -> None:
        """Write a state that ``saved`` returns; damage by a power cut is found by the reader."""
        start = perf_counter()
        document = {"key": self._facts["key"], "versions": installed(), **state}
        write_file(self._part, sealed(document), durable=False)
        now = perf_counter()
        self._save_due = now + max(self._every, (now - start) / MOST_SAVING)

    @contextmanager
    def working(self) -> Iterator[None]:
        """Write what is logged or warned of into the task's log meanwhile; the position is removed after the block."""
        handler = _LateLog(self._log)
        logging.getLogger().addHandler(handler)
        logging.captureWarnings(True)
        try:
            yield
        finally:
            logging.captureWarnings(False)
            logging.getLogger().removeHandler(handler)
            handler.close()
            with suppress(OSError):
                self._live.unlink(missing_ok=True)


class Pace:
    """How many rounds to play between two looks at the clock."""

    def __init__(self) -> None:
        self.rounds = 1
        self._then = perf_counter()

    def measure(self, played: int) -> None:
        """Set ``rounds`` from how many were played since the last call."""
        now = perf_counter()
        fit = SLICE * played / max(now - self._then, 1e-9)
        self.rounds, self._then = max(1, min(4 * self.rounds, int(fit))), now


class _LateLog(logging.FileHandler):
    """Makes the file, and its folder, with the first line; a link of that name is not followed."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, encoding="utf-8", delay=True)
        self.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
        self.setLevel(logging.INFO)

    def _open(self) -> Any:
        make_folder(Path(self.baseFilename).parent)
        return open_to_append(Path(self.baseFilename))

    def emit(self, record: logging.LogRecord) -> None:
        """Write a line; where the file cannot be opened, none."""
        with suppress(OSError, RunError):
            super().emit(record)

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - the name is logging's
        """A log that cannot be written ends no task."""
