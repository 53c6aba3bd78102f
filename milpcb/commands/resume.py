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
    "--trust", is_flag=True, help="Run classes, read files and connect to schedulers that DIRECTORY's config names."
)
def resume(directory: Path, backend: str | None, workers: int | None, progress: str, trust: bool) -> None:
    """Finish the run in DIRECTORY, with the config that it holds; cells go on from their saved states.

    Classes ("module:Class"), files of data and schedulers that the config names are taken only if you have run the same
    config in DIRECTORY before, or with --trust.
    """
    from milpcb.experiments.results.records import CONFIG
    from milpcb.experiments.results.store import RunDirectory
    from milpcb.experiments.run.trust import read_run

    if not (directory / CONFIG).exists():
        raise RunError(f"{directory} holds no run to go on with (no {CONFIG}); begin one with milpcb run CONFIG")
    RunDirectory(directory)
    execute(with_workers(read_run(directory, trust=trust), workers), directory, backend, progress)
