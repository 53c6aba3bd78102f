"""Actions that are not always available, and the replacement of one that is not.

A policy whose action is not available plays the first action that is, in the order of the class. With this replacement
a round again has a cost for each of the K actions: an action that is not available costs what its replacement costs.
Learners play that game: the action that they draw is replaced, and they learn the cost as that of the action drawn. All
their guarantees hold for this game, against policies with the same replacement, and the sums of certificates remain
sums over contexts and actions.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from milpcb.data.actions import place
from milpcb.errors import InputError, shown


def offered_actions(available: Any, names: Sequence[Any]) -> list[int] | None:
    """Return the numbers, in order, of the actions that are ``available`` to a decision; None where all are.

    Raises InputError unless it is a list of actions, by name if they have names; UnknownNameError on one that is none.
    """
    if available is None:
        return None
    own = str if isinstance(names[0], str) else (str, int, np.integer)
    of_actions = isinstance(available, (list, tuple, set, frozenset)) and all(
        isinstance(each, own) and not isinstance(each, bool) for each in available
    )
    if not of_actions or not available:
        raise InputError(f"available must be a list of actions, one at least, as {list(names)}, got {shown(available)}")
    return sorted({place("action", each, list(map(str, names))) for each in available})


def replaced(q: list[float], offered: Sequence[int]) -> list[float]:
    """Return the law (K,) of what is played where ``q`` is drawn from."""
    law = [0.0] * len(q)
    for action in offered:
        law[action] = q[action]
    law[offered[0]] += sum(p for action, p in enumerate(q) if action not in offered)
    return law
