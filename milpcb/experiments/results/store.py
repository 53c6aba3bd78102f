"""Run directories: the resolved config, one record for each task. Files are replaced whole, never half written.

config.toml          resolved, with versions, the number of this format, and a checksum
study.json           which cells there are, what curves call them, and which yardstick measures each
cells/KEY.json       a finished task; KEY.part its checkpoint before that; KEY.png and KEY.svg its drawn policy
costs/KEY.json       costs that an environment computed for a horizon and seed, where that takes long
live/KEY.json        how far a running task is
logs/KEY.log         what a task logged, warned of, or failed with
curves.csv .parquet  everything that is drawn or tabulated, put together from the records (see
milpcb.experiments.results.curves)
best_policy_*        best policies in hindsight, and leader_* those that learners end with; study.json lists which were
written

Only files with these names are written or removed, only in a directory that was empty or that holds a config.toml or
study.json of milpcb, and never through a link. study.json, records, costs and checkpoints begin with a checksum of what
follows.
"""

from __future__ import annotations

import os
import re
import socket
import tomllib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import tomli_w
from filelock import FileLock, Timeout

from milpcb.errors import RunError
from milpcb.experiments.results.files import (
    append,
    contents,
    digest,
    is_temporary,
    make_folder,
    remove,
    sealed,
    unsealed,
)
from milpcb.experiments.results.files import write_file as write_file  # noqa: PLC0414 - for files beside the directory
from milpcb.experiments.results.versions import describe, installed
from milpcb.experiments.study.cells import FORMAT, Cell, Study, Task, Yardstick
from milpcb.experiments.study.sections import Config

CONFIG, INDEX, LOCK = "config.toml", "study.json", ".milpcb.lock"
FOLDERS = ("cells", "costs", "live", "logs")
PICTURES = ("png", "svg")
LONGEST = 50  # characters of the name of a file that come from labels; each takes up to 4 bytes of the 255 there are
MOST_REMARKS = 10  # damaged records that are named; the others are counted
_PLACES = {
    "record": ("cells", "json"),
    "part": ("cells", "part"),
    "costs": ("costs", "json"),
    "live": ("live", "json"),
    "log": ("logs", "log"),
}
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
_LIVE = re.compile(r"[0-9a-f]{16}\.json")
_POLICY_FILE = re.compile(r"(best_policy|leader)_[\w.+-]+\.(txt|png|svg)")
_CONFIG_SEAL = re.compile(r'checksum = "([0-9a-f]{64})"\n\Z')


def file_of(directory: Path, what: str, key: str) -> Path:
    """Return where a task's "record", "part" (checkpoint), "costs", "live" (position), "log" or picture is kept."""
    folder, suffix = _PLACES.get(what, ("cells", what))
    return directory / folder / f"{key}.{suffix}"


@dataclass(frozen=True)
class Held:
    """What a run directory holds of a study: keys of finished tasks, and lines that a user should see."""

    finished: set[str] = field(default_factory=set)
    remarks: tuple[str, ...] = ()


