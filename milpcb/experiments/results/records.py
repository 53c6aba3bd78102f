"""Records of finished tasks: read only if they are complete, well formed, and of the right task."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

from milpcb.core.files import contents, digest, unsealed
from milpcb.experiments.results.layout import file_of
from milpcb.experiments.results.schemas import CellRecord, ComparatorRecord, checked
from milpcb.experiments.study.cells import Cell, Comparator, Task

Kind = Literal["cell", "comparator"]
_SCHEMAS: dict[Kind, Any] = {"cell": CellRecord, "comparator": ComparatorRecord}


class DamagedError(Exception):
    """A record is there, and is not as it was written."""


def read_whole(path: Path, kind: Kind, key: str, horizon: int) -> dict[str, Any] | None:
    """Return a task's record, None where there is none; raises DamagedError."""
    try:
        content = contents(file_of(path, "record", key))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise DamagedError from error
    try:
        record: dict[str, Any] = checked(_SCHEMAS[kind], unsealed(content))
    except ValueError as error:
        raise DamagedError from error
    if record["key"] != key or not _fits(record, horizon):
        raise DamagedError
    return record


def _fits(record: dict[str, Any], horizon: int) -> bool:
    """Return whether all columns have one length, and the rounds go up to the horizon."""
    rounds = record["rounds"]
    columns = [column for column in record.values() if isinstance(column, list)]
    increasing = all(one < other for one, other in pairwise(rounds))
    return rounds[-1] == horizon and increasing and all(len(column) == len(rounds) for column in columns)


def kind_of(task: Task) -> Kind:
    """Return what the record of a task is one of."""
    return "cell" if isinstance(task, Cell) else "comparator"


def has_pictures(path: Path, task: Task, record: dict[str, Any]) -> bool:
    """Return whether the pictures that are wanted were drawn; raises DamagedError where one is not as it was drawn."""
    if not task.draw or not (isinstance(task, Comparator) or "leader" in record):
        return True
    for suffix, wanted in record["pictures"].items():
        try:
            found = digest(contents(file_of(path, suffix, task.key)))
        except OSError:
            return False
        if found != wanted:
            raise DamagedError
    return bool(record["pictures"])


def read_record(path: Path, kind: Kind, key: str, horizon: int) -> dict[str, Any] | None:
    """Return a task's record; None where there is none, or one that is damaged or not of this task."""
    try:
        return read_whole(path, kind, key, horizon)
    except DamagedError:
        return None
