"""``milpcb resume``: go on with a run that was interrupted."""

from __future__ import annotations

from pathlib import Path

import click

from milpcb.commands.run import MODES, execute, with_workers
from milpcb.errors import RunError


@click.command()
@click.argument("directory", type=click.Path(path_type=Path))
@click.option("--backend", help="serial, processes or dask [default: as the run's config says].")
@click.option("--workers", type=click.IntRange(min=1), help="How many cells at a time [default: one a core].")
@click.option("--progress", type=click.Choice(MODES), default="live", help="How progress is shown.")
def resume(directory: Path, backend: str | None, workers: int | None, progress: str) -> None:
    """Finish the run in DIRECTORY, with the config that it holds; cells go on from their checkpoints."""
    from milpcb.experiments.results.store import CONFIG, RunDirectory
    from milpcb.experiments.study.config import read_config

    if not (directory / CONFIG).exists():
        raise RunError(f"{directory} holds no run to go on with (no {CONFIG}); begin one with milpcb run CONFIG")
    RunDirectory(directory)
    execute(with_workers(read_config(directory / CONFIG), workers), directory, backend, progress)
