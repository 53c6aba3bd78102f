"""Progress on a terminal: a bar with rounds per second and time left; plain lines elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, Task, TextColumn, TimeRemainingColumn
from rich.text import Text

EVERY = 0.1  # seconds between two refreshes: the hot loop pays a clock read, not a redraw


class Bars:
    """Shows one bar per task; outside a terminal it prints a line when a task starts."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._bars = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            _Rate(),
            TimeRemainingColumn(),
            console=console,
            disable=not console.is_terminal,
        )

    def __enter__(self) -> Bars:
        self._bars.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bars.stop()

    def start(self, description: str, total: int) -> Callable[[int], None]:
        """Begin a task of ``total`` rounds; return what to call with the number of rounds done."""
        if not self._console.is_terminal:
            self._console.print(f"{description}: {total:,} rounds")
        task = self._bars.add_task(description, total=total)
        due = 0.0

        def tick(done: int) -> None:
            nonlocal due
            now = monotonic()
            if now >= due or done == total:
                due = now + EVERY
                self._bars.update(task, completed=done)

        return tick


class _Rate(ProgressColumn):
    def render(self, task: Task) -> Text:
        """Return rounds per second."""
        speed = task.finished_speed or task.speed
        return Text(f"{speed:,.0f} rounds/s" if speed else "")
