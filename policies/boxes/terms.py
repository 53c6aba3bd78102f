"""The leaf totals of box rules: (box, side, action), and one for each constant.

The program picks a box with both of its actions, the sum of two terms, so noise on its columns is not noise on these
terms.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations

import numpy as np

from milpcb.types import Bools, Floats, Ints
from policies.boxes.fold import BoxFold, Tables
from policies.boxes.geometry import BoxList
from policies.boxes.rule import BoxRule
from policies.derivations import Derivations
from policies.names import Names
from policies.recursion import RecursionTerms


class BoxTerms(RecursionTerms):
    """The K constants, then for every other box the actions inside and those outside."""

    def __init__(self, boxes: BoxList, n_actions: int, names: Names) -> None:
        self._boxes, self.n_actions, self._names = boxes, n_actions, names
        self.recursion = BoxFold(boxes, names)
        self.n_features = len(boxes.cuts)
        self.n_touched = len(boxes)
        self.n_terms = (2 * len(boxes) - 1) * n_actions

    def places(self, contexts: Floats) -> list[Ints]:
        """Return the constants, and of every other box the side that a context is on."""
        outside = ~self._boxes.holding(contexts)[:, 1:]
        sides = np.pad(1 + 2 * np.arange(outside.shape[1]) + outside, ((0, 0), (1, 0)))
        return list((sides * self.n_actions)[:, :, None] + np.arange(self.n_actions))

    def adder(self, contexts: Floats) -> Callable[[Floats], Floats]:
        """Return a function of costs at these ``contexts``; outside of a box are all, less those inside."""
        by_box = self._boxes.totals_of(contexts)

        def add_up(costs: Floats) -> Floats:
            inside, outside = by_box(costs)
            both = np.stack([inside, outside], axis=1)[:, :, 1:]  # (K, 2, B)
            return np.concatenate([inside[:, 0], both.transpose(2, 1, 0).ravel()])

        return add_up

    def derivations(self) -> Derivations:
        """Return the constants, then each box with each pair of different actions."""
        K, outside = self.n_actions, 2 * np.arange(1, len(self._boxes))
        constants = np.column_stack([np.arange(K), np.full(K, self.n_terms)])
        pairs = np.array(list(permutations(range(K), 2)))
        sides = np.column_stack([outside - 1, outside])[:, None, :] * K + pairs
        return Derivations.whole(np.concatenate([constants, sides.reshape(-1, 2)]))

    def policy(self, parts: list[int]) -> BoxRule:
        """Return the rule of two sides, or of one constant."""
        side, inside = divmod(parts[0], self.n_actions)
        if side == 0:
            return BoxRule((), inside, inside, self._names)
        return BoxRule(self._boxes.intervals((side + 1) // 2), inside, parts[1] % self.n_actions, self._names)

    def own(self, place: Ints) -> Bools:
        """Return which of the boxes, but for the first, hold the context of a place."""
        return np.asarray(place[1:, 0] // self.n_actions % 2 == 1)

    def tables(self, totals: Floats) -> Tables:
        """Return the totals of the constants (K,), and those inside and outside of every other box (K, B)."""
        table = totals.reshape(-1, self.n_actions)
        return table[0], table[1::2].T, table[2::2].T
