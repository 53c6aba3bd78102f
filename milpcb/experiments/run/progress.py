"""The progress display of a run: bars on a terminal, plain lines, or nothing.

The process that starts the tasks notes whole tasks (``start``, ``done``) and the positions that playing ones report
(``note``).
"""

import sys
from collections.abc import Callable, Iterable, Mapping
from time import monotonic
from typing import Any, Self

from rich import progress as bars
from rich.console import Console
from rich.table import Column
from rich.text import Text

from milpcb.core.decimals import spaced
from milpcb.core.text import escaped
from milpcb.errors import InputError
from milpcb.experiments.study.cells import Task

REFRESHES = 4  # of the bars, a second
LINE_EVERY = 1.0  # seconds between two plain lines
SHOWN_FAILURES = 10  # as many failures are written at once; the rest is counted
NARROW = 80  # columns; a narrower terminal has no room for bars and costs
MIN_SECONDS = 1.0  # of play before a time left is estimated


class _TextOf(bars.ProgressColumn):
    def __init__(self, text: Callable[[bars.Task], str], **column: Any) -> None:
        super().__init__(Column(no_wrap=True, **column))
        self._text = text

    def render(self, task: bars.Task) -> Text:
        """Return the text of one bar."""
        return Text(self._text(task))


class Progress:
    """Counts the tasks of a run, around which it is a context manager, and shows nothing but remarks: mode "quiet".

    There is a bar for all rounds, and one for each task at play, which know their pace of the last half minute.
    """

    def __init__(self, console: Console) -> None:
        self.console = console
        self.total = self.ended = self.failed = 0
        self._pending: dict[str, Task] = {}
        self._playing: dict[str, bars.Task] = {}
        self._known: dict[str, bool] = {}  # whether a task of each kind has played: of a learner, or of what is best
        self._began, self._first = monotonic(), 0.0
        narrow = console.width < NARROW
        columns = [
            _TextOf(lambda bar: bar.description, overflow="ellipsis", ratio=1),
            *([] if narrow else [bars.BarColumn(20)]),
            _TextOf(lambda bar: f"{spaced(bar.completed)}/{spaced(bar.total or 0)}", justify="right"),
            _TextOf(lambda bar: f"{spaced(bar.speed or 0.0, '.0f')}/s", justify="right"),
            _TextOf(lambda bar: "" if narrow else str(bar.fields["cost"]), justify="right"),
            _TextOf(self._time, justify="right"),
        ]
        self._bars = bars.Progress(
            *columns, console=console, refresh_per_second=REFRESHES, get_time=monotonic, expand=True
        )
        self._all = self._bar("", 0)
        self._all.visible = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        return None

    def start(self, tasks: Iterable[Task]) -> None:
        """Add tasks that this run will play."""
        new = {task.key: task for task in tasks}
        self._began = self._began if self.total else monotonic()
        self._pending |= new
        self.total += len(new)
        self._known = dict.fromkeys(map(_kind, new.values()), False) | self._known
        self._all.visible = self.total > 0
        self._count(sum(task.horizon for task in new.values()))

    def note(self, at: Mapping[str, Any]) -> None:
        """Note the position that a playing task reports; that of another task is left aside."""
        if task := self._pending.get(at["key"]):
            if task.key not in self._playing:
                self._playing[task.key] = self._bar(task.title, task.horizon, at["first"])
                self._count(-at["first"])  # they were played by an earlier run
            self._play(self._playing[task.key], at["round"])
            self._playing[task.key].fields["cost"] = f"cost {spaced(at['cost'], '.1f')}"
            self._known[_kind(task)] = True

    def done(self, task: Task, failure: str | None) -> None:
        """Note that a task has ended, and why it failed if it did."""
        self._pending.pop(task.key, None)
        self.ended += 1
        self.failed += failure is not None
        self._known[_kind(task)] = True
        bar = self._playing.pop(task.key, None) or self._bar("", task.horizon)
        if failure is None:
            self._play(bar, task.horizon)
        self._bars.remove_task(bar.id)
        self._count(-int(bar.remaining or 0))  # rounds that are never played

    def remark(self, line: str) -> None:
        """Show one line on the whole run, on standard error: standard output may be read by a program."""
        sys.stderr.write(f"{escaped(line)}\n")
        sys.stderr.flush()

    def seconds_left(self) -> float | None:
        """Return the time left at the pace so far, no less than that of any playing task; None while it is not known.

        That is until each learner has played, or twice as many tasks have ended as there are learners.
        """
        unknown = not all(self._known.values()) and self.ended < 2 * len(self._known)
        if unknown or monotonic() < self._first + MIN_SECONDS or (whole := self._all.time_remaining) is None:
            return None
        return max(whole, *(bar.time_remaining or 0.0 for bar in self._bars.tasks))

    def _bar(self, description: str, total: int, completed: int = 0) -> bars.Task:
        number = self._bars.add_task(description, total=total, completed=completed, cost="")
        return next(bar for bar in self._bars.tasks if bar.id == number)

    def _play(self, bar: bars.Task, until: int) -> None:
        """Go on to a round of a task, which are rounds of the run, too."""
        self._first = self._first or monotonic()
        played = until - bar.completed
        self._bars.update(bar.id, advance=played)
        self._bars.update(self._all.id, advance=played)

    def _count(self, rounds: int) -> None:
        """Add rounds to those of the run."""
        self._all.total = (self._all.total or 0) + rounds
        failed = f", {spaced(self.failed)} failed" if self.failed else ""
        self._all.description = f"{spaced(self.ended)}/{spaced(self.total)} tasks{failed}"

    def _time(self, bar: bars.Task) -> str:
        so_far = span(monotonic() - self._began)
        if bar is not self._all:
            return ""
        if self.ended == self.total:
            return f"in {so_far}"
        left = self.seconds_left()
        return f"{so_far} so far" if left is None else f"{span(left)} left"


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
            count = f"{spaced(self.ended)}/{spaced(self.total)}"
            self.console.print(f"{count} {task.title}{self._outcome(failure)}", soft_wrap=True)

    def _outcome(self, failure: str | None) -> str:
        if failure is not None:
            return f": FAILED: {failure}"
        left = self.seconds_left()
        return "" if left is None or self.ended == self.total else f" ({span(left)} of play left)"


class Live(Progress):
    """Bars on a terminal, drawn four times a second; when all is over, that of the whole run stays."""

    def __enter__(self) -> Self:
        self._bars.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        for bar in self._playing.values():
            bar.visible = False
        self._bars.stop()


MODES: dict[str, type[Progress]] = {"live": Live, "plain": Plain, "quiet": Progress}


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
