"""``milpcb list``, ``new`` and ``schema``: names that a config may use, files to start from, the schema for editors."""

import json
import re
from inspect import cleandoc
from pathlib import Path
from typing import Any

import click
from rich.box import SIMPLE
from rich.table import Table

from milpcb.commands.console import PATH, out
from milpcb.core.files import write_file
from milpcb.errors import InputError, UnknownNameError
from milpcb.plugins import injection, registry

PLURALS = {"policies": "policies", "policy": "rules", "battery": "batteries"}
HAVE_OPTIONS = ("policies", "oracle", "learner", "environment", "constraint")


@click.command("list")
@click.argument("name", required=False)
def list_names(name: str | None) -> None:
    """Show every name that a config may use; with NAME, one with its options, or all of a kind such as learner."""
    kinds = {form: kind for kind in registry.KINDS for form in (kind, PLURALS.get(kind, f"{kind}s"))}
    owners = [kind for kind in registry.KINDS if name in registry.entries(kind)]
    if name is None:
        for kind in registry.KINDS:
            out.print(_kind(kind))
        out.print("milpcb list NAME explains one of them, with its options")
    elif name in kinds:
        out.print(_kind(kinds[name]))
    elif owners:
        for kind in owners:
            _explain(kind, name)
    else:
        raise UnknownNameError(
            "name", name, {*kinds, *(one for kind in registry.KINDS for one in registry.entries(kind))}
        )


def _kind(kind: str) -> Table:
    table = Table(
        "name", "what it is", title=f"{kind}: {registry.KINDS[kind].written}", title_justify="left", box=SIMPLE
    )
    for name in registry.entries(kind):
        table.add_row(name, first_sentence(registry.load(kind, name)))
    return table


def first_sentence(entry: Any) -> str:
    """Return the first sentence of an entry's own documentation, without its markup and its full stop."""
    text = " ".join((entry.help or "").split()) if isinstance(entry, click.Command) else injection.summary(entry)
    return re.split(r"\.(?=\s+[A-Z]|\s*$)", text.replace("``", ""), maxsplit=1)[0]


def _explain(kind: str, name: str) -> None:
    entry = registry.load(kind, name)
    out.print(f"{name}: {first_sentence(entry)}")
    out.print(f"written: {registry.KINDS[kind].written} " + (name if kind in {"figure", "command"} else f'= "{name}"'))
    if kind in HAVE_OPTIONS:
        options = injection.options(entry, registry.KINDS[kind].supplied)
        out.print(f"options: {', '.join(map(str, options.values())) or 'none'}")
        out.print(f"\n{cleandoc(entry.__doc__ or '')}")


# ------------------------------------------------------------------- files to start from

# A folder for each kind with the files that are written, each with .txt at its end: programs of a user, not of ours.
STARTERS = Path(__file__).parent.parent / "starters"
# Of each kind a description, and the command that comes next.
FILES = {
    "study": ("a config with four learners", "milpcb run study.toml"),
    "class": ("a policy class, and a study of it", "milpcb run bands.toml"),
    "learner": ("a learner, and a study of it", "milpcb run ftl.toml"),
    "environment": ("an environment, and a study of it", "milpcb run my_world.toml"),
    "solver": ("a solver as a package, and a study that uses it", "pip install -e . && milpcb run my_solver.toml"),
}


@click.command(epilog="\n".join(["\b", *(f"  {kind:<11}  {what}" for kind, (what, _) in FILES.items())]))
@click.argument("kind", type=click.Choice(list(FILES)))
@click.argument("folder", type=PATH, default=".")
def new(kind: str, folder: Path) -> None:
    """Write working files to start from into FOLDER.

    FOLDER is the current one by default; no file is ever replaced.
    """
    files = {path.stem: path.read_bytes() for path in sorted((STARTERS / kind).glob("*.txt"))}
    if taken := [name for name in files if (folder / name).exists() or (folder / name).is_symlink()]:
        raise InputError(f"{folder / taken[0]} is there already; nothing was written: name another folder")
    for name, content in files.items():
        out.print(f"wrote {write_file(folder / name, content)}")
    inside = "" if folder == Path() else f"cd {folder} && "
    out.print(f"next: {inside}{FILES[kind][1]}")


NAMED = """\b
  milpcb schema > study.schema.json
  #:schema ./study.schema.json
"""


@click.command(epilog=NAMED)
def schema() -> None:
    """Print the JSON schema of a config.

    Editors that know TOML (Even Better TOML in Visual Studio Code, the plug-in of JetBrains) then complete keys, show
    what they mean, and mark wrong ones. Keep it beside the config, and name it in the config's first line, as below.
    """
    from milpcb.experiments.study.schema import schema as of_config

    click.echo(json.dumps(of_config(), indent=2))
