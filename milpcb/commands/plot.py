"""``milpcb plot`` and ``milpcb report``: the figures of run directories, and a whole study on one page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from milpcb.commands.console import PATH, out, print_remarks
from milpcb.core.files import write_file
from milpcb.errors import InputError

if TYPE_CHECKING:
    from milpcb.experiments.results.figures.results import Results


KINDS = ("png", "svg", "pdf")
PAGE = "html"
Picture = tuple[Path, bytes, str]  # path, bytes, caption


@click.command()
@click.argument("directories", nargs=-1, required=True, type=PATH)
@click.option("--figure", "figures", multiple=True, help="Its name, or all for those that apply [default: regret].")
@click.option("--learners", help="Only these, by their labels, separated by commas.")
@click.option("--format", "formats", multiple=True, type=click.Choice(KINDS), help="Of the files [default: png, svg].")
@click.option("--interactive", is_flag=True, help="Pages to click on, with values under the pointer, as .html files.")
@click.option("--width", type=click.FloatRange(2, 20), help="For a paper: so many inches wide, without a title.")
@click.option("--font-size", type=click.FloatRange(6, 20), help="For a paper: of the smallest letters [default: 8].")
@click.option("--xlabel", help="For a paper: label of the horizontal axes.")
@click.option("--ylabel", help="For a paper: label of the vertical axes.")
@click.option(
    "--out",
    "target",
    type=PATH,
    help="Folder for the pictures, or a file that ends in .png, .svg, .pdf or .html [default: the first directory].",
)
def plot(directories: tuple[Path, ...], figures: tuple[str, ...], target: Path | None, **form: Any) -> None:
    """Draw one or more run DIRECTORIES on the same axes: regret curves, or other figures by name.

    There are regret, finals (regret at T), times, horizons (regret against T) and others: milpcb list figures shows
    all. With --width, --font-size or a label figures are drawn for a paper: 3.4 inches wide, letters as text in svg
    and pdf, what lines and bands are on standard output for the caption.
    """
    if form["interactive"] and (form["formats"] or _is_for_paper(form)):
        raise InputError("--interactive makes pages: leave out --format and what is for a paper, or --interactive")
    for directory in directories:
        print_remarks(directory)
    for path, content, caption in _pictures(_read(directories), figures or ("regret",), target or directories[0], form):
        out.print(f"picture: {write_file(path, content)}")
        if caption:
            out.print(f"caption: {caption}")


def _is_for_paper(form: Mapping[str, Any]) -> bool:
    return any(form[name] is not None for name in ("width", "font_size", "xlabel", "ylabel"))


def _pictures(results: Results, names: Sequence[str], target: Path, form: Mapping[str, Any]) -> Iterator[Picture]:
    """Yield each picture: its path, its bytes, and the caption of a figure for a paper, with the first of its files.

    Raises InputError where several pictures would go into one file.
    """
    from milpcb.experiments.results import figures
    from milpcb.experiments.results.figures.drawing import FORMATS, render
    from milpcb.experiments.results.figures.forms import LETTERS, WIDTH, PaperForm, draw_for, interactive_page, only

    for_paper = _is_for_paper(form)
    results = only(results, [name.strip() for name in (form["learners"] or "").split(",") if name.strip()])
    kinds = [PAGE] if form["interactive"] else list(form["formats"])
    is_file = target.suffix[1:] in (*KINDS, PAGE) and not target.is_dir()
    kinds = kinds or ([target.suffix[1:]] if is_file else list(FORMATS))
    paper = PaperForm(form["width"] or WIDTH, form["font_size"] or LETTERS, form["xlabel"], form["ylabel"])
    drawings = list(draw_for(paper, results, names) if for_paper else figures.draw(results, names))
    if is_file and (len(drawings) > 1 or kinds != [target.suffix[1:]]):
        raise InputError(f"{target} is one file; name one figure and no other --format, or a folder as --out")
    for drawing in drawings:
        caption = drawing.caption if for_paper else ""
        found = (
            {PAGE: interactive_page(drawing, results.looks)}
            if kinds == [PAGE]
            else render(drawing.figure, kinds, caption=caption, dpi=600 if for_paper else 150, as_text=for_paper)
        )
        for number, (kind, content) in enumerate(found.items()):
            yield target if is_file else target / f"{drawing.name}.{kind}", content, caption if number == 0 else ""


def _read(directories: Sequence[Path]) -> Results:
    """Read one directory, or several into one frame.

    Where the configs mean the same by all names that they share, several are parts of one study, such as its horizons;
    else learners' names begin with the last parts of their paths, or with whole paths where last parts are equal.
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
    """Write what was run in DIRECTORY and what came out as one HTML page, which needs no network."""
    from milpcb.experiments.results.report import report as page

    print_remarks(directory)
    written = write_file(target or directory / "report.html", page(directory).encode())
    out.print(f"report: {written}")
