"""Where what is kept in a run directory; milpcb/experiments/results/store.py explains the files."""

from __future__ import annotations

from pathlib import Path

CONFIG, INDEX, LOCK = "config.toml", "study.json", ".milpcb.lock"
FOLDERS = ("cells", "costs", "live", "logs")
_PLACES = {
    "record": ("cells", "json"),
    "part": ("cells", "part"),
    "costs": ("costs", "json"),
    "live": ("live", "json"),
    "log": ("logs", "log"),
}


def file_of(directory: Path, what: str, key: str) -> Path:
    """Return where a task's "record", "part" (checkpoint), "costs", "live" (position), "log" or picture is kept."""
    folder, suffix = _PLACES.get(what, ("cells", what))
    return directory / folder / f"{key}.{suffix}"
