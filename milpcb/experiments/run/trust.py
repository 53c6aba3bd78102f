"""Trust in a run directory: what it needs besides milpcb itself, and whether this user allowed it before.

The config.toml of a run directory may name classes as ``module:Class``, files of data, and the address of a scheduler.
Whoever made the directory chose them. So ``milpcb resume``, ``log``, ``learn`` and ``evaluate`` take them only from a
directory in which this user has run that very config with that very code: ``milpcb run`` and ``milpcb resume --trust``
note that in ``$XDG_STATE_HOME/milpcb/trusted`` (by default ``~/.local/state``), outside the directory. Where no note
can be kept, ``--trust`` is asked for each time. ``plot`` and ``report`` take nothing of the kind at all.
"""

from __future__ import annotations

import hashlib
import os
from contextlib import suppress
from pathlib import Path

from milpcb.core.files import contents, write_file
from milpcb.core.gate import named_classes
from milpcb.errors import RunError
from milpcb.experiments.results.records import CONFIG
from milpcb.experiments.results.store import check_config
from milpcb.experiments.study.config import asked_for, folder_of, read_config
from milpcb.experiments.study.fingerprints import source_digest
from milpcb.experiments.study.options import validate
from milpcb.experiments.study.sections import Config, RunSection
from milpcb.experiments.study.toml_tables import read_tables
from milpcb.plugins import local_classes


def read_run(directory: Path, *, trust: bool) -> Config:
    """Return the config of a run directory.

    Raises RunError where it is not as a run wrote it, and InputError where it asks for more than milpcb brings, unless
    ``trust``, or this user has run it in that place before.
    """
    check_config(directory)
    return read_config(directory / CONFIG, trusted=trust or _is_noted(directory))


def remember(directory: Path, config: Config) -> None:
    """Note that this user runs what a config asks for; nothing is noted where that is all milpcb's own."""
    note = _note(directory) if asked_for(config) else None
    if note:
        with suppress(RunError):
            write_file(note, f"{directory.resolve()}\n".encode())


def _is_noted(directory: Path) -> bool:
    note = _note(directory)
    return note is not None and note.is_file()


def _note(directory: Path) -> Path | None:
    """Return the file recording that this user ran this config and code in this place; None where there is no home."""
    try:
        state = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local/state")
    except RuntimeError:
        return None
    what = [str(directory.resolve()).encode(), contents(directory / CONFIG), *_code(directory)]
    return state / "milpcb/trusted" / hashlib.sha256(b"\0".join(what)).hexdigest()


def _code(directory: Path) -> list[bytes]:
    """Return a digest of the source of each class that the config of a directory names; nothing is imported."""
    tables, _ = read_tables(directory / CONFIG)
    run = validate(RunSection, tables["run"], "[run]") if isinstance(tables.get("run"), dict) else RunSection()
    folder = getattr(run, "folder", None)
    with local_classes.seen_from(folder_of(folder, directory.absolute())):
        return [f"{name} {source_digest(name)}".encode() for name in sorted({*named_classes(tables)})]
