"""Where the commands print, and the pictures that several of them make."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from milpcb.core.text import encodable, escaped
from milpcb.errors import InputError

LAYOUT = "\n\t"  # the control characters that our own output is made with


class PlainConsole(Console):
    """A console for names, labels and paths that somebody else may have written: none of them can steer the terminal.

    What the terminal's encoding has no letter for is replaced. Where nobody reads on (``milpcb run ... | head -1``)
    it falls silent, and the command goes on.
    """

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
out = PlainConsole(highlight=False, soft_wrap=True, markup=False, emoji=False)
err = PlainConsole(highlight=False, soft_wrap=True, markup=False, emoji=False, stderr=True)


def print_remarks(directory: Path) -> None:
    """Print on standard error what is damaged in a run directory, and which versions differ, a line each."""
    from milpcb.experiments.results.store import remarks

    for line in remarks(directory):
        err.print(line)


def check_ending(path: Path, endings: Sequence[str]) -> str:
    """Return the format by the ending of a path that is to be written; raises InputError where it is none of these."""
    kind = path.suffix.lstrip(".").lower()
    if kind not in endings:
        *first, last = (f".{ending}" for ending in endings)
        use = f"{', '.join(first)} or {last}"
        raise InputError(f"cannot write '{path.name}': the ending decides the format, use {use}")
    return kind
