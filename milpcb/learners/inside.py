"""Learners that play inside another one, which hands them some of its rounds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from milpcb.errors import InputError, shown
from milpcb.learners.base import Learner
from milpcb.plugins import injection, registry


def inside(
    inner: str | Learner,
    supplied: Mapping[str, Any],
    options: Mapping[str, Any] | None,
    around: type[Learner],
    what: str,
) -> Learner:
    """Return a learner for the inside of one of class ``around``, which is ``what``: made by its name, or as handed in.

    ``supplied`` is what it may ask for, with ``n_actions``; ``options`` are its own. Raises InputError where it cannot
    play there, or has played, and what making it raises.
    """
    if isinstance(inner, Learner):
        return _fresh(inner, supplied["n_actions"], what)
    cls = registry.load("learner", inner)
    if cls.full_information or injection.asks(cls, "best") or cls is around:
        raise InputError(_PLAYED.format(what, f"'{inner}'"))
    if options is not None and not isinstance(options, Mapping):
        raise InputError(f"options must be a table of {inner}'s own options by name, got {shown(options)}")
    known = {name: value for name, value in supplied.items() if value is not None}
    made: Learner = injection.make(cls, known, options or {})
    return made


def _fresh(inner: Learner, n_actions: int, what: str) -> Learner:
    name = type(inner).__name__
    if inner.full_information:
        raise InputError(_PLAYED.format(what, name))
    if inner.n_actions != n_actions:
        raise InputError(f"the {name} inside has {inner.n_actions} actions, and the oracle {n_actions}")
    if inner.played:
        raise InputError(f"the {name} inside has played already; hand in one that has not")
    return inner


_PLAYED = "{} goes with learners that learn from played actions, not with {}"
