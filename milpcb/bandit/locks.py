"""Locks that stay usable after a fork: none is held by a thread that the child process does not have."""

from __future__ import annotations

import os
from contextlib import ExitStack
from threading import RLock
from typing import Any, Protocol
from weakref import WeakSet


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
