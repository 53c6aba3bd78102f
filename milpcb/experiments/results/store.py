"""Run directories: the resolved config, one record for each task. Files are replaced whole, never half written.

config.toml          resolved, with versions and the number of this format
study.json           which cells there are, what curves call them, and which yardstick measures each
cells/KEY.json       a finished task; KEY.part its checkpoint before that; KEY.png and KEY.svg its drawn policy
live/KEY.json        how far a running task is
logs/KEY.log         what a task logged, warned of, or failed with
curves.csv .parquet  everything that is drawn or tabulated, put together from the records (see milpcb.experiments.results.curves)
"""

from __future__ import annotations

import json
import os
import re
import socket
import tempfile
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from importlib.metadata import version
from pathlib import Path
from typing import IO, Any

import tomli_w
from filelock import FileLock, Timeout

from milpcb.errors import RunError
from milpcb.experiments.study.cells import FORMAT, Cell, Study, Task, Yardstick
from milpcb.experiments.study.sections import Config

CONFIG, INDEX, LOCK = "config.toml", "study.json", ".lock"
PICTURES = ("png", "svg")
LONGEST = 50  # characters of the name of a file that come from labels; each takes up to 4 bytes of the 255 there are
VERSIONS = ("milpcb", "numpy", "scipy", "highspy", "pulp", "scikit-learn")
_PLACES = {"record": ("cells", "json"), "part": ("cells", "part"), "live": ("live", "json"), "log": ("logs", "log")}
_COLUMNS = {"rounds", "best_cost", "cumulative_cost", "certificate", "oracle_calls", "seconds", "oracle_seconds"}


def file_of(directory: Path, what: str, key: str) -> Path:
    """Return where a task's "record", "part" (checkpoint), "live" (heartbeat), "log" or picture is kept."""
    folder, suffix = _PLACES.get(what, ("cells", what))
    return directory / folder / f"{key}.{suffix}"


