"""How far a run is: a live table, plain lines, JSON lines, or nothing.

The process that starts the cells hears only of whole cells (``start``, ``done``), which costs it microseconds a cell.
How far the playing ones are is read from their heartbeats when it is shown.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from time import monotonic
from types import TracebackType
from typing import Any, Protocol, Self

from rich.console import Console, ConsoleOptions, Group, RenderResult
from rich.live import Live as Refresh
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from milpcb.errors import InputError
from milpcb.experiments.run.heartbeats import Beat, Task, read_beats

REFRESHES = 4  # of the live table, a second
LINE_EVERY = 1.0  # seconds between two plain lines
SHOWN_FAILURES = 10  # as many failures are told at once; the rest is counted
NARROW = 70  # columns; a narrower terminal has no room for costs
SETTLED = 1.0  # seconds of play before a time left is named
TELLING = 0.01  # share of a cell's rounds before its own pace says anything: opening an oracle takes time too


class Progress(Protocol):
    """Hears what is to be played and what has been; a context manager around the whole run."""

    def __enter__(self) -> Self:
        """Begin to show."""
        ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Show the last state."""
        ...

    def start(self, tasks: Iterable[Task]) -> None:
        """Add tasks that this run will play."""
        ...

    def done(self, task: Task, failure: str | None) -> None:
        """Note that a task has ended, and why it failed if it did."""
        ...


class Quiet:
    """Counts, and shows nothing: what the other modes are made of."""

    def __init__(self, console: Console, live: Path) -> None:
        self.console, self.live = console, live
        self.pending: dict[str, Task] = {}
        self.total = self.ended = self.failed = 0
        self.rounds = self.played = 0
        self.began = monotonic()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return None

    def start(self, tasks: Iterable[Task]) -> None:
        """Add tasks that this run will play."""
        new = {task.key: task for task in tasks}
        self.began = self.began if self.total else monotonic()
        self.pending |= new
        self.total += len(new)
        self.rounds += sum(task.horizon for task in new.values())

    def done(self, task: Task, failure: str | None) -> None:
        """Note that a task has ended, and why it failed if it did."""
        self.pending.pop(task.key, None)
        self.ended += 1
        self.failed += failure is not None
        if failure is None:
            self.played += task.horizon
        else:
            self.rounds -= task.horizon  # never played, and not to come either

    def beats(self) -> list[Beat]:
        """Return where the playing cells are."""
        return read_beats(self.live, self.pending.copy().values())  # the other thread ends cells meanwhile

    def seconds_left(self, beats: list[Beat]) -> float | None:
        """Return the rounds that are left over the rounds a second so far; None while too little was played.

        No less than what the slowest playing cell still needs: the last cell of a run has its worker for itself,
        and the others do not help it.
        """
        elapsed = monotonic() - self.began
        gained = self.played + sum(beat.round - beat.first for beat in beats)
        if elapsed < SETTLED or gained <= 0:
            return None
        left = (self.rounds - self.played - sum(beat.round for beat in beats)) * elapsed / gained
        telling = [beat for beat in beats if beat.round - beat.first >= TELLING * beat.task.horizon]
        return max([left, *((beat.task.horizon - beat.round) / beat.pace for beat in telling if beat.pace > 0)])


class Plain(Quiet):
    """A line for a cell that has ended, at most one a second, as a log wants it."""

    due = 0.0

    def done(self, task: Task, failure: str | None) -> None:
        """Write a line unless one was written within the last second."""
        super().done(task, failure)
        told = failure is not None and self.failed <= SHOWN_FAILURES
        if told or self.ended == self.total or monotonic() >= self.due:
            self.due = monotonic() + LINE_EVERY
            self.console.print(f"{self.ended:,}/{self.total:,} {task.title}{self._outcome(failure)}", soft_wrap=True)

    def _outcome(self, failure: str | None) -> str:
        if failure is not None:
            return f": FAILED: {failure}"
        left = self.seconds_left(self.beats())
        return "" if left is None or self.ended == self.total else f" ({span(left)} left)"