class RunDirectory:
    """One directory of results; a directory of something else, or of another format, is refused.

    Refused is whatever exists and is neither empty nor a directory that milpcb made, which it recognises by config.toml
    or, where that is damaged, by study.json. Files that only a killed run can have left there count as nothing.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        if _exists(path) and not path.is_dir():
            raise RunError(f"{path} exists and is no run directory; choose another with --out")
        for folder in FOLDERS:
            if (path / folder).is_symlink():
                raise RunError(
                    f"{path / folder} is a link, and a run writes only inside its own directory; "
                    "put the folder itself there, or choose another directory with --out"
                )
        if path.is_dir():
            _check_owner(path)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep every other run out of the directory; raises RunError when one is at work there."""
        make_folder(self.path)
        file = self.path / LOCK
        if file.is_symlink():
            raise RunError(f"{file} is a link, and a run writes only inside its own directory; remove it")
        holder = ""
        with suppress(OSError, UnicodeDecodeError):
            holder = contents(file).decode()
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

    def begin(self, config: Config, study: Study, finished: Collection[str] = ()) -> None:
        """Write down what is going to be computed, and clear away what a killed run left.

        That are temporaries, positions, and checkpoints of tasks that are ``finished`` (their keys).
        """
        earlier = _whole_index(self.path)
        written = earlier["written"] if earlier else []
        self.write(CONFIG, _config_text(config).encode())
        self.write(INDEX, sealed({**_index(config, study), "written": written}, indent=1))
        for folder in (self.path, self.path / "cells", self.path / "costs", self.path / "live"):
            for file in filter(is_temporary, _files_in(folder)):
                remove(file)
        for file in _files_in(self.path / "live"):
            if _LIVE.fullmatch(file.name):
                remove(file)
        for file in _files_in(self.path / "cells"):
            if file.suffix == ".part" and file.stem in finished:
                remove(file)

    def held(self, tasks: Iterable[Task]) -> Held:
        """Return which tasks are finished: their records are whole, and so are the pictures that are wanted.

        Its remarks name the records that are damaged and what was made with other versions than those installed here.
        """
        finished, damaged = set(), []
        made_with: dict[str, dict[str, str]] = {}
        for task in tasks:
            try:
                record = _read(self.path, task.key, task.horizon)
                if record is None or not _has_pictures(self.path, task, record):
                    continue
            except _DamagedError:
                damaged.append(f"record {task.key} of '{task.title}' is damaged; it is played again")
                continue
            finished.add(task.key)
            made_with[repr(record["versions"])] = record["versions"]
        return Held(finished, (*_shortened(damaged), *_mixed(self.path, made_with.values())))

    def keep(self, task: Task, record: Mapping[str, Any], pictures: Mapping[str, bytes]) -> None:
        """Write a finished task; its checkpoint is removed after that.

        A record that a power cut spoils is no record.
        """
        for suffix, content in pictures.items():
            write_file(file_of(self.path, suffix, task.key), content, durable=False)
        digests = {suffix: digest(content) for suffix, content in pictures.items()}
        body = {**record, "pictures": digests, "versions": installed()}
        write_file(file_of(self.path, "record", task.key), sealed(body), durable=False)
        remove(file_of(self.path, "part", task.key))
        remove(file_of(self.path, "live", task.key))

    def end(self) -> None:
        """Take away what only a running study needs."""
        with suppress(OSError):
            (self.path / "live").rmdir()

    def log(self, task: Task, text: str) -> None:
        """Add a line to the task's log."""
        file = file_of(self.path, "log", task.key)
        make_folder(file.parent)
        with suppress(OSError):
            append(file, f"{task.title}: {text}\n")

    def write(self, name: str, content: bytes) -> Path:
        """Write one file of the directory."""
        return write_file(self.path / name, content)

    def write_policies(self) -> None:
        """Write best policies in hindsight and leaders as rules and pictures, under the names that people look for.

        Files that an earlier run wrote here, and that the config does not ask for any more, are removed.
        """
        index, names = read_index(self.path), set()
        of_cells = [{**of_cell, "draw": True} for of_cell in index["leaders"]]
        for of_task, rules in [(y, "policy") for y in index["yardsticks"]] + [(c, "leader") for c in of_cells]:
            record = read_record(self.path, of_task["key"], of_task["horizon"])
            if record is None or rules not in record:
                continue
            files = {"txt": f"{record[rules]}\n".encode()}
            for suffix in record["pictures"] if of_task["draw"] else ():
                files[suffix] = contents(file_of(self.path, suffix, of_task["key"]))
            for suffix, content in files.items():
                names.add(write_file(self.path / f"{of_task['file']}.{suffix}", content, durable=False).name)
        for stale in set(index["written"]) - names:
            if _POLICY_FILE.fullmatch(stale):
                remove(self.path / stale)
        if set(index["written"]) != names:
            self.write(INDEX, sealed({**index, "written": sorted(names)}, indent=1))