class RunDirectory:
    """One directory of results; a directory of something else, or of an older format, is refused."""

    def __init__(self, path: Path) -> None:
        self.path = path
        if (path / CONFIG).exists():
            _check_format(path / CONFIG)
        elif path.exists() and (not path.is_dir() or any(not _is_temporary(file) for file in path.iterdir())):
            raise RunError(f"{path} exists and is no run directory; choose another with --out")

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep every other run out of the directory; raises RunError when one is at work there."""
        _make_folder(self.path)
        file = self.path / LOCK
        with suppress(OSError):
            holder = file.read_text(encoding="utf-8")
        try:
            lock = FileLock(file, timeout=0)
            lock.acquire()
        except Timeout as error:
            who = f" ({holder})" if holder.strip() else ""
            raise RunError(
                f"another run is at work in {self.path}{who}; wait for it, stop it, or choose another with --out"
            ) from error
        except OSError as error:
            raise RunError(f"cannot write {file}: {error.strerror}; choose another with --out") from error
        try:
            with suppress(OSError):
                file.write_text(f"pid {os.getpid()} on {socket.gethostname()}", encoding="utf-8")
            yield
        finally:
            lock.release()

    def begin(self, config: Config, study: Study) -> None:
        """Write down what is going to be computed, and clear away what a killed run left."""
        versions = {package: version(package) for package in VERSIONS}
        resolved = {**config.table(), "versions": {**versions, "format": FORMAT}}
        self.write(CONFIG, tomli_w.dumps(resolved).encode())
        self.write(INDEX, _index(config, study).encode())
        for file in [*self.path.glob("live/*"), *self.path.glob(".*.*"), *self.path.glob("cells/.*")]:
            if file.name != LOCK:
                file.unlink(missing_ok=True)

    def finished(self, tasks: Iterable[Task]) -> set[str]:
        """Return the keys of the tasks whose records are whole, and whose pictures are there if they are wanted."""
        there = {file.name for file in self.path.glob("cells/*")}
        return {
            task.key
            for task in tasks
            if f"{task.key}.json" in there
            and (record := read_record(self.path, task.key, task.horizon)) is not None
            and (not _drawn(task, record) or all(f"{task.key}.{suffix}" in there for suffix in PICTURES))
        }

    def keep(self, task: Task, record: Mapping[str, Any], pictures: Mapping[str, bytes]) -> None:
        """Write a finished task; its checkpoint is removed after that. A record that a power cut spoils is no record."""
        for suffix, content in pictures.items():
            write_file(file_of(self.path, suffix, task.key), content, durable=False)
        write_file(file_of(self.path, "record", task.key), json.dumps(record).encode(), durable=False)
        file_of(self.path, "part", task.key).unlink(missing_ok=True)
        file_of(self.path, "live", task.key).unlink(missing_ok=True)

    def end(self) -> None:
        """Take away what only a running study needs."""
        with suppress(OSError):
            (self.path / "live").rmdir()

    def note(self, task: Task, text: str) -> None:
        """Add a line to the task's log."""
        file = file_of(self.path, "log", task.key)
        _make_folder(file.parent)
        with suppress(OSError), file.open("a", encoding="utf-8") as log:
            log.write(f"{task.title}: {text}\n")

    def write(self, name: str, content: bytes) -> Path:
        """Write one file of the directory."""
        return write_file(self.path / name, content)

    def write_policies(self) -> None:
        """Write best policies in hindsight and leaders as rules and pictures, under the names that people look for."""
        index, names = read_index(self.path), set()
        of_cells = [{**of_cell, "draw": True} for of_cell in index["leaders"]]
        for of_task, rules in [(y, "policy") for y in index["yardsticks"]] + [(c, "leader") for c in of_cells]:
            record = read_record(self.path, of_task["key"], of_task["horizon"])
            if record is None or rules not in record:
                continue
            files = {"txt": f"{record[rules]}\n".encode()}
            for suffix in PICTURES:
                picture = file_of(self.path, suffix, of_task["key"])
                if of_task["draw"] and picture.exists():
                    files[suffix] = picture.read_bytes()
            for suffix, content in files.items():
                names.add(write_file(self.path / f"{of_task['file']}.{suffix}", content, durable=False))
        for stale in {*self.path.glob("best_policy_*"), *self.path.glob("leader_*")} - names:
            stale.unlink()


def read_index(path: Path) -> dict[str, Any]:
    """Return what study.json says; raises RunError when the directory has none."""
    try:
        index = json.loads((path / INDEX).read_bytes())
    except (OSError, ValueError) as error:
        raise RunError(
            f"{path} holds no curves that can be read ({INDEX}: {error}); is it a run directory? "
            "milpcb run with its config.toml mends it"
        ) from error
    if not isinstance(index, dict) or index.get("format") != FORMAT:
        raise RunError(f"{path / INDEX} is of another version of milpcb; run the experiment again in another directory")
    return index


def read_record(path: Path, key: str, horizon: int) -> dict[str, Any] | None:
    """Return a task's record; None where there is none, or one that is cut short or not of this task."""
    try:
        record = json.loads(file_of(path, "record", key).read_bytes())
    except (OSError, ValueError):
        return None
    if not isinstance(record, dict) or record.get("key") != key:
        return None
    columns = [record[name] for name in record if name in _COLUMNS]
    whole = all(isinstance(column, list) and len(column) == len(columns[0]) for column in columns)
    return record if columns and whole and columns[0] and record["rounds"][-1] == horizon else None


def write_file(target: Path, content: bytes, *, durable: bool = True) -> Path:
    """Write a file so that a reader sees the old one or the new one; raises RunError when the disk refuses.

    Without ``durable`` that holds when processes die, but a power cut may leave a file that is cut short.
    """
    _make_folder(target.parent)
    try:
        with tempfile.NamedTemporaryFile(dir=target.parent, prefix=f".{target.name}.", delete=False) as part:
            _replace(Path(part.name), target, part, content, durable=durable)
    except OSError as error:
        raise RunError(
            f"cannot write {target}: {error.strerror}; what was finished before is kept, mend that and run again"
        ) from error
    return target


