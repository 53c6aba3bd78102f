"""Actions by name or number: the one place where an action that is handed in becomes a column of a table.

An action is known by its name, a string. Of an action that is handed in,

* a string is itself;
* an integer of any type, 2 as well as 2.0, is its digits: "2"; other numbers are as Python prints them: "0.5";
* True and False are "True" and "False". Where no action is called so they are the numbers 1 and 0, and 1 and 0 are
  True and False where no action is called "1" or "0";
* nothing, NaN and the like are no action.

Only where none of the names is a number, numbers 0..K-1 are places in the list of names. So the actions 1, 2 and 3 of a
log are never taken for the places of others. Policies of a policy class (they have ``predict_names``) return places
themselves: columns of the table of costs by which they were found, unless the class was given names of its actions.
"""

from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from decimal import Decimal
from typing import Any

import numpy as np

from milpcb.data.columns import as_number
from milpcb.errors import InputError, UnknownNameError, shown
from milpcb.types import Ints

MISSING = ("nan", "<NA>", "NaT")  # how an entry that is missing prints, in numpy and in pandas
MOST_LEVELS = 20  # of numbers that are not whole, as doses are, as actions
_TRUTH = {"True": "1", "False": "0", "1": "True", "0": "False"}


def is_missing(value: Any) -> bool:
    """Return whether an entry is no action: None, NaN, or how numpy and pandas write them among strings."""
    return value is None or str(value) in MISSING


def action_name(value: Any) -> str:
    """Return the name of an action."""
    plain = value.item() if isinstance(value, np.generic) else value
    return str(int(plain) if isinstance(plain, float) and plain.is_integer() else plain)


def entries(values: Any) -> list[Any]:
    """Return actions (n,) one by one, as they were handed in; raises InputError on a table."""
    array = np.array(values, dtype=object) if isinstance(values, (list, tuple)) else np.asarray(values)
    found: list[Any] = array.tolist() if array.ndim == 1 else []
    if array.ndim != 1 or not {list, tuple, dict, set, np.ndarray}.isdisjoint(map(type, found)):
        raise InputError(f"actions must be a list of names or numbers, one a row, got shape {array.shape}")
    return found


def check_levels(done: Sequence[Any]) -> None:
    """Raise InputError where ``done``, the actions in the rows of a log, are amounts."""
    amounts = {value for value in set(done) if isinstance(value, (float, Decimal)) and value % 1}
    if amounts and len(set(done)) > MOST_LEVELS:
        what = f"the actions are {len(set(done))} different numbers, such as {min(amounts):.6g}"
        raise InputError(f"{what}: a dose is no list of actions; give levels, as of pandas.cut(dose, 4).astype(str)")


def place(what: str, value: Any, names: Sequence[str]) -> int:
    """Return the place 0..K-1 of an action among ``names``; raises UnknownNameError, calling it ``what``."""
    name, is_text = action_name(value), isinstance(value, (str, bytes))
    other = name if is_text else _TRUTH.get(name, name)
    for each in (name, other):
        if each in names:
            return list(names).index(each)
    number = other if isinstance(value, (bool, np.bool_)) else name
    numbered = number.isdecimal() and int(number) < len(names) and not any(map(_is_number, names))
    if is_text or not numbered:
        raise UnknownNameError(what, name, names)
    return int(number)


def places(what: str, values: Any, names: Sequence[str], unknown: int | None = None) -> Ints:
    """Return actions (n,) as places 0..K-1 among ``names``; ``unknown`` for others, else raises UnknownNameError."""
    known: dict[tuple[type, str], int] = {}
    found = []
    for row, value in enumerate(entries(values)):
        key = type(value), str(value)
        if key not in known:
            if is_missing(value):
                raise InputError(f"{what} is missing in row {row}; every row needs one")
            try:
                known[key] = place(what, value, names)
            except UnknownNameError:
                if unknown is None:
                    raise
                known[key] = unknown
        found.append(known[key])
    return np.array(found, dtype=np.int64)


