"""``milpcb list``: every name that a config may use."""

from __future__ import annotations

import click
from rich.table import Table

from milpcb import registry
from milpcb.commands.console import out


@click.command("list")
def list_names() -> None:
    """Show every name that a config may use, with its options."""
    from milpcb.experiments.study.config import SUPPLIED
    from milpcb.experiments.study.options import option_names

    table = Table("kind", "name", "options")
    for kind in registry.BUILTIN:
        for name in registry.names(kind):
            options = (
                option_names(registry.load(kind, name), SUPPLIED[kind]) if kind in SUPPLIED and kind != "oracle" else []
            )
            table.add_row(kind, name, ", ".join(options))
    out.print(table)
