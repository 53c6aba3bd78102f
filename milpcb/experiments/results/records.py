"""The files of a run directory, see store.py: places, versions, study.json, records, costs of environments."""

import platform
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from itertools import count, pairwise
from pathlib import Path
from typing import Any

from milpcb.core import gate
from milpcb.core.files import contents, sealed, unsealed, write_file
from milpcb.errors import RunError
from milpcb.experiments.results.schemas import CellRecord, ComparatorRecord, Index, KeptCosts, checked
from milpcb.experiments.study.cells import BEST, FORMAT, Comparator, Kind, Study
from milpcb.experiments.study.sections import Config

CONFIG, INDEX, LOCK = "config.toml", "study.json", ".milpcb.lock"
FOLDERS = ("cells", "costs", "logs")
_PLACES = {
    "record": ("cells", "json"),
    "part": ("cells", "part"),
    "costs": ("costs", "json"),
    "log": ("logs", "log"),
}


def file_of(directory: Path, what: str, key: str) -> Path:
    """Return where a task's "record", "part", "costs" or "log" is kept; raises InputError for a link or another key."""
    folder, suffix = _PLACES[what]
    return gate.inside(directory, folder) / gate.plain_name(f"{key}.{suffix}")


SOLVERS = ("highspy", "pulp", "pyscipopt", "gurobipy", "cplex", "xpress", "coptpy")
OTHERS = ("vowpalwabbit", "contextualbandits", "coba")
PACKAGES = ("milpcb", "numpy", "scipy", "numba", *SOLVERS, "scikit-learn", *OTHERS)


@cache
def installed() -> dict[str, str]:
    """Return the versions of Python and of those packages that are installed here."""
    found = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def describe(made_with: Iterable[Mapping[str, str]]) -> str:
    """Return 'numpy 2.0.1 (here 2.1.0), ...' for packages here and there whose versions differ, '' without one."""
    here = installed()
    pairs = {pair for each in made_with for pair in each.items()}
    others = [(package, there) for package, there in sorted(pairs) if here.get(package, there) != there]
    return ", ".join(f"{package} {there} (here {here[package]})" for package, there in others)


LONGEST = 50  # characters of the name of a file that come from labels; each takes up to 4 bytes of the 255 there are

_SCHEMAS: dict[Kind, Any] = {"cell": CellRecord, "comparator": ComparatorRecord}


def index_of(config: Config, study: Study) -> dict[str, Any]:
    """Return what study.json holds of a study: labels, so that a new one costs no new run, but no policies written."""
    best = study.comparator_of
    return {
        "format": FORMAT,
        "name": config.experiment.name,
        "cells": [{"key": c.key, "comparator": best[c.key], **c.labels} for c in study.cells],
        "comparators": [
            {"key": c.key, "title": c.title, "file": name, "horizon": c.horizon, "seed": c.seed, "draw": c.draw}
            for c, name in _named(study.comparators)
        ],
    }


def _named(tasks: Iterable[Comparator]) -> Iterator[tuple[Comparator, str]]:
    """Yield tasks with names of files made of their titles, distinct in any case: best_policy_planted_T1000_seed0."""
    taken: set[str] = set()
    for task in tasks:
        *parts, seed = task.title.removeprefix(f"{BEST}, ").split(", ")
        plain = "_".join(re.sub(r"[^\w.+-]+", "-", part) for part in ["best_policy", *parts]).replace("_T-", "_T")
        name = f"{plain[:LONGEST]}_{seed.replace(' ', '')}"
        free = next(other for i in count() if (other := f"{name}_{i}" if i else name).casefold() not in taken)
        taken.add(free.casefold())
        yield task, free


def read_index(path: Path) -> dict[str, Any]:
    """Return the contents of study.json; raises RunError when the directory has none that is whole."""
    try:
        content = contents(path / INDEX)
    except OSError as error:
        raise RunError(
            f"{path} holds no curves that can be read ({INDEX}: {error.strerror}); is it a run directory? "
            f"milpcb run with its {CONFIG} fixes it"
        ) from error
    index = unsealed(content)
    if index is None:
        raise RunError(
            f"{path / INDEX} is damaged, or of another version of milpcb; milpcb resume {path} fixes the first, "
            "for the second run the experiment again in another directory"
        )
    if index.get("format") != FORMAT:
        raise RunError(f"{path / INDEX} is of another version of milpcb; run the experiment again in another directory")
    try:
        return checked(Index, index)
    except ValueError as error:
        raise RunError(
            f"{path / INDEX} is not as milpcb writes it ({error}); milpcb run with its {CONFIG} fixes it"
        ) from error


def whole_index(path: Path) -> dict[str, Any] | None:
    """Return study.json if it is whole and of this format, else None."""
    with suppress(RunError):
        return read_index(path)
    return None


class DamagedError(Exception):
    """A record is there, and is not as it was written."""


def read_whole(path: Path, kind: Kind, key: str, horizon: int) -> dict[str, Any] | None:
    """Return a task's record, None where there is none; raises DamagedError where it is not whole up to the horizon."""
    try:
        record = checked(_SCHEMAS[kind], unsealed(contents(file_of(path, "record", key))))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as error:
        raise DamagedError from error
    rounds = record["rounds"]
    increasing = all(one < other for one, other in pairwise(rounds))
    columns = [column for column in record.values() if isinstance(column, list)]
    whole = increasing and rounds[-1] == horizon and all(len(column) == len(rounds) for column in columns)
    if record["key"] != key or not whole:
        raise DamagedError
    return record


def read_record(path: Path, kind: Kind, key: str, horizon: int) -> dict[str, Any] | None:
    """Return a task's record; None where there is none, or one that is damaged or not of this task."""
    try:
        return read_whole(path, kind, key, horizon)
    except DamagedError:
        return None


@dataclass(frozen=True)
class WorldCosts:
    """costs/KEY.json: costs that an environment computed for all tasks with that ``world_key``."""

    directory: Path
    key: str

    def load(self) -> Any:
        """Return what was kept; None where there is nothing, or a byte of it is not as it was written."""
        try:
            kept = checked(KeptCosts, unsealed(contents(file_of(self.directory, "costs", self.key))))
        except (OSError, ValueError):
            return None
        return kept["data"] if kept["key"] == self.key else None

    def save(self, data: Any) -> None:
        """Keep plain data; raises RunError when the disk refuses."""
        file = file_of(self.directory, "costs", self.key)
        write_file(file, sealed({"key": self.key, "data": data}), durable=False)
