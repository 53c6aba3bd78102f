"""Run directories: the resolved config, one file of curves, pictures. Files are replaced whole, never half written."""

from __future__ import annotations

import os
import tempfile
import tomllib
from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path
from typing import IO, Any

import tomli_w

from milpcb.errors import RunError
from milpcb.experiments.config import Config
from milpcb.experiments.curves import CURVES, Row, read_curves, write_curves
from milpcb.protocols import Policy

CONFIG = "config.toml"
VERSIONS = ("milpcb", "numpy", "scipy", "highspy", "pulp", "scikit-learn")


class RunDirectory:
    """One directory of results; opening one that holds another experiment is refused."""

    def __init__(self, path: Path, config: Config) -> None:
        self.path = path
        self.rows: list[Row] = []
        self._resolved = config.table()
        if (path / CONFIG).exists():
            self._continue()
        elif path.exists() and (not path.is_dir() or any(not _is_temporary(file) for file in path.iterdir())):
            raise RunError(f"{path} exists and is no run directory; choose another with --out")
        else:
            _make_folder(path)

    def finished(self) -> set[tuple[str, int]]:
        """Return the (learner, seed) pairs whose curves are complete."""
        return {(row.learner, row.seed) for row in self.rows}

    def add(self, rows: Iterable[Row]) -> None:
        """Add a finished curve; the file on disk is replaced whole."""
        longer = [*self.rows, *rows]
        self.write(CURVES, write_curves(longer).encode())
        self.rows = longer

    def add_policy(self, seed: int, policy: Policy | None) -> None:
        """Write the best policy in hindsight as rules and as a picture."""
        from milpcb.experiments.plots import draw_policy  # matplotlib takes its time, and a mistake is told before

        self.write(f"best_policy_seed{seed}.txt", f"{policy}\n".encode())
        if policy is not None:
            for suffix, content in draw_policy(policy).items():
                self.write(f"best_policy_seed{seed}.{suffix}", content)

    def write(self, name: str, content: bytes) -> Path:
        """Write one file of the directory; the config goes first, but not before there is a result to go with it."""
        if not (self.path / CONFIG).exists():
            versions = {package: version(package) for package in VERSIONS}
            write_file(self.path / CONFIG, tomli_w.dumps({**self._resolved, "versions": versions}).encode())
        return write_file(self.path / name, content)

    def _continue(self) -> None:
        try:
            held = tomllib.loads((self.path / CONFIG).read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
            raise RunError(f"cannot read {self.path / CONFIG}: {error}; choose another directory with --out") from error
        held.pop("versions", None)
        wanted = tomllib.loads(tomli_w.dumps(self._resolved))
        if held != wanted:
            raise RunError(
                f"{self.path} holds another experiment ({_difference(held, wanted)}); choose another with --out"
            )
        if (self.path / CURVES).exists():
            self.rows = read_curves(self.path)


def write_file(target: Path, content: bytes) -> Path:
    """Write a file so that a reader sees the old one or the new one; raises RunError when the disk refuses."""
    _make_folder(target.parent)
    try:
        with tempfile.NamedTemporaryFile(dir=target.parent, prefix=f".{target.name}.", delete=False) as part:
            _replace(Path(part.name), target, part, content)
    except OSError as error:
        raise RunError(
            f"cannot write {target}: {error.strerror}; what was finished before is kept, mend that and run again"
        ) from error
    return target


def _replace(temporary: Path, target: Path, part: IO[bytes], content: bytes) -> None:
    try:
        part.write(content)
        part.flush()
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


def _difference(held: dict[str, Any], wanted: dict[str, Any]) -> str:
    sections = [key for key in wanted if held.get(key) != wanted[key]] or [key for key in held if key not in wanted]
    return "it differs in " + ", ".join(sections)
