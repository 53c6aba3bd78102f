"""``milpcb plot``: the figures of run directories."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from milpcb.commands.console import out, print_remarks, write_pictures
from milpcb.errors import InputError

if TYPE_CHECKING:
    from milpcb.experiments.results.figures.results import Results


@click.command()
@click.argument("directories", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--loglog", is_flag=True, help="Both axes of the regret curves logarithmic: short for --figure regret_loglog."
)
@click.option("--figure", "figures", multiple=True, help="Its name, or all for those that apply [default: regret].")
@click.option("--out", "target", type=click.Path(path_type=Path), help="Folder for the pictures [default: the first].")
def plot(directories: tuple[Path, ...], loglog: bool, figures: tuple[str, ...], target: Path | None) -> None:
    """Draw one or more run DIRECTORIES on the same axes: regret curves, or other figures by name.

    There are regret, finals (regret at T), times, horizons (regret against T) and others: milpcb list figures shows
    all.
    """
    names = [*figures, *(["regret_loglog"] if loglog else [])] or ["regret"]
    for directory in directories:
        print_remarks(directory)
    for picture in write_pictures(_read(directories), names, target or directories[0]):
        out.print(f"picture: {picture}")


def _read(directories: Sequence[Path]) -> Results:
    """Read one directory, or several into one frame.

    Where the configs mean the same by all names that they share, several are parts of one study, such as its horizons;
    else learners' names begin with those of their directories.
    """
    import polars as pl

    from milpcb.experiments.results.figures.results import Results, joined, read_results

    places = [path.resolve() for path in directories]
    for path, place in zip(directories, places, strict=True):
        if places.count(place) > 1:
            raise InputError(f"{path} is named twice; name each directory once")
    every = [read_results(path) for path in directories]
    if len(every) == 1:
        return every[0]
    names = _short_names(directories)
    whole = joined(every)
    if whole is not None:
        return whole
    frames = [
        results.frame.with_columns(learner=pl.lit(f"{name}: ") + pl.col("learner"))
        for name, results in zip(names, every, strict=True)
    ]
    return Results(pl.concat(frames, how="diagonal"), ", ".join(names))


def _short_names(directories: Sequence[Path]) -> list[str]:
    """Return the last part of each path, or the whole paths where last parts are equal."""
    names = [path.resolve().name for path in directories]
    return names if len(set(names)) == len(names) else [str(path) for path in directories]
