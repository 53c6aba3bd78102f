"""``milpcb schema``: what editors need to complete and check a config."""

from __future__ import annotations

import json

import click

HELP = """Print the JSON schema of a config.

Editors that know TOML (Even Better TOML in Visual Studio Code, the plug-in of JetBrains) then complete keys, show what
they mean, and mark wrong ones. Keep it beside the config, and name it in the config's first line:

\b
  milpcb schema > study.schema.json
  #:schema ./study.schema.json
"""


@click.command(help=HELP)
def schema() -> None:
    """Print the JSON schema of a config."""
    from milpcb.experiments.study.schema import schema as of_config

    click.echo(json.dumps(of_config(), indent=2))
