"""The progress display of a run: a live table, plain lines, JSON lines, or nothing.

The process that starts the tasks notes whole tasks (``start``, ``done``) and the positions that playing ones report
(``note``), which costs it microseconds each.
"""

import json
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from time import monotonic, time
from typing import Any, Self

from rich.console import Console, Group
from rich.live import Live as Refresh
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from milpcb.core.decimals import spaced
from milpcb.core.text import escaped
from milpcb.errors import InputError
from milpcb.experiments.study.cells import Task


@dataclass(frozen=True)
class Position:
    """How far a playing task is: round, the round it began from, cumulative cost, and the wall clock when it began."""

    task: Task
    round: int
    first: int
    cost: float
    started: float

    @property
    def seconds(self) -> float:
        """Seconds of play."""
        return time() - self.started

    @property
    def pace(self) -> float:
        """Rounds a second."""
        return (self.round - self.first) / self.seconds if self.seconds > 0 else 0.0


REFRESHES = 4  # of the live table, a second
LINE_EVERY = 1.0  # seconds between two plain lines
SHOWN_FAILURES = 10  # as many failures are written at once; the rest is counted
NARROW = 70  # columns; a narrower terminal has no room for costs
MIN_SECONDS = 1.0  # of play before a time left is estimated
MIN_SHARE = 0.01  # of a task's rounds before its own pace counts: opening an oracle takes time too


