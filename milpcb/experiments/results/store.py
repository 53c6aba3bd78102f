"""Run directories: the resolved config, one record for each task. Files are replaced whole, never half written.

config.toml          resolved, with versions, the number of this format, and a checksum
study.json           the cells, their labels in curves, and the comparator that measures each
cells/KEY.json       a finished task; KEY.part its saved state before that
costs/KEY.json       costs that an environment computed for a horizon and seed, where that takes long
logs/KEY.log         log messages, warnings and the failure of a task
curves.csv           everything that is drawn or tabulated, put together from the records (curves.py)
best_policy_*        best policies in hindsight, as study.json lists them

Only files with these names are written or removed, only in a directory that was empty or that holds a config.toml or
study.json of milpcb, and never through a link. study.json, records, costs and saved states begin with a checksum
of what follows.
"""

import platform
import re
import tomllib
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from itertools import count, pairwise
from pathlib import Path
from typing import Any

import tomli_w
from filelock import FileLock, Timeout

from milpcb.core import files, gate
from milpcb.errors import RunError
from milpcb.experiments.results.schemas import CellRecord, ComparatorRecord, Index, KeptCosts, checked
from milpcb.experiments.study.cells import BEST, FORMAT, Kind, Study, Task
from milpcb.experiments.study.sections import Config

CONFIG, INDEX, LOCK = "config.toml", "study.json", ".milpcb.lock"
_PLACES = {"record": ("cells", "json"), "part": ("cells", "part"), "costs": ("costs", "json"), "log": ("logs", "log")}
_SCHEMAS: dict[Kind, Any] = {"cell": CellRecord, "comparator": ComparatorRecord}
_POLICY_FILE = re.compile(r"best_policy_[\w.+-]+\.(txt|svg)")
_CONFIG_SEAL = re.compile(r'checksum = "([0-9a-f]{64})"\n\Z')
_LONGEST = 50  # characters of the name of a file that come from labels; each takes up to 4 bytes of the 255 there are
SOLVERS = ("highspy", "pulp", "pyscipopt", "gurobipy", "cplex", "xpress", "coptpy")
OTHERS = ("vowpalwabbit", "contextualbandits", "coba")
PACKAGES = ("milpcb", "numpy", "scipy", "numba", *SOLVERS, "scikit-learn", *OTHERS)


def file_of(directory: Path, what: str, key: str) -> Path:
    """Return the path of a task's "record", "part", "costs" or "log"; raises InputError for a link or another key."""
    folder, suffix = _PLACES[what]
    return gate.inside(directory, folder) / gate.plain_name(f"{key}.{suffix}")


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
    """Return 'numpy 2.0.1 (here 2.1.0), ...' for packages whose version here is not the one there, '' without one."""
    here = installed()
    pairs = {pair for each in made_with for pair in each.items()}
    others = [(package, there) for package, there in sorted(pairs) if here.get(package, there) != there]
    return ", ".join(f"{package} {there} (here {here[package]})" for package, there in others)


def read_index(path: Path) -> dict[str, Any]:
    """Return the contents of study.json; raises RunError when the directory has none that is whole."""
    problem = "it is damaged, or of another version of milpcb"
    try:
        index = files.unsealed(files.contents(path / INDEX)) or {}
        if index.get("format") == FORMAT:
            return checked(Index, index)
    except OSError as error:
        problem = str(error.strerror)
    except ValueError as error:
        problem = str(error)
    advice = f"where {path} is a run directory of this version, milpcb run with its {CONFIG} fixes it"
    raise RunError(f"cannot read {path / INDEX}: {problem}; {advice}")


def read_record(path: Path, kind: Kind, key: str, horizon: int) -> dict[str, Any] | None:
    """Return a task's record; None where there is none, or one that is damaged or not of this task."""
    try:
        record = checked(_SCHEMAS[kind], files.unsealed(files.contents(file_of(path, "record", key))))
    except (OSError, ValueError):
        return None
    rounds = record["rounds"]
    increasing = all(one < other for one, other in pairwise(rounds))
    named = [*record.items(), *record.get("sequence", {}).items()]
    columns = [column for name, column in named if isinstance(column, list) and name != "after"]
    whole = increasing and rounds[-1] == horizon and all(len(column) == len(rounds) for column in columns)
    return record if record["key"] == key and whole else None


