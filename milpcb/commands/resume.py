"""``milpcb resume``: go on with a run that was interrupted."""

from __future__ import annotations

from pathlib import Path

import click

from milpcb.commands.run import MODES, execute, with_workers
from milpcb.errors import RunError


@click.command()
@click.argument("directory", type=click.Path(path_type=Path))
@click.option("--backend", help="serial, processes or dask [default: as in the run's config].")
@click.option("--workers", type=click.IntRange(min=1), help="How many cells at a time [default: one a core].")
@click.option("--progress", type=click.Choice(MODES), default="live", help="How progress is shown.")
@click.option(
    "--trust", is_flag=True, help="Run classes of DIRECTORY's config that are not installed, wherever it is from."
)
def resume(directory: Path, backend: str | None, workers: int | None, progress: str, trust: bool) -> None:
    """Finish the run in DIRECTORY, with the config that it holds; cells go on from their checkpoints.

    A class that is not installed ("module:Class") runs only if you have run the same config in DIRECTORY before, or
    with --trust.
    """
    from milpcb.experiments.results.layout import CONFIG
    from milpcb.experiments.results.store import RunDirectory, check_config
    from milpcb.experiments.run.trust import check
    from milpcb.experiments.study.config import read_config

    if not (directory / CONFIG).exists():
        raise RunError(f"{directory} holds no run to go on with (no {CONFIG}); begin one with milpcb run CONFIG")
    RunDirectory(directory)
    check_config(directory)
    if not trust:
        check(directory)
    execute(with_workers(read_config(directory / CONFIG), workers), directory, backend, progress)
