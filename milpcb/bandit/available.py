"""Actions that are not always available, and the replacement of one that is not.

A policy whose action is not available plays the first action that is, in the order of the class. With this replacement
a round again has a cost for each of the K actions: an action that is not available costs what its replacement costs.
Learners play that game: the action that they draw is replaced, and they learn the cost as that of the action drawn. All
their guarantees hold for this game, against policies with the same replacement, and the sums of certificates remain
sums over contexts and actions.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from milpcb.data.actions import place
from milpcb.data.frames import named
from milpcb.errors import InputError, shown

Offered = Sequence[int] | None  # numbers of actions in order, None for all
_WRONG = "available must be a list of actions or a mask of booleans, got {}"
_UNCLEAR = "available {} can be read in two ways: give the names of the actions"


class Availability:
    """Which actions there are: all but those retired, and of these what a decision is offered."""

    def __init__(self, names: Sequence[Any]) -> None:
        self._names = list(map(str, names))
        self.retired: set[int] = set()

    def number(self, action: Any) -> int:
        """Return the number of an action; raises UnknownNameError."""
        return place("action", action, self._names)

    def retire(self, action: Any) -> None:
        """Make an action unavailable from now on; raises InputError where none would be left."""
        number = self.number(action)
        if len(self.retired | {number}) == len(self._names):
            raise InputError(f"'{self._names[number]}' is the last action that there is: it cannot be retired")
        self.retired.add(number)

    def readmit(self, action: Any) -> None:
        """Make a retired action available again."""
        self.retired.discard(self.number(action))

    def restore(self, retired: Iterable[int]) -> None:
        """Go on from saved numbers."""
        self.retired = set()
        for action in retired:
            self.retire(self._names[action])

    def offered(self, available: Any) -> Offered:
        """Return what a decision may take: the actions that ``available`` names, or those that a mask leaves.

        Raises InputError where there is none, or it can be read in two ways; UnknownNameError on a name that is none.
        """
        if available is None and not self.retired:
            return None
        listed = range(len(self._names)) if available is None else self._listed(available)
        found = sorted(set(listed) - self.retired)
        if not found:
            raise InputError("no action is available: give at least one that is not retired")
        return found

    def _listed(self, available: Any) -> list[int]:
        """Return the numbers of the actions that a list names, or a mask leaves."""
        whole = isinstance(available, (str, bytes)) or getattr(available, "ndim", 1) == 0
        if whole or not isinstance(available, Iterable):
            raise InputError(_WRONG.format(shown(available)))
        by_name = available if isinstance(available, Mapping) else named(available)
        entries = list(available if by_name is None else by_name.values())
        masks = [isinstance(entry, (bool, np.bool_)) for entry in entries]
        if by_name is None and not any(masks):
            if sorted(map(str, entries)) == ["0", "1"] == sorted(map(str, range(len(self._names)))) != self._names:
                raise InputError(_UNCLEAR.format(shown(available)))
            return self._distinct(entries)
        if not all(masks):
            raise InputError(_WRONG.format(shown(available)))
        if isinstance(available, (set, frozenset)) or (by_name is None and {"True", "False"} & set(self._names)):
            raise InputError(_UNCLEAR.format(shown(available)))
        numbers = list(range(len(entries))) if by_name is None else self._distinct(by_name)
        if len(numbers) != len(self._names):
            raise InputError(f"available has {len(numbers)} booleans for the {len(self._names)} actions {self._names}")
        return [number for number, there in zip(numbers, entries, strict=True) if there]

    def _distinct(self, actions: Iterable[Any]) -> list[int]:
        """Return the numbers of actions; raises InputError on one listed twice, as 1 is in a mask of 0 and 1."""
        numbers = list(map(self.number, actions))
        for i, number in enumerate(numbers):
            if number in numbers[:i]:
                raise InputError(
                    f"available lists '{self._names[number]}' twice; give each action once, or a mask of True and False"
                )
        return numbers


def replaced(q: list[float], offered: Sequence[int]) -> list[float]:
    """Return the law (K,) of what is played where ``q`` is drawn from."""
    law = [0.0] * len(q)
    for action in offered:
        law[action] = q[action]
    law[offered[0]] += sum(p for action, p in enumerate(q) if action not in offered)
    return law
