"""The paths of the files in a run directory; milpcb/experiments/results/store.py explains the files."""

from __future__ import annotations

from pathlib import Path

from milpcb.core import gate

CONFIG, INDEX, LOCK = "config.toml", "study.json", ".milpcb.lock"
FOLDERS = ("cells", "costs", "live", "logs")
_PLACES = {
    "png": ("cells", "png"),
    "svg": ("cells", "svg"),
    "record": ("cells", "json"),
    "part": ("cells", "part"),
    "costs": ("costs", "json"),
    "live": ("live", "json"),
    "log": ("logs", "log"),
}


def file_of(directory: Path, what: str, key: str) -> Path:
    """Return where a task's "record", "part" (saved state), "costs", "live" (position), "log", "png" or "svg" is kept.

    Raises InputError where the folder is a link, or the key no name of a file.
    """
    folder, suffix = _PLACES[what]
    return gate.inside(directory, folder) / gate.plain_name(f"{key}.{suffix}")
