"""``milpcb solvers``: what can run here."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click
from rich.table import Table

from milpcb.commands.console import out

if TYPE_CHECKING:
    from milpcb.protocols import SolverInfo


@click.command()
@click.option("--all", "every", is_flag=True, help="Also a line for each solver that cannot run here, with the reason.")
def solvers(*, every: bool) -> None:
    """Show which solvers can run here, and how to install the others."""
    from milpcb.solvers import describe_all

    known = describe_all()
    table = Table("solver", "version", "can do", "runs here")
    for info in known:
        if every or not info.missing:
            table.add_row(info.name, info.version, info.can, f"no: {info.missing}" if info.missing else "yes")
    out.print(table)
    for line in [] if every else missing(known):
        out.print(line)


def missing(known: list[SolverInfo]) -> Iterator[str]:
    """Yield a line for all missing solvers that extras install, and one for each other family with missing ones."""
    extras = [info.extra for info in known if info.missing and info.extra]
    if extras:
        install = f"pip install '.[{','.join(extras)}]' in the clone"
        yield f"not here: {', '.join(extras)}; {install}, or those of them you want"
    families: dict[str, list[SolverInfo]] = {}
    for info in known:
        if info.missing and not info.extra:
            families.setdefault(info.name.partition(":")[0], []).append(info)
    for family, missing in families.items():
        if len(missing) == 1:
            yield f"not here: {missing[0].name} ({missing[0].missing})"
            continue
        names = ", ".join(info.name.partition(":")[2] for info in missing)
        yield f"not here: {family}:NAME for {names}; install NAME where {family} finds it (milpcb solvers --all: why)"