class Progress:
    """Counts the tasks of a run, around which it is a context manager, and shows nothing but remarks: mode "quiet"."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self.pending: dict[str, Task] = {}
        self._positions: dict[str, Position] = {}
        self.total = self.ended = self.failed = 0
        self.rounds = self.played = 0
        self._paces: dict[str, bool] = {}  # whether a task of each kind has ended: of a learner, or of what is best
        self.began = monotonic()
        # Since when there is play to be timed, and the rounds played before: opening and compiling are no play.
        self.playing: float | None = None
        self.before = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        return None

    def start(self, tasks: Iterable[Task]) -> None:
        """Add tasks that this run will play."""
        new = {task.key: task for task in tasks}
        self.began = self.began if self.total else monotonic()
        self.pending |= new
        self.total += len(new)
        self.rounds += sum(task.horizon for task in new.values())
        self._paces = dict.fromkeys(map(_kind, new.values()), False) | self._paces

    def note(self, at: Mapping[str, Any]) -> None:
        """Note the position that a playing task reports; that of another task is left aside."""
        if task := self.pending.get(at["key"]):
            self._positions[task.key] = Position(task, at["round"], at["first"], at["cost"], at["started"])

    def done(self, task: Task, failure: str | None) -> None:
        """Note that a task has ended, and why it failed if it did."""
        self.pending.pop(task.key, None)
        self._positions.pop(task.key, None)
        self.ended += 1
        self._paces[_kind(task)] = True
        self.failed += failure is not None
        if failure is None:
            self.played += task.horizon
        else:
            self.rounds -= task.horizon  # never played, and not to come either
        if self.playing is None and self.played:  # nobody looked while the first one played
            self.playing, self.before = monotonic(), self.played

    def remark(self, line: str) -> None:
        """Show one line on the whole run, on standard error: standard output may be read by a program."""
        sys.stderr.write(f"{escaped(line)}\n")
        sys.stderr.flush()

    def positions(self) -> list[Position]:
        """Return how far the playing tasks are, in the order of all."""
        playing = self._positions.copy()  # the other thread ends cells meanwhile
        return [playing[key] for key in self.pending.copy() if key in playing]

    def seconds_left(self, positions: list[Position]) -> float | None:
        """Return the rounds to come over the rounds a second so far, of play alone; None while too little was played.

        That is until each learner has played, or twice as many tasks have ended as there are learners.

        No less than what the slowest playing cell still needs: the last cell of a run has its worker for itself,
        and the others do not help it.
        """
        if positions and self.playing is None and not self.played:
            self.playing = monotonic() - max(each.seconds for each in positions)
        elapsed = monotonic() - (self.began if self.playing is None else max(self.began, self.playing))
        gained = self.played - self.before + sum(each.round - each.first for each in positions)
        playing = {_kind(each.task) for each in positions}
        unknown = [kind for kind, known in self._paces.items() if not known and kind not in playing]
        if elapsed < MIN_SECONDS or gained <= 0 or (unknown and self.ended < 2 * len(self._paces)):
            return None
        left = (self.rounds - self.played - sum(each.round for each in positions)) * elapsed / gained
        steady = [each for each in positions if each.round - each.first >= MIN_SHARE * each.task.horizon]
        return max([left, *((each.task.horizon - each.round) / each.pace for each in steady if each.pace > 0)])


def _kind(task: Task) -> str:
    return task.title.partition(",")[0]


class Plain(Progress):
    """A line for a cell that has ended, at most one a second, as a log wants it."""

    due = 0.0

    def done(self, task: Task, failure: str | None) -> None:
        """See Progress; a line is written unless one was within the last second."""
        super().done(task, failure)
        at_once = failure is not None and self.failed <= SHOWN_FAILURES
        if at_once or self.ended == self.total or monotonic() >= self.due:
            self.due = monotonic() + LINE_EVERY
            self.console.print(
                f"{spaced(self.ended)}/{spaced(self.total)} {task.title}{self._outcome(failure)}", soft_wrap=True
            )

    def _outcome(self, failure: str | None) -> str:
        if failure is not None:
            return f": FAILED: {failure}"
        left = self.seconds_left(self.positions())
        return "" if left is None or self.ended == self.total else f" ({span(left)} of play left)"


class Json(Progress):
    """One JSON object a line: ``started``, ``finished`` or ``failed`` for every task, ``remark``, ``done``."""

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._write_event("done", tasks=self.total, seconds=round(monotonic() - self.began, 3), complete=kind is None)

    def start(self, tasks: Iterable[Task]) -> None:
        """See Progress."""
        super().start(tasks)
        self._write_event("started", tasks=self.total, rounds=self.rounds)

    def done(self, task: Task, failure: str | None) -> None:
        """See Progress."""
        super().done(task, failure)
        cell: dict[str, Any] = {"key": task.key, "title": task.title, "horizon": task.horizon}
        if failure is None:
            self._write_event("finished", **cell)
        else:
            self._write_event("failed", **cell, failure=failure)

    def remark(self, line: str) -> None:
        """Write the line as an object of its own."""
        self._write_event("remark", text=line)

    def _write_event(self, event: str, **facts: Any) -> None:
        if self.console.quiet:
            return
        counts = {"ended": self.ended, "failures": self.failed}
        try:
            self.console.file.write(json.dumps({"event": event, **facts, **counts}) + "\n")
            self.console.file.flush()
        except BrokenPipeError:  # nobody reads on, and the run goes on
            self.console.on_broken_pipe()


class Live(Progress):
    """A table on a terminal that a thread draws four times a second: all cells, then one line per playing cell."""

    def __init__(self, console: Console) -> None:
        super().__init__(console)
        self._over = False
        self._refresh = Refresh(get_renderable=self._draw, console=console, refresh_per_second=REFRESHES)

    def __enter__(self) -> Self:
        self._refresh.start(refresh=True)
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._over = True
        self._refresh.stop()

    def _draw(self) -> Group:
        positions, (width, height) = [] if self._over else self.positions(), self.console.size
        if not self.total:
            return Group()
        shown = positions[: max(1, height - 3)]  # a table taller than the terminal cannot be drawn over
        more = [Text(f"and {spaced(len(positions) - len(shown))} more", "dim")] if len(positions) > len(shown) else []
        return Group(self._head(positions), *([_table(shown, width)] if shown else []), *more)

    def _head(self, positions: list[Position]) -> Table:
        head = Table.grid(padding=(0, 2))
        done = self.played + sum(each.round for each in positions)
        failed = Text(f"{spaced(self.failed)} failed" if self.failed else "", "red")
        tasks = f"{spaced(self.ended)}/{spaced(self.total)} tasks"
        head.add_row(tasks, ProgressBar(max(1, self.rounds), done, width=30), self._time(positions), failed)
        return head

    def _time(self, positions: list[Position]) -> str:
        so_far, left = span(monotonic() - self.began), self.seconds_left(positions)
        if self._over:
            return f"in {so_far}"
        return f"{so_far} so far" if left is None else f"{span(left)} left"


MODES: dict[str, type[Progress]] = {"live": Live, "plain": Plain, "quiet": Progress, "json": Json}


def open_progress(mode: str, console: Console) -> Progress:
    """Return the progress of a mode; off a terminal, and on one that only goes forwards, "live" means "plain"."""
    if mode not in MODES:
        raise InputError(f"unknown progress '{mode}': give one of {', '.join(MODES)}")
    moves = console.is_terminal and not console.is_dumb_terminal
    return MODES["plain" if mode == "live" and not moves else mode](console)


def span(seconds: float) -> str:
    """Return a duration in its two largest units; an estimate of hours is not precise to the second."""
    whole = max(1, round(seconds))
    for unit, size, lesser, part in (("d", 86400, "h", 3600), ("h", 3600, "min", 60), ("min", 60, "s", 1)):
        if whole >= size:
            return f"{whole // size} {unit} {whole % size // part} {lesser}"
    return f"{whole} s"


def _table(positions: list[Position], width: int) -> Table:
    columns = [
        [f"{spaced(each.round)}/{spaced(each.task.horizon)}" for each in positions],
        [f"{spaced(each.pace, '.0f')}/s" for each in positions],
        *([[f"cost {spaced(each.cost, '.1f')}" for each in positions]] if width >= NARROW else []),
    ]
    room = width - sum(2 + max(map(len, column)) for column in columns)
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True, width=min(max(1, room), max(len(each.task.title) for each in positions)))
    for _ in columns:
        table.add_column(justify="right", no_wrap=True)
    for each, *row in zip(positions, *columns, strict=True):
        table.add_row(Text(_shortened(each.task.title, max(1, room))), *row)
    return table


def _shortened(title: str, room: int) -> str:
    """Cut the middle out: titles that begin alike differ at their ends."""
    if len(title) <= room:
        return title
    end = (room - 1) * 2 // 3
    return title[: room - 1 - end] + "…" + title[len(title) - end :]
