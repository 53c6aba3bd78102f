"""``milpcb report``: a whole study on one page."""

from __future__ import annotations

from pathlib import Path

import click

from milpcb.commands.console import out, print_remarks


@click.command()
@click.argument("directory", type=click.Path(path_type=Path))
@click.option("--out", "target", type=click.Path(path_type=Path), help="The page [default: DIRECTORY/report.html].")
def report(directory: Path, target: Path | None) -> None:
    """Write what was run in DIRECTORY and what came out as one HTML page, which needs no network."""
    from milpcb.core.files import write_file
    from milpcb.experiments.results.report import report as page

    print_remarks(directory)
    written = write_file(target or directory / "report.html", page(directory).encode())
    out.print(f"report: {written}")