@dataclass(frozen=True)
class WorldCosts:
    """costs/KEY.json: costs that an environment computed for all tasks with that ``world_key``."""

    directory: Path
    key: str

    def load(self) -> Any:
        """Return the stored costs; None where there are none, or a byte has changed."""
        try:
            kept = checked(KeptCosts, files.unsealed(files.contents(file_of(self.directory, "costs", self.key))))
        except (OSError, ValueError):
            return None
        return kept["data"] if kept["key"] == self.key else None

    def save(self, data: Any) -> None:
        """Keep plain data; raises RunError when the disk refuses."""
        file = file_of(self.directory, "costs", self.key)
        files.write_file(file, files.sealed({"key": self.key, "data": data}), durable=False)


class RunDirectory:
    """One directory of results; raises RunError unless it is new, empty, or milpcb's own, in this format."""

    def __init__(self, path: Path) -> None:
        self.path = path
        if (path.exists() or path.is_symlink()) and not path.is_dir():
            raise RunError(f"{path} exists and is no run directory; choose another with --out")
        for folder, _ in _PLACES.values():
            gate.inside(path, folder)
        if path.is_dir():
            _check_owner(path)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep every other run out of the directory; raises RunError when one is at work there."""
        files.make_folder(self.path)
        file = self.path / LOCK
        lock = FileLock(file)
        try:
            files.check_sole(file)
            lock.acquire(timeout=0)
        except Timeout as error:
            advice = "wait for it, stop it, or choose another with --out"
            raise RunError(f"another run is at work in {self.path}; {advice}") from error
        except OSError as error:
            raise RunError(f"cannot write {file}: {error.strerror}; choose another with --out") from error
        try:
            yield
        finally:
            lock.release()

    def begin(self, config: Config, study: Study, finished: Collection[str] = ()) -> None:
        """Write the plan of the study; remove temporary files, states of ``finished`` tasks, and policies."""
        with suppress(RunError):
            for name in filter(_POLICY_FILE.fullmatch, read_index(self.path)["written"]):
                files.remove(self.path / name)
        text = tomli_w.dumps({**config.table(), "versions": {**installed(), "format": FORMAT}})
        self.write(CONFIG, f'{text}checksum = "{files.digest(text.encode())}"\n'.encode())
        self.write(INDEX, files.sealed({**index_of(config, study), "written": []}, indent=1))
        for folder in (self.path, self.path / "cells", self.path / "costs"):
            for file in filter(files.is_temporary, _files_in(folder)):
                files.remove(file)
        for file in _files_in(self.path / "cells"):
            if file.suffix == ".part" and file.stem in finished:
                files.remove(file)

    def held(self, tasks: Iterable[Task]) -> tuple[set[str], list[str]]:
        """Return the keys of the tasks with whole records, and lines on damage and on other versions."""
        return _held(self.path, [(task.kind, task.key, task.horizon, task.draw) for task in tasks])

    def keep(self, task: Task, record: Mapping[str, Any]) -> None:
        """Write a finished task, and remove its saved state; a record that a power cut spoils is no record."""
        body = {**record, "versions": installed()}
        files.write_file(file_of(self.path, "record", task.key), files.sealed(body), durable=False)
        files.remove(file_of(self.path, "part", task.key))

    def log(self, task: Task, text: str) -> None:
        """Add a line to the task's log."""
        file = file_of(self.path, "log", task.key)
        files.make_folder(file.parent)
        with suppress(OSError):
            files.append(file, f"{task.title}: {text}\n")

    def write(self, name: str, content: bytes) -> Path:
        """Write one file of the directory."""
        return files.write_file(self.path / name, content)

    def write_policies(self) -> None:
        """Write best policies in hindsight as rules and drawings, under the names that people look for."""
        index, names = read_index(self.path), []
        for task in index["comparators"]:
            record = read_record(self.path, "comparator", task["key"], task["horizon"])
            parts = {} if record is None else {"txt": f"{record['policy']}\n"}
            if record and task["draw"] and "drawing" in record:
                parts["svg"] = record["drawing"]
            for suffix, text in parts.items():
                file = self.path / f"{task['file']}.{suffix}"
                names.append(files.write_file(file, text.encode(), durable=False).name)
        if names:
            self.write(INDEX, files.sealed({**index, "written": sorted(names)}, indent=1))


