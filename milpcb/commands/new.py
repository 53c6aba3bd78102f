"""``milpcb new`` and ``milpcb schema``: working files to start from, and the schema by which editors check a config."""

import json
from pathlib import Path

import click

from milpcb.commands.console import PATH, out
from milpcb.core.files import make_folder
from milpcb.errors import InputError, RunError

# A folder for each kind with the files that are written, each with .txt at its end: programs of a user, not of ours.
STARTERS = Path(__file__).parent.parent / "starters"
NEXT = {
    "study": "milpcb run study.toml",
    "class": "milpcb run bands.toml",
    "learner": "milpcb run ftl.toml",
    "environment": "milpcb run my_world.toml",
    "solver": "pip install -e . && milpcb run my_solver.toml",
}
NEW_HELP = """Write working files to start from into FOLDER.

That is the current one by default; no file is ever replaced.

\b
  study        a config with four learners
  class        a policy class, and a study of it
  learner      a learner, and a study of it
  environment  an environment, and a study of it
  solver       a solver as a package of its own, and a study that asks it
"""


@click.command(help=NEW_HELP)
@click.argument("kind", type=click.Choice(list(NEXT)))
@click.argument("folder", type=PATH, default=".")
def new(kind: str, folder: Path) -> None:
    """Write working files to start from."""
    files = {path.stem: path.read_bytes() for path in sorted((STARTERS / kind).glob("*.txt"))}
    if taken := [name for name in files if (folder / name).exists() or (folder / name).is_symlink()]:
        raise InputError(f"{folder / taken[0]} is there already; nothing was written: name another folder")
    make_folder(folder)
    for name, content in files.items():
        try:
            with (folder / name).open("xb") as file:
                file.write(content)
        except OSError as error:
            raise RunError(f"cannot write {folder / name}: {error.strerror}") from error
        out.print(f"wrote {folder / name}")
    inside = "" if folder == Path() else f"cd {folder} && "
    out.print(f"next: {inside}{NEXT[kind]}")


SCHEMA_HELP = """Print the JSON schema of a config.

Editors that know TOML (Even Better TOML in Visual Studio Code, the plug-in of JetBrains) then complete keys, show what
they mean, and mark wrong ones. Keep it beside the config, and name it in the config's first line:

\b
  milpcb schema > study.schema.json
  #:schema ./study.schema.json
"""


@click.command(help=SCHEMA_HELP)
def schema() -> None:
    """Print the JSON schema of a config."""
    from milpcb.experiments.study.options import schema as of_config

    click.echo(json.dumps(of_config(), indent=2))
