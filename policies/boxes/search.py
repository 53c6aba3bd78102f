"""Exact search for box rules: all boxes at once, from the same totals as the program."""

from __future__ import annotations

import numpy as np

from milpcb.protocols import Search
from milpcb.types import Floats
from policies.boxes.fold import by_action
from policies.boxes.geometry import Boxes, cheapest
from policies.boxes.rule import BoxRule
from policies.names import Names


class BoxSearch(Search):
    """The sum over all rules (fold.py) on fixed contexts, and the best rule."""

    def __init__(self, boxes: Boxes, n_actions: int, names: Names) -> None:
        self._boxes, self._n_actions, self._names = boxes, n_actions, names

    def value(self, costs: Floats) -> float:
        """Return the least total cost: the box whose two sides are cheapest, each at its cheapest action."""
        inside, outside = self._boxes.totals(costs)
        return float((inside.min(axis=0) + outside.min(axis=0)).min())

    def minimise(self, costs: Floats) -> tuple[float, BoxRule]:
        """Return the least total cost and a rule that attains it, the first box and actions in a tie."""
        inside, outside = self._boxes.totals(costs)
        totals = inside.min(axis=0) + outside.min(axis=0)
        b = int(totals.argmin())
        return float(totals[b]), BoxRule(self._boxes.intervals(b), *cheapest(inside, outside, b), self._names)

    def profile(self, costs: Floats, row: int) -> Floats:
        """Return (K,): the least total cost by the action at ``row``."""
        return self._at(*self._boxes.totals(costs), row, np.minimum)

    def log_weights(self, costs: Floats, row: int, rate: float) -> Floats:
        """Return (K,): log of the summed exp(-rate * total cost) of the rules by the action at ``row``."""
        return self._at(*self._boxes.totals(-rate * costs), row, np.logaddexp)

    def _at(self, inside: Floats, outside: Floats, row: int, add: np.ufunc) -> Floats:
        held = self._boxes.hold(row)
        own, other = np.where(held, inside, outside)[:, 1:], np.where(held, outside, inside)[:, 1:]
        return by_action(inside[:, 0], own, other, add)
