"""``milpcb run`` and ``resume``: play a study, and go on; ``plot`` and ``report``: its figures, and the page on it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.box import SIMPLE_HEAD
from rich.measure import Measurement
from rich.table import Table

from milpcb.commands.console import PATH, console, err, out, step
from milpcb.core.decimals import spaced
from milpcb.core.files import contents, write_file
from milpcb.errors import InputError, MilpcbError, RunError
from milpcb.experiments.results.store import CONFIG, RunDirectory, read_index, remarks
from milpcb.experiments.study.cells import build_study
from milpcb.experiments.study.config import read_config
from milpcb.experiments.study.sections import Config

if TYPE_CHECKING:
    from milpcb.experiments.results.figures.results import Results
    from milpcb.experiments.run.runner import Failed


MODES = ("live", "quiet")
MOST_SHOWN = 10  # failed cells
KINDS = ("png", "svg", "pdf")
PAGE = "html"
Picture = tuple[Path, bytes, str]  # path, bytes, caption


@click.command()
@click.argument("config", type=PATH)
@click.option("--out", "directory", type=PATH, help="Run directory [default: runs/NAME].")
@click.option("--dry-run", is_flag=True, help="Check the config and count its cells, without playing.")
@click.option("--backend", help="serial, processes or dask [default: processes for several cells on several cores].")
@click.option("--workers", type=click.IntRange(min=1), help="Number of cells at a time [default: one a core].")
@click.option("--progress", type=click.Choice(MODES), default="live", help="Whether progress and results are shown.")
def run(
    config: Path, directory: Path | None, dry_run: bool, backend: str | None, workers: int | None, progress: str
) -> None:
    """Run the experiment of a TOML CONFIG: every cell of its grid, curves, pictures, summary.

    Running again into the same directory plays only cells that are not finished, or whose settings have changed.
    """
    settings = read_config(config)
    target = directory or Path(settings.run.out or f"runs/{settings.experiment.name}")
    if dry_run:
        _dry_run(settings, target)
        return
    execute(settings, target, backend, workers, progress)


def _dry_run(config: Config, path: Path) -> None:
    study = build_study(config)
    finished, lines = RunDirectory(path).held(study.cells)
    table = Table("learner", "cells", "finished", "rounds", box=SIMPLE_HEAD)
    for label in dict.fromkeys(cell.learner.label for cell in study.cells):
        own = [cell for cell in study.cells if cell.learner.label == label]
        done, rounds = sum(cell.key in finished for cell in own), sum(cell.horizon for cell in own)
        table.add_row(label, spaced(len(own)), spaced(done), spaced(rounds))
    for part in (*lines, table):
        out.print(part)
    out.print(f"{len(study.cells)} cells, of which {len(finished)} are finished in {path}")
    out.print(f"beside them the best policy in hindsight, {len(study.comparators)} times")


def execute(config: Config, path: Path, backend: str | None, workers: int | None, mode: str) -> None:
    """Run a config into a directory, draw and report; at an interrupt raises MilpcbError with the cells kept."""
    from milpcb.experiments.run.runner import run as run_all

    directory = RunDirectory(path)
    config = replace(config, run=replace(config.run, workers=workers or config.run.workers))
    try:
        with nullcontext(lambda *_: None) if mode == "quiet" else step(err, "the study") as tick:
            failed = run_all(config, directory, backend, tick, err.print)
    except KeyboardInterrupt as error:
        cells = build_study(config).cells
        kept = len(RunDirectory(path).held(cells)[0])
        raise MilpcbError(
            f"interrupted: {kept} of {len(cells)} curves are kept in {path}; the same command goes on from there"
        ) from error
    _report(path, failed, quiet=mode == "quiet")
    for task, message in failed[:MOST_SHOWN]:
        err.print(f"failed: {task.title}: {message}")
    if failed:
        more = f", of which {MOST_SHOWN} are shown" if len(failed) > MOST_SHOWN else ""
        raise MilpcbError(
            f"{len(failed)} of the cells failed{more}; the others are kept in {path}, the reasons in {path / 'logs'}: "
            "fix them and run again"
        )


def _report(path: Path, failed: Failed, *, quiet: bool) -> None:
    from milpcb.experiments.results.curves import CSV
    from milpcb.experiments.results.figures import draw
    from milpcb.experiments.results.figures.drawing import render
    from milpcb.experiments.results.figures.results import read_results
    from milpcb.experiments.results.report import summary_table

    with nullcontext() if quiet else step(err, "the pictures"):
        try:
            results = read_results(path)
        except RunError:
            if failed:
                return
            raise
        pictures = [
            write_file(path / f"{drawing.name}.{suffix}", content)
            for drawing in draw(results, ["regret"])
            for suffix, content in render(drawing.figure).items()
        ]
    if quiet:
        return
    table = summary_table(results, out.width if out.is_terminal else None)
    # As wide as it is: numbers are not cut off where the terminal is narrow.
    width = max(out.width, Measurement.get(out, out.options.update(max_width=1000), table).maximum)
    console(width=width).print(table)
    first = min(read_index(path)["comparators"], key=lambda comparator: comparator["seed"])
    policy = path / f"{first['file']}.txt"
    if policy.exists():
        out.print(f"{first['title'].replace(', seed', ' (seed')}):")
        out.print(contents(policy).decode("utf-8", "replace"))
    out.print(f"curves: {path / CSV}")
    out.print(f"picture: {pictures[0]}")


@click.command()
@click.argument("directory", type=PATH)
@click.option("--backend", help="serial, processes or dask [default: as in the run's config].")
@click.option("--workers", type=click.IntRange(min=1), help="Number of cells at a time [default: one a core].")
@click.option("--progress", type=click.Choice(MODES), default="live", help="Whether progress and results are shown.")
@click.option("--trust", is_flag=True, help="Take the classes, files and schedulers that DIRECTORY's config names.")
def resume(directory: Path, backend: str | None, workers: int | None, progress: str, trust: bool) -> None:
    """Finish the run in DIRECTORY, with the config that it holds; cells go on from their saved states.

    Classes ("module:Class"), files of data and schedulers that the config names are taken only with --trust.
    """
    from milpcb.experiments.run.runner import read_run

    if not (directory / CONFIG).exists():
        raise RunError(f"{directory} holds no run to go on with (no {CONFIG}); begin one with milpcb run CONFIG")
    RunDirectory(directory)
    execute(read_run(directory, trust=trust), directory, backend, workers, progress)


# ------------------------------------------------------------------- figures and pages


@click.command()
@click.argument("directories", nargs=-1, required=True, type=PATH)
@click.option("--figure", "figures", multiple=True, help="Name, or all for those that apply [default: regret].")
@click.option("--learners", help="Labels of the learners to draw, separated by commas.")
@click.option("--format", "formats", multiple=True, type=click.Choice(KINDS), help="File format [default: png, svg].")
@click.option("--interactive", is_flag=True, help="Interactive .html pages, with values under the pointer.")
@click.option("--width", type=click.FloatRange(2, 20), help="For a paper: width in inches, without a title.")
@click.option("--font-size", type=click.FloatRange(6, 20), help="For a paper: points of small letters [default: 8].")
@click.option("--xlabel", help="For a paper: label of the horizontal axes.")
@click.option("--ylabel", help="For a paper: label of the vertical axes.")
@click.option("--out", "target", type=PATH, help="Folder, or .png, .svg, .pdf or .html [default: the first directory].")
def plot(directories: tuple[Path, ...], figures: tuple[str, ...], target: Path | None, **form: Any) -> None:
    """Draw one or more run DIRECTORIES on the same axes: regret curves, or other figures by name.

    There are regret, finals (regret at T), times, horizons (regret against T) and others: milpcb list figures shows
    all. With --width, --font-size or a label figures are drawn for a paper: 3.4 inches wide, letters as text in svg
    and pdf, and words for the caption on standard output.
    """
    form["paper"] = any(form[name] is not None for name in ("width", "font_size", "xlabel", "ylabel"))
    if form["interactive"] and (form["formats"] or form["paper"]):
        raise InputError("--interactive makes pages: leave it out, or --format and the options for a paper")
    for line in (line for directory in directories for line in remarks(directory)):
        err.print(line)
    for path, content, caption in _pictures(_read(directories), figures or ("regret",), target or directories[0], form):
        out.print(f"picture: {write_file(path, content)}")
        if caption:
            out.print(f"caption: {caption}")


def _pictures(results: Results, names: Sequence[str], target: Path, form: Mapping[str, Any]) -> Iterator[Picture]:
    from milpcb.experiments.results import figures
    from milpcb.experiments.results.figures.drawing import FORMATS, render
    from milpcb.experiments.results.figures.forms import LETTERS, WIDTH, draw_for, interactive_page, only

    for_paper = form["paper"]
    results = only(results, [name.strip() for name in (form["learners"] or "").split(",") if name.strip()])
    kinds = [PAGE] if form["interactive"] else list(form["formats"])
    is_file = target.suffix[1:] in (*KINDS, PAGE) and not target.is_dir()
    kinds = kinds or ([target.suffix[1:]] if is_file else list(FORMATS))
    paper = (form["width"] or WIDTH, form["font_size"] or LETTERS, form["xlabel"], form["ylabel"])
    drawings = list(draw_for(results, names, *paper) if for_paper else figures.draw(results, names))
    if is_file and (len(drawings) > 1 or kinds != [target.suffix[1:]]):
        raise InputError(f"{target} is one file; name one figure and no other --format, or a folder as --out")
    for drawing in drawings:
        caption = drawing.caption if for_paper else ""
        found = (
            {PAGE: interactive_page(drawing, results.styles)}
            if kinds == [PAGE]
            else render(drawing.figure, kinds, caption=caption, dpi=600 if for_paper else 150, as_text=for_paper)
        )
        for number, (kind, content) in enumerate(found.items()):
            yield target if is_file else target / f"{drawing.name}.{kind}", content, caption if number == 0 else ""


def _read(directories: Sequence[Path]) -> Results:
    """Read one directory, or several: parts of one study if their names mean the same, else named by their paths."""
    import polars as pl

    from milpcb.experiments.results.figures.results import Results, joined, read_results

    places = [path.resolve() for path in directories]
    for path, place in zip(directories, places, strict=True):
        if places.count(place) > 1:
            raise InputError(f"{path} is named twice; name each directory once")
    every = [read_results(path) for path in directories]
    if len(every) == 1:
        return every[0]
    if (whole := joined(every)) is not None:
        return whole
    names = [place.name for place in places]
    names = names if len(set(names)) == len(names) else list(map(str, directories))
    frames = [
        results.frame.with_columns(learner=pl.lit(f"{name}: ") + pl.col("learner"))
        for name, results in zip(names, every, strict=True)
    ]
    return Results(pl.concat(frames, how="diagonal"), ", ".join(names))


@click.command()
@click.argument("directory", type=PATH)
@click.option("--out", "target", type=PATH, help="The page [default: DIRECTORY/report.html].")
def report(directory: Path, target: Path | None) -> None:
    """Write the study in DIRECTORY and its results as one HTML page, which needs no network."""
    from milpcb.experiments.results.report import report as page

    for line in remarks(directory):
        err.print(line)
    written = write_file(target or directory / "report.html", page(directory).encode())
    out.print(f"report: {written}")