def played(policy: Any, contexts: Any, names: Sequence[str]) -> Ints:
    """Return the actions of a policy or a list in each row (n,), as places among ``names``; raises InputError."""
    what = "action of the policy"
    if not hasattr(policy, "predict"):
        return places(what, policy, names)
    if not hasattr(policy, "predict_names"):
        return places(what, policy.predict(contexts), names)
    labels = np.asarray(policy.predict(contexts), dtype=np.int64)
    own, there = policy.names.actions, np.unique(labels).tolist()
    numbered = list(names) == [str(k) for k in range(len(names))] and not set(own) & set(names)
    if own and not numbered:
        of_label = {label: place(what, own[label], names) for label in there}
        return np.array([of_label[label] for label in labels.tolist()], dtype=np.int64)
    if max(there, default=0) >= len(names):
        listed = f"there are {len(names)} actions: {shown(list(names))}"
        raise InputError(f"the policy plays action {max(there)}, but {listed}")
    return labels


def own_names(policies: Any) -> tuple[str, ...]:
    """Return the names of the actions of a policy class, opened or not; () where it has only numbers."""
    settings = getattr(policies, "settings", None) or policies
    return tuple(map(action_name, getattr(settings, "action_names", None) or ()))


def named_class(policies: Any, names: Sequence[str]) -> Any:
    """Return a policy class that calls its actions by ``names`` (K,); as it is where a class has no names."""
    known = {field.name for field in fields(policies)} if is_dataclass(policies) else set()
    named: Any = policies
    return replace(named, action_names=tuple(names)) if "action_names" in known else policies


def matched(what: str, own: Sequence[str], names: Sequence[str]) -> Ints:
    """Return for each of ``names`` the place (K,) of that action among ``own``, the actions of ``what``, by name.

    Only where one side has the numbers 0..K-1 for names, and the other has none of them, numbers are places. Raises
    InputError where these are not the same actions.
    """
    if len(own) == len(names):
        numbers = [str(k) for k in range(len(names))]
        alike = [_TRUTH[name] for name in own] if {*own, *names} == {*_TRUTH} and own[0] not in names else own
        if set(alike) == set(names):
            return np.array([list(alike).index(name) for name in names], dtype=np.int64)
        if numbers in (list(own), list(names)) and not set(own) & set(names):
            return np.arange(len(names))
    both = f"{shown(list(own))}, but must be {shown(list(names))}"
    raise InputError(f"the actions of {what} are {both}: give both the same names; their order may differ")


def check_order(what: str, own: Sequence[str], names: Sequence[str]) -> None:
    """Raise InputError unless ``own``, the actions of ``what``, are ``names`` in this order; without names all pass."""
    if own and names and not np.array_equal(matched(what, own, names), np.arange(len(names))):
        raise InputError(f"{what} has the actions {shown(list(own))}; their order must be {shown(list(names))}")


def columns_of(what: str, columns: Sequence[str], named: Sequence[Any], actions: Sequence[str]) -> tuple[str, ...]:
    """Return K names of columns, which belong to the actions ``named``, in the order of ``actions``; InputError."""
    if len(columns) != len(actions):
        raise InputError(f"{what} has {len(columns)} columns for the {len(actions)} actions {shown(list(actions))}")
    if not named:
        raise InputError(
            f"{what} has the columns {shown(list(columns))}, of actions that are not named: name the action of each, "
            f"such as {actions[0]!r} of {columns[0]!r}"
        )
    return tuple(columns[number] for number in matched(what, [*map(action_name, named)], actions))


def by_action(what: str, table: Any, names: Sequence[str]) -> Any:
    """Return a frame, a mapping or a Series by actions with its columns in the order of ``names``; others as they are.

    Raises InputError unless each action is there once.
    """
    labels = [] if isinstance(table, np.ndarray) or not names else _labels(table, len(names))
    if not labels:
        return table
    found = matched(what, [*map(action_name, labels)], names)
    if isinstance(table, Mapping):  # a number beside columns is the same in every row
        columns = [*map(np.asarray, table.values())]
        if len({column.shape for column in columns if column.ndim}) > 1:
            raise InputError(f"{what} has columns of different lengths: {shown([*map(np.size, columns)])}")
        table = np.stack(np.broadcast_arrays(*columns), axis=-1)
    return np.asarray(table)[..., found]


def _labels(table: Any, n_actions: int) -> list[Any]:
    """Return what the columns of a table are called; none where they are only numbered."""
    if isinstance(table, Mapping):
        return list(table)
    labels = getattr(table, "columns", ())
    if hasattr(table, "items") and np.shape(table) == (n_actions,):  # a Series, a number an action
        labels = table.index
    return [] if list(labels) == list(range(len(labels))) else list(labels)


def _is_number(name: str) -> bool:
    return as_number(name) is not None or name in ("True", "False")
