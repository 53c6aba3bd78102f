"""``milpcb run`` and ``milpcb resume``: play an experiment, and go on with a run that was interrupted."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.measure import Measurement

from milpcb.commands.console import PATH, err, out, step
from milpcb.errors import MilpcbError, RunError

if TYPE_CHECKING:
    from milpcb.experiments.run.runner import Failed
    from milpcb.experiments.study.sections import Config


MODES = ("live", "plain", "quiet", "json")
MOST_SHOWN = 10  # failed cells


@click.command()
@click.argument("config", type=PATH)
@click.option("--out", "directory", type=PATH, help="Run directory [default: runs/NAME].")
@click.option("--dry-run", is_flag=True, help="Show the cells and an estimate of the time, and play nothing.")
@click.option(
    "--backend", help="serial, processes or dask [default: processes where there are several cells and cores]."
)
@click.option("--workers", type=click.IntRange(min=1), help="How many cells at a time [default: one a core].")
@click.option("--progress", type=click.Choice(MODES), default="live", help="How progress is shown.")
def run(
    config: Path, directory: Path | None, dry_run: bool, backend: str | None, workers: int | None, progress: str
) -> None:
    """Run the experiment of a TOML CONFIG: every cell of its grid, curves, pictures, summary.

    Running again into the same directory plays only what is not finished there, or has other settings now.
    """
    from milpcb.experiments.study.config import read_config

    settings = read_config(config)
    target = directory or Path(settings.run.out or f"runs/{settings.experiment.name}")
    if dry_run:
        from milpcb.experiments.run.runner import dry_run as parts_of

        for part in parts_of(with_workers(settings, workers), target, backend):
            out.print(part)
        return
    execute(with_workers(settings, workers), target, backend, progress)


def with_workers(config: Config, workers: int | None) -> Config:
    """Return the config with the number of workers that the command line gives."""
    from dataclasses import replace

    return replace(config, run=replace(config.run, workers=workers)) if workers else config


def execute(config: Config, path: Path, backend: str | None, mode: str) -> None:
    """Run a config into a directory, draw and report; raises MilpcbError with what is kept when it is interrupted."""
    from milpcb.experiments.results.store import RunDirectory
    from milpcb.experiments.run.progress import open_progress
    from milpcb.experiments.run.runner import run as run_all
    from milpcb.experiments.study.cells import build_study

    directory = RunDirectory(path)
    try:
        with open_progress(mode, out) as progress:
            failed = run_all(config, directory, progress, backend)
    except KeyboardInterrupt as error:
        cells = build_study(config).cells
        kept = len(RunDirectory(path).held(cells).finished)
        raise MilpcbError(
            f"interrupted: {kept} of {len(cells)} curves are kept in {path}; the same command goes on from there"
        ) from error
    _report(path, failed, quiet=mode in {"quiet", "json"})
    _report_failures(failed, path)


def _report(path: Path, failed: Failed, *, quiet: bool) -> None:
    from milpcb.core.files import contents, write_file
    from milpcb.experiments.results.curves import CSV, load
    from milpcb.experiments.results.figures import draw
    from milpcb.experiments.results.figures.drawing import render
    from milpcb.experiments.results.figures.results import read_results
    from milpcb.experiments.results.records import read_index
    from milpcb.experiments.results.report_table import summary_table

    try:
        load(path)
    except RunError:
        if failed:
            return
        raise
    with nullcontext() if quiet else step(err, "the pictures"):
        results = read_results(path)
        pictures = [
            write_file(path / f"{drawing.name}.{suffix}", content)
            for drawing in draw(results, ["regret"])
            for suffix, content in render(drawing.figure).items()
        ]
    if quiet:
        return
    table, narrow = summary_table(results, out.width if out.is_terminal else None), out.width
    # As wide as it is: numbers are not cut off where the terminal is narrow.
    out.width = max(narrow, Measurement.get(out, out.options.update(max_width=1000), table).maximum)
    out.print(table)
    out.width = narrow
    first = min(read_index(path)["comparators"], key=lambda comparator: comparator["seed"])
    policy = path / f"{first['file']}.txt"
    if policy.exists():
        out.print(f"{first['title'].replace(', seed', ' (seed')}):")
        out.print(contents(policy).decode("utf-8", "replace"))
    out.print(f"curves: {path / CSV}")
    out.print(f"picture: {pictures[0]}")


def _report_failures(failed: Failed, path: Path) -> None:
    """Print one line for each failed cell, and raise the error that ends the command."""
    if not failed:
        return
    for task, message in failed[:MOST_SHOWN]:
        err.print(f"failed: {task.title}: {message}")
    more = f", of which {MOST_SHOWN} are shown" if len(failed) > MOST_SHOWN else ""
    raise MilpcbError(
        f"{len(failed)} of the cells failed{more}; the others are kept in {path}, the reasons in {path / 'logs'}: "
        "fix them and run again"
    )


@click.command()
@click.argument("directory", type=PATH)
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
    from milpcb.experiments.run.runner import read_run

    if not (directory / CONFIG).exists():
        raise RunError(f"{directory} holds no run to go on with (no {CONFIG}); begin one with milpcb run CONFIG")
    RunDirectory(directory)
    execute(with_workers(read_run(directory, trust=trust), workers), directory, backend, progress)
