"""The recursion of box rules, in any semiring.

With (+) for "or" and (x) for "and", the sum over all rules that play a at a context is
    C[a] (+) (+)_b Own[b, a] (x) (+)_{c != a} Other[b, c],
Own being the side of box b that holds the context, Other its other side, C the constants. Read in (min, +) of totals,
it is the profile; read in (log-sum-exp, +) of -rate * totals, it is the log of the sum of exp(-rate * total). Each
labeling of the class has exactly one derivation.
"""

from __future__ import annotations

import numpy as np

from milpcb.types import Bools, Floats
from policies.boxes.geometry import BoxList
from policies.boxes.rule import BoxRule
from policies.names import Names
from policies.recursion import Recursion

Tables = tuple[Floats, Floats, Floats]  # the totals of the constants (K,), inside and outside of every other box (K, B)


class BoxFold(Recursion):
    """The sum above over all ``boxes`` at once; a context's own is which of them hold it, (B,)."""

    def __init__(self, boxes: BoxList, names: Names) -> None:
        self._boxes, self._names = boxes, names

    def value(self, tables: Tables) -> float:
        """Return the least total."""
        return self._least(tables)[0]

    def minimise(self, tables: Tables) -> tuple[float, BoxRule]:
        """Return the least total and a rule that attains it, the first box, then the first action inside, in a tie."""
        total, box, inside, outside = self._least(tables)
        return total, BoxRule(self._boxes.intervals(box), inside, outside, self._names)

    def profile(self, tables: Tables, own: Bools) -> Floats:
        """Return (K,): the least total by the action at the context."""
        return self._by_action(tables, own, np.minimum)

    def log_weights(self, logs: Tables, own: Bools) -> Floats:
        """Return (K,): the log of the summed weights by the action at the context."""
        return self._by_action(logs, own, np.logaddexp)

    def _by_action(self, tables: Tables, own: Bools, add: np.ufunc) -> Floats:
        constants, inside, outside = tables
        here, other = np.where(own, inside, outside), np.where(own, outside, inside)
        return np.asarray(add.reduce(np.column_stack([constants, here + _rest(other, add)]), axis=1))

    @staticmethod
    def _least(tables: Tables) -> tuple[float, int, int, int]:
        """Return the least total, the number of its box, 0 for a constant, and the actions inside and outside."""
        constants, inside, outside = tables
        action = int(constants.argmin())
        bounds = inside.min(axis=0) + outside.min(axis=0)  # both sides may play the same here
        if constants[action] <= bounds.min(initial=np.inf):
            return float(constants[action]), 0, action, action
        box = int(bounds.argmin())
        first, second = int(inside[:, box].argmin()), int(outside[:, box].argmin())
        if first != second:
            return float(bounds[box]), box + 1, first, second
        ways = (inside + _rest(outside, np.minimum)).T
        box, first = divmod(int(ways.argmin()), len(constants))
        if constants[action] <= ways[box, first]:
            return float(constants[action]), 0, action, action
        others = outside[:, box].copy()
        others[first] = np.inf
        return float(ways[box, first]), box + 1, first, int(others.argmin())


def _rest(side: Floats, add: np.ufunc) -> Floats:
    """Return (K, B): for each action the sum over the other actions on a ``side`` (K, B) of all boxes."""
    return np.array([add.reduce(np.delete(side, a, axis=0), axis=0) for a in range(len(side))])
