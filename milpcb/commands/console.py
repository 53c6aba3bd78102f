"""Output of the commands, and the progress of long ones: a bar on a terminal, lines elsewhere."""

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from time import monotonic

import click
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from milpcb.core import long_search
from milpcb.core.text import encodable, escaped
from milpcb.errors import InputError

PATH = click.Path(path_type=Path)  # the type of arguments and options that are paths
LAYOUT = "\n\t"  # the control characters that our own output is made with


class PlainConsole(Console):
    """A console that shows control characters of names and paths as text, and falls silent at a broken pipe."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Render as any console does, with control characters in strings made visible."""
        for segment in super().render(renderable, options):
            text = encodable(escaped(segment.text, LAYOUT), self.encoding)
            yield segment if segment.control else Segment(text, segment.style)

    def on_broken_pipe(self) -> None:
        """Print nothing from now on."""
        self.quiet = True
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


# Names and paths may hold brackets, so there is no markup.
console = partial(PlainConsole, highlight=False, soft_wrap=True, markup=False, emoji=False)
out, err = console(), console(stderr=True)


def print_notes(notes: Iterable[str], what: str = "note") -> None:
    """Print lines on standard error, each after a word such as "note"."""
    for line in notes:
        err.print(f"{what}: {line}")


def check_ending(path: Path, endings: Sequence[str]) -> str:
    """Return the format of an output file by its ending; raises InputError unless it is one of ``endings``."""
    kind = path.suffix.lstrip(".").lower()
    if kind not in endings:
        use = " or ".join(f".{ending}" for ending in endings)
        raise InputError(f"cannot write '{path.name}': the ending decides the format, use {use}")
    return kind


Tick = Callable[[int, int], None]  # tick(done, total), as often as one likes


@contextmanager
def step(console: Console, what: str) -> Iterator[Tick]:
    """Show the progress of ``what``; in lines, its text after the first comma is written once."""
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    bars, began = Progress(*columns, console=console, transient=True, get_time=monotonic), monotonic()
    number = bars.add_task(what, total=None)  # moves without end until a total is known
    bar, moves = bars.tasks[0], console.is_terminal and not console.is_dumb_terminal

    def tick(done: int, total: int) -> None:
        if done < bar.completed:  # another count, of another pace
            bars.reset(number)
        bars.update(number, completed=done, total=total)

    def write() -> None:
        left = bar.time_remaining
        so_far = f"{bar.percentage:.0f} %, {span(left)} left" if left else f"{span(monotonic() - began)} so far"
        console.print(f"{bar.description}: {so_far}")
        bar.description = what.partition(",")[0]

    with bars if moves else long_search.repeated(write):
        yield tick
    if not moves and monotonic() - began > long_search.FIRST:
        console.print(f"{bar.description}: done in {span(monotonic() - began)}")


def span(seconds: float) -> str:
    """Return a duration in its two largest units; an estimate of hours is not precise to the second."""
    whole = max(1, round(seconds))
    for unit, size, lesser, part in (("d", 86400, "h", 3600), ("h", 3600, "min", 60), ("min", 60, "s", 1)):
        if whole >= size:
            return f"{whole // size} {unit} {whole % size // part} {lesser}"
    return f"{whole} s"
