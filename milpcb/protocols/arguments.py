"""Arguments and state of learners: checks before a constructor runs; what changes from round to round as plain data."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from milpcb import rng
from milpcb.core.checks import whole
from milpcb.errors import InputError, UnknownNameError, shown
from milpcb.rng import check_seed


def state_of(owner: Any, attributes: tuple[str, ...]) -> dict[str, Any]:
    """Return the values of some attributes as plain data (JSON-able), by their names without a leading underscore."""
    return {name.lstrip("_"): _plain(getattr(owner, name)) for name in attributes}


def restore_into(owner: Any, attributes: tuple[str, ...], state: dict[str, Any]) -> None:
    """Set attributes to what ``state_of`` returned of them: arrays, generators and parts with a state in place."""
    for name in attributes:
        setattr(owner, name, _restored(getattr(owner, name), state[name.lstrip("_")]))


def _plain(value: Any) -> Any:
    if isinstance(value, np.random.Generator):
        return rng.freeze(value)
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, (list, tuple)):
        return [_plain(entry) for entry in value]
    return value.state() if hasattr(value, "state") else value


def _restored(value: Any, state: Any) -> Any:
    if isinstance(value, np.random.Generator):
        rng.thaw(value, state)
    elif isinstance(value, np.ndarray):
        value[:] = state
    elif hasattr(value, "restore"):
        value.restore(state)
    else:
        return type(value)(state)
    return value


# Every learner may be given these, so that all are made alike; a constructor that does not name one is not handed it.
FOR_ALL = ("horizon", "seed")


def checked_constructor(init: Callable[..., None]) -> Callable[..., None]:
    """Return a learner's ``__init__`` behind the checks that are the same for all of them.

    Arguments that are missing, unknown or given by position although they are options raise InputError, which shows how
    to write the call. ``oracle``, ``pool``, ``horizon`` and ``seed`` are checked to be what their names mean. The
    learner gets ``oracle`` and ``horizon`` as attributes before its own constructor runs, and ``_given``, the options
    by name.
    """
    signature = inspect.signature(init)
    takes_any = any(parameter.kind is parameter.VAR_KEYWORD for parameter in signature.parameters.values())

    @functools.wraps(init)
    def checked(self: Any, *arguments: Any, **named: Any) -> None:
        not_named = (
            [] if takes_any else [name for name in FOR_ALL if name in named and name not in signature.parameters]
        )
        dropped = {name: _checked(name, named.pop(name)) for name in not_named}
        bound = _bound(type(self).__name__, signature, self, arguments, named)
        for name in _CHECKS:
            if name in bound.arguments:
                optional = signature.parameters[name].default is None
                bound.arguments[name] = _checked(name, bound.arguments[name], optional=optional)
        for name, value in (bound.arguments | dropped).items():
            if name in ("oracle", "horizon"):
                setattr(self, name, value)
        if not self._given:  # the constructor of a base class, called by this one, is given less
            given = {name: bound.arguments.get(name, value) for name, value in named.items()} | dropped
            self._given = {name: value for name, value in given.items() if name not in ("oracle", "pool")}
        init(*bound.args, **bound.kwargs)
        self.ledger.blocks.plan(self.horizon)

    return checked


def _checked(name: str, value: Any, *, optional: bool = True) -> Any:
    return None if value is None and optional else _CHECKS[name](value)


def _bound(
    learner: str, signature: inspect.Signature, self: Any, arguments: tuple[Any, ...], named: dict[str, Any]
) -> inspect.BoundArguments:
    """Return the arguments by name, defaults left out; raises InputError where the call does not fit."""
    parameters = list(signature.parameters.values())[1:]
    call = _call(learner, parameters)
    places = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    open_ended = any(p.kind is p.VAR_POSITIONAL for p in parameters)
    if len(arguments) > len(places) and not open_ended:
        raise InputError(
            f"{learner} takes {len(places)} argument{'s' * (len(places) != 1)} by position, got {len(arguments)}: "
            f"give options by name, as in {call}"
        )
    try:
        return signature.bind(self, *arguments, **named)
    except TypeError as error:
        names = [p.name for p in parameters if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
        unknown = [name for name in named if name not in names]
        if unknown:
            raise UnknownNameError(f"argument of {learner}", unknown[0], {*names, *FOR_ALL}) from error
        raise InputError(f"{learner}: {error}; write {call}") from error


def _call(learner: str, parameters: list[inspect.Parameter]) -> str:
    """Return how the constructor is called, with what it must have, or else its first option."""
    places = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    options = [p for p in parameters if p.kind is p.KEYWORD_ONLY]
    shown_options = [p for p in options if p.default is p.empty] or options[:2]
    return f"{learner}({', '.join([*places, *(f'{p.name}=...' for p in shown_options)])})"


def _check_oracle(oracle: Any) -> Any:
    known = all(hasattr(oracle, name) for name in ("n_contexts", "n_actions", "capabilities"))
    if isinstance(oracle, type) or not known:
        raise InputError(f"oracle must be what open_oracle(policies, contexts) returns, got {shown(oracle)}")
    return oracle


def _check_pool(pool: Any) -> Any:
    if isinstance(pool, type) or not all(hasattr(pool, name) for name in ("attach", "observe", "future")):
        raise InputError(f"pool must be a model of the contexts, such as FinitePool(contexts), got {shown(pool)}")
    return pool


_CHECKS: dict[str, Callable[[Any], Any]] = {
    "oracle": _check_oracle,
    "pool": _check_pool,
    "horizon": lambda horizon: whole("horizon", horizon, 1),
    "seed": check_seed,
}