def remarks(path: Path) -> list[str]:
    """Return lines on damage in a run directory and on versions that differ; raises RunError where it is none."""
    index = read_index(path)
    kinds: tuple[Kind, ...] = ("cell", "comparator")
    return _held(path, [(kind, each["key"], each["horizon"], False) for kind in kinds for each in index[f"{kind}s"]])[1]


def check_config(path: Path) -> None:
    """Raise RunError where config.toml is not byte for byte as a run wrote it: damaged, or edited by hand."""
    try:
        text = files.contents(path / CONFIG).decode()
    except (OSError, UnicodeDecodeError) as error:
        raise RunError(f"cannot read {path / CONFIG}: {error}; milpcb run CONFIG --out {path} fixes it") from error
    seal = _CONFIG_SEAL.search(text)
    if seal is None or files.digest(text[: seal.start()].encode()) != seal.group(1):
        raise RunError(
            f"{path / CONFIG} was damaged, or edited, after the run wrote it; read it, and go on with "
            f"milpcb run CONFIG --out {path} (CONFIG may be that file)"
        )


def index_of(config: Config, study: Study) -> dict[str, Any]:
    """Return the content of study.json: labels, so that a new label costs no new run, but no policies written."""
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


def _named(tasks: Iterable[Task]) -> Iterator[tuple[Task, str]]:
    """Yield tasks with names of files made of their titles, distinct in any case: best_policy_planted_T1000_seed0."""
    taken: set[str] = set()
    for task in tasks:
        *parts, seed = task.title.removeprefix(f"{BEST}, ").split(", ")
        plain = "_".join(re.sub(r"[^\w.+-]+", "-", part) for part in ["best_policy", *parts]).replace("_T-", "_T")
        name = f"{plain[:_LONGEST]}_{seed.replace(' ', '')}"
        free = next(other for i in count() if (other := f"{name}_{i}" if i else name).casefold() not in taken)
        taken.add(free.casefold())
        yield task, free


def _held(path: Path, tasks: Iterable[tuple[Kind, str, int, bool]]) -> tuple[set[str], list[str]]:
    """Look at tasks: kind, key, horizon, and whether the policy is drawn."""
    versions, lines = dict[str, dict[str, str]](), []
    for kind, key, horizon, draw in tasks:
        record = read_record(path, kind, key, horizon)
        if record is None and file_of(path, "record", key).exists():
            lines.append(f"record {key} is damaged; milpcb run and resume play it again")
        elif record is not None and (not draw or "drawing" in record):
            versions[key] = record["versions"]
    if others := describe(versions.values()):
        lines.append(f"{path} holds records made with other versions: {others}; their numbers may differ")
    return set(versions), lines


def _files_in(folder: Path) -> list[Path]:
    return list(folder.iterdir()) if folder.is_dir() else []


def _check_owner(path: Path) -> None:
    """Raise RunError unless a directory is empty, or its study.json or config.toml is of this version of milpcb."""
    if all(file.name == LOCK or files.is_temporary(file) for file in path.iterdir()):
        return
    with suppress(RunError):
        read_index(path)
        return
    versions = None
    with suppress(OSError, ValueError):
        versions = tomllib.loads(files.contents(path / CONFIG).decode()).get("versions")
    if not (isinstance(versions, dict) and "milpcb" in versions and versions.get("format") == FORMAT):
        raise RunError(f"{path} exists and is no run directory of this version of milpcb; choose another with --out")
