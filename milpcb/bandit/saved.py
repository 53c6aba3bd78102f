"""Saved bandits: one file, replaced as a whole, with a checksum; loading it imports registered parts only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, cast

from milpcb.core import files, gate
from milpcb.core.checks import check_file
from milpcb.errors import InputError, RunError, shown
from milpcb.plugins import injection, registry
from milpcb.protocols import PolicyClass

FORMAT = 5


def sealed(state: Mapping[str, Any]) -> bytes:
    """Return a state as the content of a file."""
    return files.sealed({"format": FORMAT, **state})


def write(path: Path, content: bytes) -> None:
    """Write what ``sealed`` returned; readers see the old file or the new one, whole. Raises InputError."""
    if not path.parent.is_dir():
        raise InputError(f"cannot write {path}: there is no folder {path.parent}")
    if path.is_dir():
        raise InputError(f"cannot write {path}: it is a folder")
    try:
        files.write_file(path, content)
    except RunError as error:
        raise InputError(str(error)) from error
    except ValueError as error:  # a name that no file can have
        raise InputError(f"cannot write {path}: {error}") from error


def read(path: Path) -> dict[str, Any]:
    """Return the state that ``sealed`` was given; raises InputError on any other file, and on one that was damaged."""
    check_file(path)
    try:
        content = gate.read_bytes(path, follow=True)
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from error
    state = files.unsealed(content)
    if state is None:
        raise InputError(_reason(path, content))
    if state.get("format") != FORMAT:
        raise InputError(f"{path} has format {shown(state.get('format'))}, this version reads {FORMAT}")
    return state


def as_written(policies: PolicyClass) -> dict[str, Any] | None:
    """Return a registered class by its name and settings; None for a class of somebody's own."""
    for name in registry.BUILTIN["policies"]:
        if type(policies) is registry.load("policies", name) and is_dataclass(policies):
            return {
                "name": name,
                "options": {part.name: getattr(policies, part.name) for part in fields(policies) if part.init},
            }
    return None


def written_class(written: Mapping[str, Any] | None) -> PolicyClass:
    """Return the class that ``as_written`` described; raises InputError where it described none."""
    if written is None:
        raise InputError("the file is of a policy class of your own: pass it, as in Bandit.load(path, policies=...)")
    return cast("PolicyClass", injection.make(registry.load("policies", written["name"]), {}, written["options"]))


def _reason(path: Path, content: bytes) -> str:
    """Return the message on a file that is not as it was written."""
    try:
        found = gate.read_json(content)
    except ValueError as error:
        return f"{path} is no file that Bandit.save wrote, or was damaged: {error}"
    if isinstance(found, dict) and "checksum" not in found and isinstance(found.get("format"), int):
        return f"{path} has format {found['format']}, this version reads {FORMAT}"
    return f"{path} is no file that Bandit.save wrote, or was damaged: its checksum does not fit"
