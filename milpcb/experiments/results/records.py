"""Records of finished tasks: read only where they are whole, and of the task that is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from milpcb.experiments.results.layout import file_of
from milpcb.experiments.study.cells import Task, Yardstick
from milpcb.files import contents, digest, unsealed

_COLUMNS = {
    "rounds",
    "best_cost",
    "cumulative_cost",
    "certificate",
    "certificate_error",
    "bound",
    "oracle_error",
    "oracle_calls",
    "seconds",
    "oracle_seconds",
}


class DamagedError(Exception):
    """A record is there, and is not as it was written."""


def read_whole(path: Path, key: str, horizon: int) -> dict[str, Any] | None:
    """Return a task's record, None where there is none; raises DamagedError."""
    try:
        content = contents(file_of(path, "record", key))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise DamagedError from error
    record = unsealed(content)
    if record is None or not _is_record(record, key, horizon):
        raise DamagedError
    return record


def _is_record(record: Mapping[str, Any], key: str, horizon: int) -> bool:
    """Return whether a record is that of a task, with columns of one length up to its horizon."""
    columns = [record[name] for name in record if name in _COLUMNS]
    lists = all(isinstance(column, list) and len(column) == len(columns[0]) > 0 for column in columns)
    facts = all(isinstance(record.get(name), dict) for name in ("versions", "pictures"))
    return record.get("key") == key and facts and lists and record.get("rounds", [None])[-1] == horizon


def has_pictures(path: Path, task: Task, record: Mapping[str, Any]) -> bool:
    """Return whether the pictures that are wanted were drawn; raises DamagedError where one is not as it was drawn."""
    if not task.draw or not (isinstance(task, Yardstick) or "leader" in record):
        return True
    for suffix, wanted in record["pictures"].items():
        try:
            found = digest(contents(file_of(path, suffix, task.key)))
        except OSError:
            return False
        if found != wanted:
            raise DamagedError
    return bool(record["pictures"])


def read_record(path: Path, key: str, horizon: int) -> dict[str, Any] | None:
    """Return a task's record; None where there is none, or one that is damaged or not of this task."""
    try:
        return read_whole(path, key, horizon)
    except DamagedError:
        return None
