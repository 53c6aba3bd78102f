"""A log: features, actions, outcomes, and the probabilities of the actions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from milpcb.core.checks import LARGEST, ROUNDING, instance, number_array, real, several
from milpcb.data.actions import action_name, by_action, check_levels, entries, is_missing, places
from milpcb.data.columns import Values
from milpcb.data.frames import as_array, table_names
from milpcb.data.schema import read_columns
from milpcb.errors import InputError, UnknownNameError, shown
from milpcb.rng import child
from milpcb.types import Bools, Floats, Ints

RANDOMISED = "randomised"
DIGITS = (3, 9)  # of propensities whose sums may be off by rounding
FUZZ = 1e-6  # how far from a multiple of its unit a decimal of so few digits is at most


@dataclass(frozen=True, eq=False)
class Log:
    """n rows of features, actions (K different ones) and outcomes; ``read_log`` makes and checks a log.

    Attributes
    ----------
    features : (n, d) table for the models of outcome and propensity: an array or a data frame
    action : (n,) numbers 0..K-1
    outcome : (n,) in the caller's own unit
    maximise : whether the outcome is a reward, not a cost
    actions : K names
    propensity : (n, K) probability of each action, NaN where it is not known; None: to be estimated
    randomised : whether the propensities are the same in every row
    shares : whether these are the shares of the log itself, so that weights of rows move them
    group : (n,) number of the group of each row; None where every row stands for itself

    """

    features: Any
    action: Ints
    outcome: Floats
    maximise: bool
    actions: tuple[str, ...]
    propensity: Floats | None = None
    randomised: bool = False
    shares: bool = False
    group: Ints | None = None

    def __len__(self) -> int:
        return len(self.outcome)

    @property
    def members(self) -> Ints:
        """(n,) number of the group of each row, 0, 1, ... without gaps; its own number where there are no groups."""
        if self.group is None:
            return np.arange(len(self))
        return np.asarray(np.unique(self.group, return_inverse=True)[1], dtype=np.int64)

    @cached_property
    def columns(self) -> Mapping[str, Values]:
        """The features (n,) by name, x0, x1, ... where they have none; {} where they cannot be read as a table."""
        try:
            names = table_names(self.features) or tuple(f"x{i}" for i in range(np.shape(self.features)[1]))
            return read_columns(self.features, names, names)
        except (IndexError, InputError):  # features of a model of the caller's own
            return {}

    def by(self, actions: tuple[str, ...], order: Ints) -> Self:
        """Return the log with its actions in the ``order`` (K,) of these numbers, under the names ``actions``."""
        known = None if self.propensity is None else self.propensity[:, order]
        return replace(self, action=np.argsort(order)[self.action], actions=actions, propensity=known)

    def take(self, rows: Ints) -> Self:
        """Return the log of ``rows`` (numbers); the names of the actions stay, so one may be missing."""
        return replace(
            self,
            features=self.features.iloc[rows] if hasattr(self.features, "iloc") else self.features[rows],
            action=self.action[rows],
            outcome=self.outcome[rows],
            propensity=None if self.propensity is None else self.propensity[rows],
            group=None if self.group is None else self.group[rows],
        )


def read_log(
    features: Any,
    action: Any,
    *,
    reward: Any = None,
    cost: Any = None,
    propensity: Any = None,
    actions: Sequence[Any] | None = None,
    group: Any = None,
) -> Log:
    """Return a checked log; an InputError names the row, action or option that is wrong.

    Parameters
    ----------
    features : (n, d) array or data frame, whatever the models of ``scores`` can read
    action : (n,) names or numbers, see milpcb.data.actions
    reward, cost : (n,) the outcomes; give one of the two, in any unit
    propensity : the probability of the action. None: estimated from the log. "randomised": by its shares. (K,): in
        every row, in the order of ``actions``. (n,): of the logged action. (n, K): of every action, with sums of 1
    actions : the K names in order; None takes the distinct ones of ``action``, sorted
    group : (n,) number or name of the group of each row, such as a patient who came several times. Groups are taken to
        be independent, the rows of one are not: folds, standard errors, resamples and hold-out rows go by groups

    """
    if (reward is None) == (cost is None):
        raise InputError("give either reward= (larger is better) or cost= (smaller is better)")
    maximise = reward is not None
    outcome = _outcome("reward" if maximise else "cost", reward if maximise else cost)
    numbers, names = _actions(action, actions)
    table = features if hasattr(features, "shape") else as_array(features)
    rows = int(table.shape[0]) if len(table.shape) else 0
    for what, length in (("action", len(numbers)), ("features", rows)):
        if length != len(outcome):
            raise InputError(f"{what} has {length} rows, but there are {len(outcome)} outcomes; give one for each row")
    known, randomised = _propensity(propensity, numbers, names)
    by_shares = isinstance(propensity, str)
    return Log(table, numbers, outcome, maximise, names, known, randomised, by_shares, _groups(group, len(outcome)))


def _groups(values: Any, n: int) -> Ints | None:
    """Return the number of the group (n,) of each row; 1 and 1.0 are one group, as they are one action."""
    if values is None:
        return None
    labels = np.asarray(values)
    if labels.shape != (n,) or (labels.dtype.kind not in "iub" and any(map(is_missing, labels.tolist()))):
        raise InputError(f"group must be one number or name a row, ({n},), none missing, got shape {labels.shape}")
    if labels.dtype.kind not in "iub":
        labels = np.array([*map(action_name, labels.tolist())])
    distinct, number = np.unique(labels, return_inverse=True)
    if len(distinct) < 2:
        raise InputError("all rows are in one group, so chance cannot be measured; leave group out")
    return np.asarray(number, dtype=np.int64)


def check_log(log: Any) -> None:
    """Raise InputError on anything but a log."""
    instance("log", log, Log, "a log, as milpcb.offline.read_log makes it")


def _outcome(name: str, values: Any) -> Floats:
    outcome = number_array(name, values)
    if outcome.ndim != 1 or not outcome.size:
        raise InputError(f"{name} must be one number a row, got shape {outcome.shape}")
    wrong = np.flatnonzero(~(np.abs(outcome) <= LARGEST))
    if len(wrong):
        found = f"{name}[{wrong[0]}] is {outcome[wrong[0]]:g}"
        raise InputError(f"{found}; leave out rows whose outcome is missing, infinite or beyond {LARGEST:g}")
    return outcome


def _actions(values: Any, given: Sequence[Any] | None) -> tuple[Ints, tuple[str, ...]]:
    done = entries(values)
    if given is not None:
        given = several("actions", given, object, "the names of the actions")
    missing = [row for row, value in enumerate(done) if is_missing(value)]
    if missing:
        raise InputError(f"action[{missing[0]}] is missing; leave out rows without an action")
    names = action_names(done, given)
    numbers = places("action", done, names)
    unseen = sorted(set(range(len(names))) - set(numbers.tolist()))
    if unseen:
        raise InputError(f"action '{names[unseen[0]]}' is never taken in the log; leave it out of actions")
    return numbers, names


def action_names(done: Sequence[Any], given: Sequence[Any] | None = None) -> tuple[str, ...]:
    """Return the names of the actions: those ``given``, else those in ``done``, sorted; raises InputError."""
    check_levels(done)
    names = tuple(map(action_name, sorted(set(done), key=_order) if given is None else given))
    names = tuple(dict.fromkeys(names)) if given is None else names
    if len(set(names)) < len(names):
        raise InputError(f"actions {shown(list(names))} have a name twice; give each its own")
    if len(names) < 2:
        one = shown(names[0] if names else None)
        raise InputError(f"the log has one action only, {one}; there is nothing to choose from")
    return names


def _order(value: Any) -> tuple[bool, Any]:
    return (False, value) if isinstance(value, (bool, int, float)) else (True, str(value))


def _propensity(values: Any, action: Ints, names: tuple[str, ...]) -> tuple[Floats | None, bool]:
    n, K = len(action), len(names)
    if values is None:
        return None, False
    if isinstance(values, str):
        if values != RANDOMISED:
            raise UnknownNameError("propensity", values, (RANDOMISED,))
        return np.tile(np.bincount(action, minlength=K) / n, (n, 1)), True
    array = number_array("propensity", by_action("propensity", values, names))
    if array.shape == (n,):
        full = np.full((n, K), np.nan)
        full[np.arange(n), action] = _logged(array)
        return full, False
    full = chances("propensities", array, names, n, f"({n},) of what was done, ")
    _logged(full[np.arange(n), action])
    return full, array.ndim == 1


def _logged(logged: Floats) -> Floats:
    wrong = np.flatnonzero(~((logged > 0) & (logged <= 1)))
    if len(wrong):
        raise InputError(
            f"propensity of the action in row {wrong[0]} is {logged[wrong[0]]:g}; it must be above 0 and at most 1"
        )
    return logged


def chances(what: str, table: Any, actions: Sequence[str], n: int, other: str = "") -> Floats:
    """Return the probabilities (n, K) of actions, of every row or the same in all; ``other`` is one more form."""
    array, K = number_array(what, by_action(what, table, actions)), len(actions)
    if array.shape not in {(K,), (n, K)}:
        forms = f"{other}({n}, {K}) of every action, or ({K},) where they are the same in every row"
        raise InputError(f"{what} have shape {array.shape}; give {forms}")
    return divided(np.array(np.broadcast_to(array, (n, K))), what=what)


def divided(full: Floats, first: int = 0, what: str = "propensities") -> Floats:
    """Return propensities (n, K) divided by their sum in each row, which must be 1 up to rounding.

    Raises InputError on a row, counted from ``first``, whose sum is further from 1 than its digits explain.
    """
    sums, inside = full.sum(axis=1), ((full >= 0) & (full <= 1)).all(axis=1)
    off = np.abs(sums - 1)
    wrong = np.flatnonzero(~inside if not inside.all() else off > _rounding(full) + 1e3 * ROUNDING)
    if len(wrong):
        row = full[wrong[0]]
        raise InputError(
            f"{what} of row {wrong[0] + first} are {shown(row.tolist())}, with sum {row.sum():.10g}; "
            "they must be in [0, 1] with sum 1"
        )
    return np.asarray(full / np.where(off > ROUNDING, sums, 1.0)[:, None])


def _rounding(full: Floats) -> Floats:
    """Return how far sums (n,) may be off: half a unit of the last digit, of as many as any number of the row has."""
    zeros = np.minimum(np.floor(np.log10(np.maximum(full, 1e-12))) + 1, 0.0)  # -1 for 0.05
    found = np.zeros(len(full))
    for behind in (np.zeros_like(full), zeros):
        of_digits = (10.0 ** (behind - digits) for digits in range(*DIGITS))
        units = next((each for each in of_digits if (np.abs(full / each - np.rint(full / each)) < FUZZ).all()), None)
        found = found if units is None else np.maximum(found, 0.5 * units.sum(axis=1))
    return found


def kept_aside(log: Log, share: float, seed: int = 0) -> Bools:
    """Return the hold-out rows (n,) of a log: about a share of each action's rows, or of the groups.

    ``log.take(np.flatnonzero(~aside))`` is learnt from, ``log.take(np.flatnonzero(aside))`` scored and evaluated.

    Parameters
    ----------
    log, share, seed : rows of a group stay together; the share is strictly between 0 and 1; the seed of the draw

    """
    check_log(log)
    part = real("holdout", share, "between 0 and 1 (0.3 is usual)", lambda value: 0 < value < 1)
    members = log.members
    first = np.unique(members, return_index=True)[1]
    rng, aside = child(seed, "offline", "kept aside"), np.zeros(len(first), dtype=bool)
    for k in range(len(log.actions)):
        own = rng.permutation(np.flatnonzero(log.action[first] == k))
        aside[own[: round(part * len(own))]] = True
    rows = aside[members]
    for where, what in ((rows, "held out"), (~rows, "left to learn from")):
        if missing := set(range(len(log.actions))) - set(log.action[where].tolist()):
            raise InputError(f"of the rows {what} none has action '{log.actions[min(missing)]}'; change holdout")
    return np.asarray(rows)
