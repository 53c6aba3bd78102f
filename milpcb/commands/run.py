"""``milpcb run``: play an experiment."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from milpcb.commands.console import draw, out
from milpcb.errors import MilpcbError

if TYPE_CHECKING:
    from milpcb.experiments.curves import Row


@click.command()
@click.argument("config", type=click.Path(path_type=Path))
@click.option("--out", "directory", type=click.Path(path_type=Path), help="Run directory [default: runs/NAME].")
def run(config: Path, directory: Path | None) -> None:
    """Run the experiment of a TOML CONFIG: curves, pictures, summary.

    Running again into the same directory plays only what is not finished there.
    """
    from milpcb.experiments.config import read_config
    from milpcb.experiments.progress import Bars
    from milpcb.experiments.runner import run as play_all
    from milpcb.experiments.store import RunDirectory

    settings = read_config(config)
    target = RunDirectory(directory or Path(settings.run.out or f"runs/{settings.experiment.name}"), settings)
    try:
        with Bars(out) as bars:
            play_all(settings, target, bars)
    except KeyboardInterrupt as error:
        total = len(settings.learners) * len(settings.experiment.seeds)
        raise MilpcbError(
            f"interrupted: {len(target.finished())} of {total} curves are kept in {target.path}; "
            "the same command goes on from there"
        ) from error
    pictures = draw(target.rows, target.path, settings.experiment.name, loglog=settings.run.loglog)
    _report(target.rows, target.path, pictures)


def _report(rows: list[Row], directory: Path, pictures: list[Path]) -> None:
    from milpcb.experiments.tables import summary

    out.print(summary(rows))
    first = min(row.seed for row in rows)
    policy = directory / f"best_policy_seed{first}.txt"
    out.print(f"best policy in hindsight (seed {first}):")
    out.print(policy.read_text(encoding="utf-8"))
    out.print(f"curves: {directory / 'curves.csv'}")
    out.print(f"picture: {pictures[0]}")
