"""``milpcb plot``: regret curves of run directories."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from milpcb.commands.console import draw, out


@click.command()
@click.argument("directories", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--loglog", is_flag=True, help="Both axes logarithmic: the slope is the exponent of T.")
@click.option("--out", "target", type=click.Path(path_type=Path), help="Folder for the pictures [default: the first].")
def plot(directories: tuple[Path, ...], loglog: bool, target: Path | None) -> None:
    """Draw the regret curves of one or more run DIRECTORIES on the same axes."""
    from dataclasses import replace

    from milpcb.experiments.curves import read_curves

    names = _short_names(directories)
    rows = [
        replace(row, learner=f"{name}: {row.learner}" if len(names) > 1 else row.learner)
        for name, path in zip(names, directories, strict=True)
        for row in read_curves(path)
    ]
    for picture in draw(rows, target or directories[0], ", ".join(names), loglog=loglog):
        out.print(f"picture: {picture}")


def _short_names(directories: Sequence[Path]) -> list[str]:
    """Return the last part of each path, or the whole paths where that does not tell them apart."""
    names = [path.resolve().name for path in directories]
    return names if len(set(names)) == len(names) else [str(path) for path in directories]
