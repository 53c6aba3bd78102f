"""The parts of a bandit, and how they are kept: files, copies, forks."""

import os
import stat
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import fields, is_dataclass
from pathlib import Path
from threading import Lock, RLock
from typing import Any, Self

from milpcb.bandit.contexts import ContextReader
from milpcb.bandit.decisions import Decision, Open, Override, makers
from milpcb.bandit.rounds import DecisionRounds
from milpcb.bandit.sums import Scale, of_plain
from milpcb.constraints.by_names import as_document, of_document
from milpcb.core import files, gate
from milpcb.core.checks import instance, whole
from milpcb.core.decimals import spaced
from milpcb.errors import InputError, MilpcbError, RunError, shown
from milpcb.plugins import injection, registry
from milpcb.protocols import PolicyClass

FORMAT = 14


def sealed(state: Mapping[str, Any]) -> bytes:
    """Return a state as the content of a file; raises InputError where it is no plain data."""
    try:
        return files.sealed({"format": FORMAT, **state}, default=_fields)
    except TypeError as error:
        raise InputError(f"this bandit cannot be saved, as its options are no plain data: {error}") from error


def _fields(value: Any) -> dict[str, Any]:
    if isinstance(value, (Decision, Open, Override)):
        return vars(value)
    raise TypeError(f"{shown(value)} is of type {type(value).__name__}")


def as_path(path: Any) -> Path:
    """Return ``path`` as a Path; raises InputError unless it is a string or a Path."""
    instance("the path of a file", path, (str, os.PathLike), "a string or a Path")
    return Path(path)


def write(path: Path, content: bytes) -> None:
    """Write what ``sealed`` returned to a new file, or over a plain one; raises InputError."""
    problem = ""
    try:
        if len(content) > gate.MOST_BYTES:
            most = spaced(gate.MOST_BYTES / 2**20, ".0f")
            problem = f"load reads at most {most} MB; give up decisions, or keep no log"
        elif not path.parent.is_dir():
            problem = f"there is no folder {path.parent}"
        elif os.path.lexists(path) and not stat.S_ISREG(path.lstat().st_mode):
            problem = "it is a folder, a link, a pipe or a device; give the path of a plain file, or a new one"
        else:
            files.write_over(path, content)
    except (OSError, RunError, ValueError) as error:  # or a zero byte in the path
        problem = str(error).removeprefix(f"cannot write {path}: ")
    if problem:
        raise InputError(f"cannot write {path}: {problem}")


def read(path: Path) -> dict[str, Any]:
    """Return the state that ``sealed`` was given; raises InputError on any other file, and on one that was damaged."""
    try:
        state = files.unsealed(gate.read_bytes(path, follow=True))
    except (OSError, ValueError) as error:  # or a zero byte in the path
        raise InputError(f"cannot read {path}: {getattr(error, 'strerror', None) or error}") from error
    if state is None:
        raise InputError(f"{path} is no file that Bandit.save wrote, or was damaged: its checksum does not fit")
    if state.get("format") != FORMAT:
        raise InputError(f"{path} has format {shown(state.get('format'))}, this version reads {FORMAT}")
    return state


def as_written(policies: PolicyClass) -> dict[str, Any] | None:
    """Return a registered class by its name and settings; None for another class."""
    for name in registry.BUILTIN["policies"]:
        if type(policies) is registry.load("policies", name) and is_dataclass(policies):
            options = {part.name: getattr(policies, part.name) for part in fields(policies) if part.init}
            return {"name": name, "options": options}
    return None


_held = ExitStack()  # of all locks: a fork waits until no other thread is in the middle of anything


def _before() -> None:
    for owner in set(makers.values()):
        _held.enter_context(owner.lock)


def _in_child() -> None:
    _held.pop_all()
    for owner in set(makers.values()):
        owner.forked()


if hasattr(os, "register_at_fork"):  # not everywhere is there a fork
    os.register_at_fork(before=_before, after_in_parent=_held.close, after_in_child=_in_child)


class BanditParts:
    """The parts of a bandit that files and copies hold, under one lock."""

    lock: Any  # of all that may change
    _scale: Scale

    def save(self, path: str | Path) -> None:
        """Write everything to a JSON file, replacing an old one; ``load`` goes on from it, with draws of its own.

        Readers see the old file or the new one, whole; decisions can be made meanwhile. The file holds the key
        by which decisions are recognised: its readers can forge them. Raises InputError where it cannot be written, or
        would be larger than ``load`` reads (1 GB).
        """
        with self._saving:  # files replace each other in the order of their states, and nobody waits for the disk
            write(as_path(path), self._content())

    @classmethod
    def load(cls, path: str | Path, policies: PolicyClass | None = None) -> Self:
        """Return the bandit that ``save`` wrote; ``policies`` for your own class, which the file does not describe.

        Raises InputError on any other file, and on one that names an unregistered class: no file runs code.
        """
        state = read(as_path(path))
        try:
            with gate.registered_only(f"the file {path}"):
                if policies is None and (own := state["policies"]) is not None:
                    policies = injection.make(registry.load("policies", own["name"]), {}, own["options"])
                if policies is None:
                    raise InputError("it is of a class of your own: pass it, as in Bandit.load(path, policies=...)")
                bandit = cls.__new__(cls)
                bandit.__setstate__((policies, state))
                return bandit
        except (MilpcbError, LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
            reason = error if isinstance(error, MilpcbError) else repr(error)
            raise InputError(f"{path} is no file that Bandit.save wrote: {reason}") from error

    def forked(self) -> None:
        """Go on in a child process: decisions of parent and child have ids and draws of their own."""
        self._rounds.part()
        self._set_up(self._rounds, self._scale, self._stated)

    def _set_up(self, rounds: DecisionRounds, scale: Scale, stated: tuple[int, float] | None = None) -> None:
        self._saving, self.lock = Lock(), RLock()
        self._rounds, self._scale = rounds, scale
        self._stated = stated  # decisions learnt, and what was paid for them, at the last statement
        makers[rounds.book.session] = self  # not before: a fork asks for all of it

    def _content(self) -> bytes:
        with self.lock:
            state = self._state()
        return sealed(state)  # which takes long where much is open, and nobody waits for it

    def _state(self) -> dict[str, Any]:
        rounds = self._rounds
        return {
            "policies": as_written(rounds.reader.given),
            "settings": rounds.settings,
            "scale": self._scale,
            "values": rounds.reader.declared,
            "constraints": [as_document(rule) for rule in rounds.constraints],
            "stated": self._stated,
            **rounds.state(),
        }

    def __getstate__(self) -> tuple[PolicyClass, dict[str, Any]]:
        return self._rounds.reader.given, files.unsealed(self._content()) or {}

    def __setstate__(self, kept: tuple[PolicyClass, Mapping[str, Any]]) -> None:
        policies, state = kept
        constraints = [of_document(document) for document in state["constraints"]]
        reader, rules = ContextReader(policies, state["values"]), of_plain(state["rules"], len(state["contexts"]))
        rounds = DecisionRounds(dict(state["settings"]), reader, constraints, state["contexts"], rules)
        rounds.restore(state)
        best, worst = state["scale"]
        self._set_up(rounds, Scale.of((best, worst), None) if best < worst else Scale.of(None, (worst, best)))
        if state["stated"] is not None:
            learnt, paid = state["stated"]
            self._stated = (whole("stated", learnt, 0, rounds.counted()), float(paid))