class Json(Quiet):
    """One JSON object a line: ``started``, ``finished`` or ``failed`` for every cell, ``done``."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._tell("done", tasks=self.total, seconds=round(monotonic() - self.began, 3), complete=kind is None)

    def start(self, tasks: Iterable[Task]) -> None:
        """Tell how much there is to play."""
        super().start(tasks)
        self._tell("started", tasks=self.total, rounds=self.rounds)

    def done(self, task: Task, failure: str | None) -> None:
        """Tell of the cell."""
        super().done(task, failure)
        cell: dict[str, Any] = {"key": task.key, "title": task.title, "horizon": task.horizon}
        if failure is None:
            self._tell("finished", **cell)
        else:
            self._tell("failed", **cell, failure=failure)

    def _tell(self, event: str, **facts: Any) -> None:
        counts = {"ended": self.ended, "failures": self.failed}
        self.console.file.write(json.dumps({"event": event, **facts, **counts}) + "\n")
        self.console.file.flush()


class Live(Quiet):
    """A table on a terminal that a thread draws four times a second: all cells, then one line per playing cell."""

    def __init__(self, console: Console, live: Path) -> None:
        super().__init__(console, live)
        self._refresh = Refresh(_Drawn(self._draw), console=console, refresh_per_second=REFRESHES)
        self._over = False

    def __enter__(self) -> Self:
        self._refresh.start(refresh=True)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over = True
        self._refresh.stop()

    def _draw(self, width: int, height: int) -> Group:
        beats = [] if self._over else self.beats()
        if not self.total:
            return Group()
        shown = beats[: max(1, height - 3)]  # a table taller than the terminal cannot be drawn over
        more = [Text(f"and {len(beats) - len(shown):,} more", "dim")] if len(beats) > len(shown) else []
        return Group(self._head(beats), *([_table(shown, width)] if shown else []), *more)

    def _head(self, beats: list[Beat]) -> Table:
        head = Table.grid(padding=(0, 2))
        done = self.played + sum(beat.round for beat in beats)
        failed = Text(f"{self.failed:,} failed" if self.failed else "", "red")
        tasks = f"{self.ended:,}/{self.total:,} tasks"
        head.add_row(tasks, ProgressBar(max(1, self.rounds), done, width=30), self._time(beats), failed)
        return head

    def _time(self, beats: list[Beat]) -> str:
        so_far, left = span(monotonic() - self.began), self.seconds_left(beats)
        if self._over:
            return f"in {so_far}"
        return f"{so_far} so far" if left is None else f"{span(left)} left"


MODES: dict[str, type[Quiet]] = {"live": Live, "plain": Plain, "quiet": Quiet, "json": Json}


def open_progress(mode: str, console: Console, live: Path) -> Progress:
    """Return the progress of a mode; ``live`` is the directory of heartbeats. Off a terminal "live" means "plain"."""
    if mode not in MODES:
        raise InputError(f"unknown progress '{mode}': give one of {', '.join(MODES)}")
    return MODES["plain" if mode == "live" and not console.is_terminal else mode](console, live)


def span(seconds: float) -> str:
    """Return a duration in its two greatest units: nobody knows the seconds of an hour that is to come."""
    whole = max(1, round(seconds))
    for unit, size, lesser, part in (("d", 86400, "h", 3600), ("h", 3600, "min", 60), ("min", 60, "s", 1)):
        if whole >= size:
            return f"{whole // size} {unit} {whole % size // part} {lesser}"
    return f"{whole} s"


class _Drawn:
    """Draws itself anew at every refresh, as large as the terminal is then."""

    def __init__(self, draw: Callable[[int, int], Group]) -> None:
        self._draw = draw

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield self._draw(options.size.width, options.size.height)


def _table(beats: list[Beat], width: int) -> Table:
    columns = [
        [f"{beat.round:,}/{beat.task.horizon:,}" for beat in beats],
        [f"{beat.pace:,.0f}/s" for beat in beats],
        *([[f"cost {beat.cost:,.1f}" for beat in beats]] if width >= NARROW else []),
    ]
    room = width - sum(2 + max(map(len, column)) for column in columns)
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True, width=min(max(1, room), max(len(beat.task.title) for beat in beats)))
    for _ in columns:
        table.add_column(justify="right", no_wrap=True)
    for beat, *row in zip(beats, *columns, strict=True):
        table.add_row(Text(_shortened(beat.task.title, max(1, room))), *row)
    return table


def _shortened(title: str, room: int) -> str:
    """Cut the middle out: titles that begin alike are told apart by their ends."""
    if len(title) <= room:
        return title
    end = (room - 1) * 2 // 3
    return title[: room - 1 - end] + "…" + title[len(title) - end :]
