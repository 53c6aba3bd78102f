"""The parts of a bandit, and how they are kept: files, copies, forks."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from threading import Lock, RLock
from typing import Any, Protocol, Self
from weakref import WeakSet

from milpcb.bandit import made, saved
from milpcb.bandit.contexts import ContextReader
from milpcb.bandit.decisions import makers
from milpcb.bandit.events import Event
from milpcb.bandit.rounds import DecisionRounds
from milpcb.bandit.scale import Scale
from milpcb.bandit.statement import Stated
from milpcb.constraints.by_names import NamedConstraint, as_documents, of_document
from milpcb.core import files, gate
from milpcb.core.checks import whole
from milpcb.errors import InputError, MilpcbError
from milpcb.protocols import PolicyClass
from milpcb.types import Floats


class Locked(Protocol):
    """An object with a lock, to be called after a fork in the child."""

    lock: Any

    def forked(self) -> None:
        """Go on in a child process."""
        ...


_every: WeakSet[Any] = WeakSet()
_held = ExitStack()


def watch(owner: Locked) -> None:
    """Give an object a lock, and see that forks wait for it: then no other thread is in the middle of anything."""
    owner.lock = RLock()
    _every.add(owner)


def _before() -> None:
    for owner in list(_every):
        _held.enter_context(owner.lock)


def _in_parent() -> None:
    _held.close()


def _in_child() -> None:
    _held.pop_all()
    for owner in list(_every):
        owner.lock = RLock()
        owner.forked()


if hasattr(os, "register_at_fork"):  # not everywhere is there a fork
    os.register_at_fork(before=_before, after_in_parent=_in_parent, after_in_child=_in_child)


class BanditParts:
    """The parts of a bandit, under one lock, which a file or a copy holds."""

    lock: Any  # of all that may change; see milpcb.bandit.parts
    _on_event: Callable[[Event], object] | None
    _scale: Scale

    def save(self, path: str | Path) -> None:
        """Write everything to a JSON file, from which ``load`` goes on, with draws of its own; replaces an old one.

        Readers see the old file or the new one, whole, whatever threads and processes save at the same time; while it
        is written, decisions are made. The file holds the key by which decisions are recognised: who reads it can forge
        them. Raises InputError where it cannot be written, as where the path is that of a pipe, a device or a link, and
        where it would be larger than ``load`` reads (1 GB).
        """
        with self._saving:  # files replace each other in the order of their states, and nobody waits for the disk
            saved.write(saved.as_path(path), self._content())

    @classmethod
    def load(cls, path: str | Path, policies: PolicyClass | None = None) -> Self:
        """Return the bandit that ``save`` wrote; ``policies`` for your own class, which the file does not describe.

        Raises InputError on any other file, on one that was damaged, and on one that names what is not registered: a
        file of somebody else's runs no code.
        """
        state = saved.read(saved.as_path(path))
        try:
            with gate.registered_only(f"the file {path}"):
                bandit = cls.__new__(cls)
                bandit.__setstate__((policies or saved.written_class(state["policies"]), state))
                return bandit
        except MilpcbError as error:
            raise InputError(f"{path} is no file that Bandit.save wrote: {error}") from error
        except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError) as error:
            raise InputError(f"{path} is no file that Bandit.save wrote: {error!r}") from error

    def forked(self) -> None:
        """Go on in a child process: decisions of parent and child have ids and draws of their own."""
        self._saving = Lock()
        self._rounds.part()
        makers[self._rounds.book.session] = self

    def _set_up(
        self,
        policies: PolicyClass,
        settings: dict[str, Any],
        scale: Scale,
        values: Any,
        constraints: list[NamedConstraint],
    ) -> None:
        self._saving = Lock()
        self._on_event = None
        self._policies, self._settings, self._constraints = policies, settings, constraints
        self._scale = scale
        self._featureless = made.featureless(policies)
        self._reader = ContextReader(made.with_constant(policies), values, settings["missing"])
        self._names = made.action_names(policies)
        for constraint in constraints:
            constraint.named(self._names)
        self._stated: Stated | None = None
        self._added: list[str] = []  # actions that came later
        self._logged = 0  # rounds of the log that it began with
        self._log: list[list[Any]] | None = [] if settings["keep_log"] else None  # see saved.checked_log

    def _begin(self, known: tuple[Floats | None, Sequence[Any]]) -> None:
        """Open the oracle on known contexts (m, d) under rules, or without contexts; make the learner."""
        self._rounds = DecisionRounds(self._settings, self._reader, self._names, self._constraints, known)
        watch(self)  # not before: a fork asks for all of it
        makers[self._rounds.book.session] = self

    def _content(self) -> bytes:
        with self.lock:
            state = self._state()
        try:
            return saved.sealed(state)  # which takes long where much is open, and nobody waits for it
        except TypeError as error:
            raise InputError(f"this bandit cannot be saved, as its options are no plain data: {error}") from error

    def _state(self) -> dict[str, Any]:
        return {
            "policies": saved.as_written(self._policies),
            "settings": self._settings,
            "scale": self._scale,
            "values": self._reader.declared,
            "constraints": as_documents(self._constraints),
            "stated": self._stated,
            "added": list(self._added),
            "logged": self._logged,
            "log": None if self._log is None else list(self._log),
            **self._rounds.state(),
        }

    def __getstate__(self) -> tuple[PolicyClass, dict[str, Any]]:
        return self._policies, files.unsealed(self._content()) or {}

    def __setstate__(self, kept: tuple[PolicyClass, Mapping[str, Any]]) -> None:
        """Take up a state on a bandit that is not made; raises MilpcbError, and the errors of data of another shape."""
        policies, state = kept
        constraints = [of_document(document) for document in state["constraints"]]
        self._set_up(policies, dict(state["settings"]), Scale.restored(state["scale"]), state["values"], constraints)
        self._begin(DecisionRounds.known(state))
        self._rounds.restore(state)
        makers[self._rounds.book.session] = self
        if state["stated"] is not None:
            learnt, paid = state["stated"]
            self._stated = (whole("stated", learnt, 0, self._rounds.counted()), float(paid))
        self._added, self._logged = list(map(str, state["added"])), whole("logged", state["logged"], 0)
        self._log = saved.checked_log(state["log"], len(self._names))