def read_index(path: Path) -> dict[str, Any]:
    """Return the contents of study.json; raises RunError when the directory has none that is whole."""
    try:
        content = contents(path / INDEX)
    except OSError as error:
        raise RunError(
            f"{path} holds no curves that can be read ({INDEX}: {error.strerror}); is it a run directory? "
            f"milpcb run with its {CONFIG} mends it"
        ) from error
    index = unsealed(content)
    if index is None:
        raise RunError(
            f"{path / INDEX} is damaged, or of another version of milpcb; milpcb resume {path} mends the first, "
            "for the second run the experiment again in another directory"
        )
    if index.get("format") != FORMAT:
        raise RunError(f"{path / INDEX} is of another version of milpcb; run the experiment again in another directory")
    return index


def read_record(path: Path, key: str, horizon: int) -> dict[str, Any] | None:
    """Return a task's record; None where there is none, or one that is damaged or not of this task."""
    try:
        return _read(path, key, horizon)
    except _DamagedError:
        return None


def remarks(path: Path) -> tuple[str, ...]:
    """Return lines on damage in a run directory and on versions that differ; raises RunError where it is none."""
    index = read_index(path)
    damaged, made_with = [], {}
    for task in [*index["cells"], *index["yardsticks"]]:
        try:
            record = _read(path, task["key"], task["horizon"])
        except _DamagedError:
            damaged.append(f"record {task['key']} is damaged and left out; milpcb resume {path} plays it again")
            continue
        if record is not None:
            made_with[repr(record["versions"])] = record["versions"]
    return (*_shortened(damaged), *_mixed(path, made_with.values()))


def check_config(path: Path) -> None:
    """Raise RunError where config.toml is not byte for byte as a run wrote it: damaged, or edited by hand."""
    try:
        text = contents(path / CONFIG).decode()
    except (OSError, UnicodeDecodeError) as error:
        raise RunError(f"cannot read {path / CONFIG}: {error}; milpcb run CONFIG --out {path} mends it") from error
    seal = _CONFIG_SEAL.search(text)
    if seal is None or digest(text[: seal.start()].encode()) != seal.group(1):
        raise RunError(
            f"{path / CONFIG} was damaged, or edited, after the run wrote it; read it, and go on with "
            f"milpcb run CONFIG --out {path} (CONFIG may be that file)"
        )


class _DamagedError(Exception):
    """A record is there, and is not as it was written."""


def _read(path: Path, key: str, horizon: int) -> dict[str, Any] | None:
    """Return a task's record, None where there is none; raises _DamagedError."""
    try:
        content = contents(file_of(path, "record", key))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise _DamagedError from error
    record = unsealed(content)
    if record is None or not _is_record(record, key, horizon):
        raise _DamagedError
    return record


def _is_record(record: Mapping[str, Any], key: str, horizon: int) -> bool:
    """Return whether a record is that of a task, with columns of one length up to its horizon."""
    columns = [record[name] for name in record if name in _COLUMNS]
    lists = all(isinstance(column, list) and len(column) == len(columns[0]) > 0 for column in columns)
    facts = all(isinstance(record.get(name), dict) for name in ("versions", "pictures"))
    return record.get("key") == key and facts and lists and record.get("rounds", [None])[-1] == horizon


def _has_pictures(path: Path, task: Task, record: Mapping[str, Any]) -> bool:
    """Return whether the pictures that are wanted were drawn; raises _DamagedError where one is not as it was drawn."""
    if not task.draw or not (isinstance(task, Yardstick) or "leader" in record):
        return True
    for suffix, wanted in record["pictures"].items():
        try:
            found = digest(contents(file_of(path, suffix, task.key)))
        except OSError:
            return False
        if found != wanted:
            raise _DamagedError
    return bool(record["pictures"])


