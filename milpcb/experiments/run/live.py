"""Live play: an outside environment shows a context, and the cost of the one action that was played."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from milpcb.core.checks import context_array
from milpcb.data.actions import matched, own_names
from milpcb.errors import InputError, shown
from milpcb.protocols import Opened
from milpcb.types import Floats, Ints


class LiveEnvironment(Protocol):
    """Anything that is asked in turns: for the context of a round, then for the cost of the action played in it.

    One that can be played again from its start has a method ``begin(seed)``, called before each play. One that calls
    its actions 0..K-1 by names has an attribute ``action_names`` (K,): where the policy class has names too, it is
    asked for the cost of the action with the name that the class knows it by.
    """

    def context(self) -> Any:
        """Return the context (d,) of the round that begins."""
        ...

    def cost(self, action: int) -> float | None:
        """Return the cost in [0, 1] of the action played, None where it never becomes known: then no round counts.

        Certificates hold if whether it does depends neither on the cost nor on the action.
        """
        ...


class LiveStream:
    """A live environment whose contexts are numbered by the rows of ``contexts`` (m, d), on which ``opened`` is open.

    A context has the number of the first row on which every policy of the class plays as on it; where the class does
    not show that, of the first row that is equal to it.
    """

    def __init__(self, environment: LiveEnvironment, opened: Opened, contexts: Floats) -> None:
        self.contexts = contexts
        self.order: Ints | None = None
        self._environment = environment
        self._number_of = _numbers(getattr(environment, "action_names", ()), opened)
        self._patterns = opened.fixed().patterns if "fixed" in opened.capabilities else np.asarray
        self._rows: dict[bytes, int] = {}
        for row, key in enumerate(self._keys(contexts)):
            self._rows.setdefault(key, row)

    def reveal(self, t: int) -> int:
        """Return the row of the context of round ``t`` (0-based); raises InputError where it is like none of them."""
        shown = context_array(np.reshape(self._environment.context(), (1, -1)))
        if shown.shape[1] != self.contexts.shape[1]:
            raise InputError(
                f"round {t + 1} shows a context of {shown.shape[1]} numbers, "
                f"contexts= has {self.contexts.shape[1]} columns"
            )
        row = self._rows.get(self._keys(shown)[0])
        if row is None:
            raise InputError(
                f"round {t + 1} shows a context that policies distinguish from every row of contexts=; "
                "hand in all that may occur"
            )
        return row

    def _keys(self, contexts: Floats) -> list[bytes]:
        return [pattern.tobytes() for pattern in np.asarray(self._patterns(contexts)) + 0]  # so that -0.0 is 0.0

    def begin(self, seed: int) -> None:
        """Begin another play: from the start, where the environment can do that."""
        if hasattr(self._environment, "begin"):
            self._environment.begin(seed)

    def cost(self, action: int) -> float | None:
        """Return the cost of the action played, or None; see LiveEnvironment."""
        return self._environment.cost(self._number_of[action])


def _numbers(names: Sequence[str], opened: Opened) -> list[int]:
    """Return how an environment numbers each action (K,) of a class; raises InputError where it has other ones."""
    if len(names) not in (0, opened.n_actions):
        raise InputError(f"the policy class has {opened.n_actions} actions, and the environment {shown(list(names))}")
    own = own_names(opened)
    return matched("the environment", names, own).tolist() if names and own else [*range(opened.n_actions)]
