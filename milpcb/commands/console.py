"""Where the commands print, and the pictures that several of them make."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

if TYPE_CHECKING:
    from milpcb.experiments.results.figures.results import Results

out = Console(highlight=False, soft_wrap=True, markup=False)  # names and paths may hold brackets
err = Console(highlight=False, soft_wrap=True, markup=False, stderr=True)


def draw(results: Results, names: Sequence[str], directory: Path) -> list[Path]:
    """Write figures by their names as pictures and return their paths."""
    from milpcb.experiments.results import figures
    from milpcb.experiments.results.figures.drawing import render
    from milpcb.experiments.results.store import write_file

    return [
        write_file(directory / f"{drawing.name}.{suffix}", content)
        for drawing in figures.draw(results, names)
        for suffix, content in render(drawing.figure).items()
    ]


def print_remarks(directory: Path) -> None:
    """Print on standard error what is damaged in a run directory, and which versions differ, a line each."""
    from milpcb.experiments.results.store import remarks

    for line in remarks(directory):
        err.print(line)
