"""Isolation of the libraries that milpcb starts from the current folder: its settings, code and machine code.

It imports Python's own modules only.
"""

import os
import stat
import sys
import threading
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from functools import cache
from importlib.metadata import EntryPoints, distributions
from pathlib import Path
from tempfile import TemporaryFile
from types import SimpleNamespace
from typing import Any

# For every process that is started: Python would look in the current folder even for its own modules.
CHILD = {"PYTHONSAFEPATH": "1"}

_os_path: Any = os.path
_importing, _drawing = threading.RLock(), threading.RLock()  # two: what draws may import what is being imported


def leave() -> None:
    """Take the current folder off the path of imports, where ``python -m`` puts it, here and in all children."""
    os.environ.update(CHILD)
    if sys.path and _is_here(sys.path[0]) and not _is_here(str(Path(__file__).parents[2])):
        del sys.path[0]


@contextmanager
def unseen(name: str) -> Iterator[None]:
    """Within the block no file of the current folder has this name, to ``os.path.exists`` in any thread."""
    with _importing:
        exists = os.path.exists
        _os_path.exists = lambda path: path != name and exists(path)
        try:
            yield
        finally:
            _os_path.exists = exists


def close(config: Any, entrypoints: Any) -> None:
    """Let two modules of numba, once imported, take nothing from the current folder: settings, or extensions."""
    config._config_fname = ""  # noqa: SLF001 - numba looks for it again at each compilation
    config.reload_config()  # numba may have been imported before
    entrypoints.importlib_metadata = SimpleNamespace(entry_points=entry_points)


@contextmanager
def plain() -> Iterator[None]:
    """Within the block, of one thread at a time, matplotlib draws by its own defaults: the same bytes everywhere."""
    with _drawing:
        with unseen("matplotlibrc"):
            import matplotlib as mpl
        settings = {name: value for name, value in mpl.rcParamsDefault.items() if name != "backend"}
        with mpl.rc_context(settings | {"svg.hashsalt": "milpcb"}):
            yield


def entry_points(**wanted: Any) -> EntryPoints:
    """Return the entry points of installed packages, as importlib.metadata does, but none from the current folder."""
    found: dict[str, EntryPoints] = {}
    for package in distributions(path=[entry for entry in sys.path if not _is_here(entry)]):
        if chosen := package.entry_points.select(**wanted):
            found.setdefault(package.name, chosen)
    return EntryPoints(point for points in found.values() for point in points)


def _is_here(entry: str) -> bool:
    """Return whether an entry of the path of imports is the current folder, or is relative to it."""
    try:
        return not Path(entry).is_absolute() or Path(entry).samefile(Path.cwd())
    except OSError:  # there is no such folder, or no current one
        return False


def settings_here(names: Collection[str]) -> list[str]:
    """Return those of the names that exist in the current folder, broken links included."""
    return [name for name in names if os.path.lexists(name)]


@cache
def is_own(folder: Path) -> bool:
    """Return whether this user, and nobody else, can write a folder of code that will be run; it is made if need be.

    It must have an absolute path, and belong to this user or root; others may write neither it nor the folder above.
    """
    if not folder.is_absolute():  # it would be another in every folder
        return False
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with TemporaryFile(dir=folder):
            own, above = folder.stat(), folder.parent.stat()
    except OSError:
        return False
    if os.name == "nt":  # modes mean nothing there
        return True
    written = own.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    replaced = above.st_mode & stat.S_IWOTH and not above.st_mode & stat.S_ISVTX
    return {own.st_uid, above.st_uid} <= {0, os.getuid()} and not written and not replaced
