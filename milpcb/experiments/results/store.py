"""Run directories: the resolved config, one record for each task. Files are replaced whole, never half written.

config.toml          resolved, with versions, the number of this format, and a checksum
study.json           which cells there are, what curves call them, and which comparator measures each
cells/KEY.json       a finished task; KEY.part its saved state before that
costs/KEY.json       costs that an environment computed for a horizon and seed, where that takes long
logs/KEY.log         what a task logged, warned of, or failed with
curves.csv           everything that is drawn or tabulated, put together from the records (curves.py)
best_policy_*        best policies in hindsight, as study.json lists them

Only files with these names are written or removed, only in a directory that was empty or that holds a config.toml or
study.json of milpcb, and never through a link. study.json, records, costs and saved states begin with a checksum
of what follows.
"""

import re
import tomllib
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import tomli_w
from filelock import FileLock, Timeout

from milpcb.core import files
from milpcb.errors import RunError
from milpcb.experiments.results import records
from milpcb.experiments.study.cells import FORMAT, Kind, Study, Task
from milpcb.experiments.study.sections import Config

_Facts = tuple[Kind, str, int, bool]  # of a task: kind, key, horizon, and whether its policy is drawn
_POLICY_FILE = re.compile(r"best_policy_[\w.+-]+\.(txt|svg)")
_CONFIG_SEAL = re.compile(r'checksum = "([0-9a-f]{64})"\n\Z')


class Held(NamedTuple):
    """Contents of a run directory for a study: keys of finished tasks, and lines that a user should see."""

    finished: set[str]
    remarks: tuple[str, ...]


class RunDirectory:
    """One directory of results; raises RunError unless it is new, empty, or milpcb's own, in this format."""

    def __init__(self, path: Path) -> None:
        self.path = path
        if (path.exists() or path.is_symlink()) and not path.is_dir():
            raise RunError(f"{path} exists and is no run directory; choose another with --out")
        for folder in records.FOLDERS:
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
        files.make_folder(self.path)
        file = self.path / records.LOCK
        try:
            files.check_sole(file)
        except OSError as error:
            raise RunError(f"{file} is a link, and a run writes only inside its own directory; remove it") from error
        lock = FileLock(file)
        try:
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
        """Write down what will be computed; clear away temporaries, states of ``finished`` tasks, and policies."""
        for name in (records.whole_index(self.path) or {"written": ()})["written"]:
            if _POLICY_FILE.fullmatch(name):
                files.remove(self.path / name)
        text = tomli_w.dumps({**config.table(), "versions": {**records.installed(), "format": FORMAT}})
        self.write(records.CONFIG, f'{text}checksum = "{files.digest(text.encode())}"\n'.encode())
        self.write(records.INDEX, files.sealed({**records.index_of(config, study), "written": []}, indent=1))
        for folder in (self.path, self.path / "cells", self.path / "costs"):
            for file in filter(files.is_temporary, _files_in(folder)):
                files.remove(file)
        for file in _files_in(self.path / "cells"):
            if file.suffix == ".part" and file.stem in finished:
                files.remove(file)

    def held(self, tasks: Iterable[Task]) -> Held:
        """Return which tasks have whole records, and remarks on damage and on other versions."""
        return _held(self.path, [(task.kind, task.key, task.horizon, task.draw) for task in tasks])

    def keep(self, task: Task, record: Mapping[str, Any]) -> None:
        """Write a finished task, and remove its saved state; a record that a power cut spoils is no record."""
        body = {**record, "versions": records.installed()}
        files.write_file(records.file_of(self.path, "record", task.key), files.sealed(body), durable=False)
        files.remove(records.file_of(self.path, "part", task.key))

    def log(self, task: Task, text: str) -> None:
        """Add a line to the task's log."""
        file = records.file_of(self.path, "log", task.key)
        files.make_folder(file.parent)
        with suppress(OSError):
            files.append(file, f"{task.title}: {text}\n")

    def write(self, name: str, content: bytes) -> Path:
        """Write one file of the directory."""
        return files.write_file(self.path / name, content)

    def write_policies(self) -> None:
        """Write best policies in hindsight as rules and drawings, under the names that people look for."""
        index, names = records.read_index(self.path), []
        for task in index["comparators"]:
            record = records.read_record(self.path, "comparator", task["key"], task["horizon"])
            parts = {} if record is None else {"txt": f"{record['policy']}\n"}
            if record and task["draw"] and "drawing" in record:
                parts["svg"] = record["drawing"]
            for suffix, text in parts.items():
                file = self.path / f"{task['file']}.{suffix}"
                names.append(files.write_file(file, text.encode(), durable=False).name)
        if names:
            self.write(records.INDEX, files.sealed({**index, "written": sorted(names)}, indent=1))


def remarks(path: Path) -> tuple[str, ...]:
    """Return lines on damage in a run directory and on versions that differ; raises RunError where it is none."""
    index = records.read_index(path)
    tasks: list[_Facts] = [("cell", each["key"], each["horizon"], False) for each in index["cells"]]
    tasks += [("comparator", each["key"], each["horizon"], False) for each in index["comparators"]]
    return _held(path, tasks).remarks


def check_config(path: Path) -> None:
    """Raise RunError where config.toml is not byte for byte as a run wrote it: damaged, or edited by hand."""
    try:
        text = files.contents(path / records.CONFIG).decode()
    except (OSError, UnicodeDecodeError) as error:
        raise RunError(
            f"cannot read {path / records.CONFIG}: {error}; milpcb run CONFIG --out {path} fixes it"
        ) from error
    seal = _CONFIG_SEAL.search(text)
    if seal is None or files.digest(text[: seal.start()].encode()) != seal.group(1):
        raise RunError(
            f"{path / records.CONFIG} was damaged, or edited, after the run wrote it; read it, and go on with "
            f"milpcb run CONFIG --out {path} (CONFIG may be that file)"
        )


def _held(path: Path, tasks: Iterable[_Facts]) -> Held:
    versions, lines = dict[str, dict[str, str]](), []
    for kind, key, horizon, draw in tasks:
        try:
            record = records.read_whole(path, kind, key, horizon)
            if record is not None and (not draw or "drawing" in record):
                versions[key] = record["versions"]
        except records.DamagedError:
            lines.append(f"record {key} is damaged; milpcb run and resume play it again")
    if others := records.describe(versions.values()):
        lines.append(f"{path} holds records made with other versions: {others}; their numbers may differ")
    return Held(set(versions), tuple(lines))


def _files_in(folder: Path) -> list[Path]:
    return list(folder.iterdir()) if folder.is_dir() else []


def _check_owner(path: Path) -> None:
    if all(file.name == records.LOCK or files.is_temporary(file) for file in path.iterdir()):
        return
    if records.whole_index(path) is not None:  # whatever became of config.toml, it can be written again
        return
    file = path / records.CONFIG
    if not file.exists():
        raise RunError(f"{path} exists and is no run directory; choose another with --out")
    try:
        versions = tomllib.loads(files.contents(file).decode()).get("versions")
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise RunError(f"cannot read {file}: {error}; choose another directory with --out") from error
    if not (isinstance(versions, dict) and "milpcb" in versions):
        raise RunError(
            f"{path} exists and is no run directory: its {records.CONFIG} is not one that milpcb wrote; "
            "choose another with --out"
        )
    if versions.get("format") != FORMAT:
        raise RunError(
            f"{path} is a run directory of format {versions.get('format', 1)}, this version writes format {FORMAT}; "
            "choose another with --out"
        )
