"""Whose code a run directory asks for: classes that are not installed run only where this user has run them before.

The config.toml of a run directory may name classes of a folder as ``module:Class``. Whoever made the directory chose
them, and a file of that name may have come along with it. So ``milpcb resume`` runs such a class only if this user has
run the very config.toml, unchanged, in the very directory: ``milpcb run`` and ``milpcb resume --trust`` note that in
``$XDG_STATE_HOME/milpcb/trusted`` (by default ``~/.local/state``), outside the directory. Where no note can be kept,
resume asks for ``--trust`` each time. ``plot`` and ``report`` import no class at all.
"""

from __future__ import annotations

import hashlib
import os
import tomllib
from contextlib import suppress
from pathlib import Path

from milpcb.errors import RunError
from milpcb.experiments.results.layout import CONFIG
from milpcb.experiments.study.fingerprints import class_names, is_installed_file, source_file
from milpcb.files import contents, write_file


def check(directory: Path) -> None:
    """Raise RunError if resuming would run code that is not installed and that this user has not run there before."""
    foreign = foreign_code(directory)
    note = _note(directory)
    if foreign and not (note and note.is_file()):
        name, file = next(iter(foreign.items()))
        more = f" (and {len(foreign) - 1} more)" if len(foreign) > 1 else ""
        raise RunError(
            f"{directory / CONFIG} names {name}{more}, which would run {file}, "
            f"and you have not run that config there before: read that file, then milpcb resume {directory} --trust"
        )


def remember(directory: Path) -> None:
    """Note that this user runs what the directory's config names; nothing is noted where all of it is installed."""
    note = _note(directory) if foreign_code(directory) else None
    if note:
        with suppress(RunError):
            write_file(note, f"{directory.resolve()}\n".encode())


def foreign_code(directory: Path) -> dict[str, Path]:
    """Return the classes that are not installed, as config.toml names them, with their files; nothing is imported."""
    tables = tomllib.loads(contents(directory / CONFIG).decode())
    run = tables.get("run", {})
    folders = [directory, *([Path(str(run["folder"]))] if "folder" in run else [])]
    found = {name: file for name in class_names(tables) if (file := source_file(name, *folders))}
    return {name: file for name, file in found.items() if not is_installed_file(file)}


def _note(directory: Path) -> Path | None:
    """Return the file recording that this user ran this config.toml in this directory; None where there is no home."""
    try:
        state = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local/state")
    except RuntimeError:
        return None
    what = f"{directory.resolve()}\0".encode() + contents(directory / CONFIG)
    return state / "milpcb/trusted" / hashlib.sha256(what).hexdigest()
