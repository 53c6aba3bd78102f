"""Classes of a config's own folder, named in it as ``module:Class``: where they are looked for, and whether at all."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import invalidate_caches
from pathlib import Path
from typing import Any

from milpcb.errors import InputError, clipped
from milpcb.gate import Name, check_registered


@dataclass
class _Own:
    """Where ``module:Class`` is looked for besides installed packages, and whether such names are taken at all."""

    folder: str | None = None
    trusted: bool = True


_own = _Own()


def look_in(folder: Path | str | None, *, trusted: bool = True) -> None:
    """Look for modules of ``module:Class`` names in ``folder``, the one of the config, from now on; None: nowhere else.

    The folder is on the path of imports only while such a name is resolved. Unless ``trusted``, every name that is not
    registered is refused without importing anything.
    """
    folder = None if folder is None else str(folder)
    if _own.folder is not None and folder != _own.folder:  # another folder may have other modules of the same names
        for name in [name for name, module in sys.modules.items() if _lies_in(module, _own.folder)]:
            del sys.modules[name]
    _own.folder, _own.trusted = folder, trusted


def folders() -> list[str]:
    """Return the folder that ``module:Class`` is looked for in after the path of imports, if there is one."""
    return [] if _own.folder is None else [_own.folder]


def check(kind: str, called: str, name: Name) -> None:
    """Raise InputError unless ``module:Class`` may be imported."""
    check_registered(kind, name)
    if not _own.trusted:
        raise InputError(f"{kind} '{clipped(name.text)}' is not installed, and its code is not run unless you trust it")
    if name.parts[0] in sys.stdlib_module_names or name.parts[-1] == "__main__":
        raise InputError(
            f"{kind} '{clipped(name.text)}' is no {called}: module {name.module} is Python's own; "
            "give your file another name"
        )


@contextmanager
def on_path() -> Iterator[None]:
    """Put the config's folder at the end of the path of imports; nothing is written there."""
    folder = _own.folder
    if folder is None:
        yield
        return
    written, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    invalidate_caches()
    sys.path.append(folder)
    try:
        yield
    finally:
        if folder in sys.path:
            del sys.path[len(sys.path) - 1 - sys.path[::-1].index(folder)]
        sys.dont_write_bytecode = written


def _lies_in(module: Any, folder: str) -> bool:
    file = getattr(module, "__file__", None)
    return isinstance(file, str) and Path(folder) in Path(file).parents and not _is_installed_file(file)


def _is_installed_file(file: str) -> bool:
    """Return whether the path of imports without the config's folder leads to a file."""
    return any(path and Path(path) in Path(file).parents for path in sys.path)
