"""Saved bandits: one file, replaced as a whole, with a checksum; loading it imports registered parts only."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np

from milpcb.bandit.decisions import Decision, Open
from milpcb.bandit.overrides import Override
from milpcb.core import files, gate
from milpcb.core.checks import check_file, index, probabilities, unit_cost
from milpcb.errors import InputError, RunError, shown
from milpcb.plugins import injection, registry
from milpcb.protocols import PolicyClass

FORMAT = 10


def sealed(state: Mapping[str, Any]) -> bytes:
    """Return a state as the content of a file; raises TypeError where it is no plain data."""
    return files.sealed({"format": FORMAT, **state}, default=_fields)


def as_path(path: Any) -> Path:
    """Return the path of a file; raises InputError on what is none."""
    if not isinstance(path, (str, os.PathLike)):
        raise InputError(f"the path of a file must be a string or a Path, got {shown(path)}")
    return Path(path)


def write(path: Path, content: bytes) -> None:
    """Write what ``sealed`` returned; readers see the old file or the new one, whole. Raises InputError.

    What is replaced is a plain file. What earlier saves to the path left that were stopped is removed.
    """
    if len(content) > gate.MOST_BYTES:
        raise InputError(
            f"cannot write {path}: it would have {len(content) / 2**20:,.0f} MB, and load reads at most "
            f"{gate.MOST_BYTES / 2**20:,.0f}; give up decisions whose cost will never be known, or keep no log"
        )
    _check_plain(path)
    try:
        files.write_over(path, content)
    except RunError as error:
        raise InputError(str(error)) from error


def _check_plain(path: Path) -> None:
    """Raise InputError unless there is a plain file, or room for one.

    A pipe, a device or a link that is replaced is lost to those who use it.
    """
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError as error:
        if not path.parent.is_dir():
            raise InputError(f"cannot write {path}: there is no folder {path.parent}") from error
        return
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror}") from error
    except ValueError as error:  # a zero byte in the path
        raise InputError(f"cannot write {path}: {error}") from error
    if not stat.S_ISREG(mode):
        kind = "folder" if stat.S_ISDIR(mode) else "link" if stat.S_ISLNK(mode) else "pipe or a device"
        raise InputError(f"cannot write {path}: it is a {kind}; give the path of a plain file, or a new one")


def _fields(value: Any) -> dict[str, Any]:
    """Return a part of a state that is written by its fields; raises TypeError on anything else."""
    if isinstance(value, (Decision, Open, Override)):
        return vars(value)
    raise TypeError(f"{shown(value)} is of type {type(value).__name__}")


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


def checked_log(lines: Any, n_actions: int) -> list[list[Any]] | None:
    """Return the lines of a saved log: features, action (number), cost, law, floor; raises TypeError, ValueError."""
    for features, action, cost, law, floor in lines or ():
        index("action", action, len(law))
        unit_cost("the cost", cost)
        unit_cost("the floor of its law", floor)
        if not isinstance(features, list) or len(features) != len(lines[0][0]) or not 2 <= len(law) <= n_actions:
            raise ValueError("the log has a line that no bandit wrote")
        probabilities(np.array(law, dtype=float), len(law))
    return cast("list[list[Any]] | None", lines)
