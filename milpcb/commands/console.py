"""Where the commands print, and the pictures that several of them make."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

if TYPE_CHECKING:
    from milpcb.experiments.curves import Row

out = Console(highlight=False, soft_wrap=True, markup=False)  # names and paths may hold brackets


def draw(rows: list[Row], directory: Path, title: str, *, loglog: bool) -> list[Path]:
    """Write the regret curves as pictures and return their paths."""
    from milpcb.experiments.plots import regret_figure, render
    from milpcb.experiments.store import write_file

    name = "regret_loglog" if loglog else "regret"
    pictures = render(regret_figure(rows, title, loglog=loglog))
    return [write_file(directory / f"{name}.{suffix}", content) for suffix, content in pictures.items()]
