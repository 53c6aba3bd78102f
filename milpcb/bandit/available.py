"""Actions that are not always available, and the replacement of one that is not.

A policy whose action is not available plays the first action that is, in the order of the class. With this replacement
a round again has a cost for each of the K actions: an action that is not available costs what its replacement costs.
Learners play that game: the action that they draw is replaced, and they learn the cost as that of the action drawn. All
their guarantees hold for this game, against policies with the same replacement, and the sums of certificates remain
sums over contexts and actions.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from milpcb.data.actions import place
from milpcb.errors import InputError, shown


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
        """Make an action available again."""
        self.retired.discard(self.number(action))

    def offered(self, available: Iterable[Any] | None) -> list[int] | None:
        """Return the numbers of the actions that a decision may take, in order; None for all of them.

        Raises InputError where there is none, UnknownNameError on a name that is none.
        """
        if available is None and not self.retired:
            return None
        if isinstance(available, (str, bytes)) or not isinstance(available, (Iterable, type(None))):
            raise InputError(f"available must be a list of actions, got {shown(available)}")
        listed = range(len(self._names)) if available is None else set(map(self.number, available))
        found = sorted(set(listed) - self.retired)
        if not found:
            raise InputError("no action is available: give at least one that is not retired")
        return found

    def restore(self, retired: Iterable[Any]) -> None:
        """Go on from saved numbers."""
        self.retired = set()
        for action in retired:
            self.retire(self._names[action])


def replaced(q: list[float], offered: Sequence[int]) -> list[float]:
    """Return the law (K,) of what is played where ``q`` is drawn from."""
    law = [0.0] * len(q)
    for action in offered:
        law[action] = q[action]
    law[offered[0]] += sum(p for action, p in enumerate(q) if action not in offered)
    return law
