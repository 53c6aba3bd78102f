"""``milpcb solvers``: what can run here."""

from __future__ import annotations

import click
from rich.table import Table

from milpcb.commands.console import out


@click.command()
def solvers() -> None:
    """Show which solvers can run here, and why the others cannot."""
    from milpcb.solvers import describe_all

    table = Table("solver", "version", "can do", "runs here")
    for info in describe_all():
        table.add_row(info.name, info.version, info.can, f"no: {info.missing}" if info.missing else "yes")
    out.print(table)
    out.print(
        "to install: pip install 'milpcb[scip]' for scip; for pulp:NAME, install NAME where PuLP finds it",
        markup=False,
    )