def _replace(temporary: Path, target: Path, part: IO[bytes], content: bytes, *, durable: bool) -> None:
    try:
        part.write(content)
        part.flush()
        if durable:
            os.fsync(part.fileno())
        temporary.chmod(0o644)
        temporary.replace(target)
    finally:  # on a full disk and on an interrupt alike; after the replacement nothing is left to remove
        temporary.unlink(missing_ok=True)


def _make_folder(path: Path) -> None:
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RunError(f"cannot make the directory {path}: {error.strerror}; choose another with --out") from error


def _is_temporary(file: Path) -> bool:
    """Tell whether a file is what a killed run left of a write that it did not finish."""
    return file.name.startswith(".")


def _drawn(task: Task, record: Mapping[str, Any]) -> bool:
    """Tell whether there must be pictures; a learner that keeps no estimates, or an older record of one, has no leader."""
    return task.draw and (isinstance(task, Yardstick) or "leader" in record)


def _check_format(file: Path) -> None:
    try:
        held = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise RunError(f"cannot read {file}: {error}; choose another directory with --out") from error
    versions = held.get("versions")
    if not (isinstance(versions, dict) and "milpcb" in versions):
        raise RunError(
            f"{file.parent} exists and is no run directory: its {CONFIG} is not one that milpcb wrote; choose another with --out"
        )
    if versions.get("format") != FORMAT:
        raise RunError(
            f"{file.parent} is a run directory of format {versions.get('format', 1)}, this version writes format {FORMAT}; "
            "choose another with --out"
        )


def _index(config: Config, study: Study) -> str:
    """Return study.json: labels are kept here and not in the records, so that a new label costs no new run."""
    names, drawn = _policy_files(config, study), [cell for cell in study.cells if cell.draw]
    index = {
        "format": FORMAT,
        "name": config.experiment.name,
        "cells": [{"key": c.key, "yardstick": study.yardstick_of[c.key], **c.labels} for c in study.cells],
        "yardsticks": [
            {"key": y.key, "title": y.title, "file": name, "horizon": y.horizon, "seed": y.seed, "draw": y.draw}
            for y, name in zip(study.yardsticks, names, strict=True)
        ],
        "leaders": [
            {"key": c.key, "title": c.title, "file": name, "horizon": c.horizon, "yardstick": study.yardstick_of[c.key]}
            for c, name in zip(drawn, _leader_files(drawn), strict=True)
        ],
    }
    return json.dumps(index, indent=1) + "\n"


def _policy_files(config: Config, study: Study) -> list[str]:
    """Return best_policy_seed0, or with what else there are several of: best_policy_planted_trees_T1000_seed0."""
    names = []
    for yardstick in study.yardsticks:
        parts = [_file_name(yardstick.environment.label)] if len(config.environments) > 1 else []
        parts += [_file_name(yardstick.policies.label)] if len(config.policies) > 1 else []
        parts += [f"T{yardstick.horizon}"] if len(config.experiment.horizon) > 1 else []
        names.append("_".join(["best_policy", *parts, f"seed{yardstick.seed}"]))
    return [f"{name}_{i}" if name in names[:i] else name for i, name in enumerate(names)]


def _leader_files(drawn: Sequence[Cell]) -> list[str]:
    """Return leader_bistro_plus_seed0, or with what else there are several of: titles that a file system can keep."""
    names: list[str] = []
    for cell in drawn:
        axes = [a for a in ("environment", "policies") if len({other.labels[a] for other in drawn}) > 1]
        axes += ["oracle"] if len(cell.learner.oracles) > 1 else []
        parts = [_file_name(str(cell.labels[axis])) for axis in ["learner", *axes]]
        name = f"{'_'.join(['leader', *parts])[:LONGEST]}_seed{cell.seed}"
        taken = {other.casefold() for other in names}
        free = (f"{name}_{i}" if i else name for i in range(len(names) + 1))
        names.append(next(candidate for candidate in free if candidate.casefold() not in taken))
    return names


def _file_name(label: str) -> str:
    return re.sub(r"[^\w.+-]+", "-", label)