def _shortened(lines: Sequence[str]) -> list[str]:
    more = len(lines) - MOST_REMARKS
    return [*lines[:MOST_REMARKS], *([f"and {more:,} more records are damaged, too"] if more > 0 else [])]


def _mixed(path: Path, made_with: Iterable[Mapping[str, str]]) -> list[str]:
    others = describe(made_with)
    return [f"{path} holds records made with other versions: {others}; their numbers may differ"] if others else []


def _exists(path: Path) -> bool:
    return path.exists() or path.is_symlink()


def _files_in(folder: Path) -> list[Path]:
    return list(folder.iterdir()) if folder.is_dir() else []


def _check_owner(path: Path) -> None:
    """Raise RunError unless the directory is empty, or milpcb made it in this format."""
    if all(file.name == LOCK or is_temporary(file) for file in path.iterdir()):
        return
    if _whole_index(path) is not None:  # whatever became of config.toml, it can be written again
        return
    file = path / CONFIG
    if not file.exists():
        raise RunError(f"{path} exists and is no run directory; choose another with --out")
    try:
        versions = tomllib.loads(contents(file).decode()).get("versions")
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise RunError(f"cannot read {file}: {error}; choose another directory with --out") from error
    if not (isinstance(versions, dict) and "milpcb" in versions):
        raise RunError(
            f"{path} exists and is no run directory: its {CONFIG} is not one that milpcb wrote; "
            "choose another with --out"
        )
    if versions.get("format") != FORMAT:
        raise RunError(
            f"{path} is a run directory of format {versions.get('format', 1)}, this version writes format {FORMAT}; "
            "choose another with --out"
        )


def _whole_index(path: Path) -> dict[str, Any] | None:
    """Return study.json if it is whole and of this format, else None."""
    with suppress(RunError):
        return read_index(path)
    return None


def _config_text(config: Config) -> str:
    """Return config.toml: the resolved config, versions, and in its last line the checksum of all others."""
    text = tomli_w.dumps({**config.table(), "versions": {**installed(), "format": FORMAT}})
    return f'{text}checksum = "{digest(text.encode())}"\n'


def _index(config: Config, study: Study) -> dict[str, Any]:
    """Return study.json: labels are kept here and not in the records, so that a new label costs no new run."""
    names, drawn = _policy_files(config, study), [cell for cell in study.cells if cell.draw]
    return {
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


def _policy_files(config: Config, study: Study) -> list[str]:
    """Return best_policy_seed0, or with what else there are several of: best_policy_planted_trees_T1000_seed0."""
    names: list[str] = []
    for yardstick in study.yardsticks:
        parts = [yardstick.environment.label] if len(config.environments) > 1 else []
        parts += [yardstick.policies.label] if len(config.policies) > 1 else []
        parts += [f"T{yardstick.horizon}"] if len(config.experiment.horizon) > 1 else []
        names.append(_free(["best_policy", *parts], yardstick.seed, names))
    return names


def _leader_files(drawn: Sequence[Cell]) -> list[str]:
    """Return leader_bistro_plus_seed0, or with what else there are several of."""
    names: list[str] = []
    for cell in drawn:
        axes = [a for a in ("environment", "policies") if len({other.labels[a] for other in drawn}) > 1]
        axes += ["oracle"] if len(cell.learner.oracles) > 1 else []
        names.append(_free(["leader", *(str(cell.labels[axis]) for axis in ["learner", *axes])], cell.seed, names))
    return names


def _free(parts: Sequence[str], seed: int, names: Sequence[str]) -> str:
    """Return a name of these parts that a file system can keep and that is none of ``names``, whatever the case."""
    name = f"{'_'.join(map(_file_name, parts))[:LONGEST]}_seed{seed}"
    taken = {other.casefold() for other in names}
    candidates = (f"{name}_{i}" if i else name for i in range(len(names) + 1))
    return next(candidate for candidate in candidates if candidate.casefold() not in taken)


def _file_name(label: str) -> str:
    return re.sub(r"[^\w.+-]+", "-", label)
