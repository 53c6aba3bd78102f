"""The leaf totals of box rules, (box, side, action) and one for each constant, and the rules as paths.

A path plays an action on all contexts, or one inside a box and then another one outside. So each labeling of the class
has exactly one derivation.

The program picks a box with both of its actions, the sum of two terms, so noise on its columns is not noise on these
terms.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from itertools import permutations
from typing import TYPE_CHECKING

import numpy as np

from milpcb.types import Floats, Ints
from policies.boxes.geometry import BoxList
from policies.boxes.rule import BoxRule
from policies.names import Names
from policies.paths.terms import PathTerms

if TYPE_CHECKING:
    from policies.paths.graph import Graph


class BoxTerms(PathTerms):
    """The K constants, then for every other box the actions inside and those outside."""

    def __init__(self, boxes: BoxList, n_actions: int, names: Names) -> None:
        self._boxes, self.n_actions, self._names = boxes, n_actions, names
        self.n_features = len(boxes.cuts)
        self.n_touched = len(boxes)
        self.n_terms = (2 * len(boxes) - 1) * n_actions

    def places(self, contexts: Floats) -> list[Ints]:
        """Return the constants, and of every other box the side that a context is on."""
        outside = np.ascontiguousarray(~self._boxes.holding(contexts)[:, 1:])
        sides = np.pad(1 + 2 * np.arange(outside.shape[1]) + outside, ((0, 0), (1, 0)))
        return list((sides * self.n_actions)[:, :, None] + np.arange(self.n_actions))

    def adder(self, contexts: Floats) -> Callable[[Floats], Floats]:
        """Return a function of costs at these ``contexts``; outside of a box are all, less those inside."""
        by_box = self._boxes.totals_of(contexts)

        def add_up(costs: Floats) -> Floats:
            totals = np.empty((2 * len(self._boxes), self.n_actions))
            totals[::2], totals[1::2] = (side.T for side in by_box(costs))
            totals[1] = totals[0]  # outside of all contexts is nothing: what is left begins with the constants
            return totals[1:].ravel()

        return add_up

    @cached_property
    def graph(self) -> Graph:
        """A node for each box with its action inside; constants go past them."""
        from policies.paths.graph import Graph

        K, n_boxes = self.n_actions, len(self._boxes) - 1
        pairs = np.array(list(permutations(range(K), 2)))
        box = np.arange(n_boxes)[:, None]
        node, sides = 1 + box * K, (1 + 2 * box) * K  # of action 0 inside
        actions, sink = np.arange(K), 1 + n_boxes * K
        source = np.append(np.zeros(K + node.size * K, dtype=np.int64), node + pairs[:, 0])
        to = np.concatenate([np.full(K, sink), (node + actions).ravel(), np.full(n_boxes * len(pairs), sink)])
        term = np.concatenate([actions, (sides + actions).ravel(), (sides + K + pairs[:, 1]).ravel()])
        return Graph(source, to, term, 1 + 2 * n_boxes, K)

    def policy(self, terms: list[int]) -> BoxRule:
        """Return the rule of two sides, or of one constant."""
        side, inside = divmod(terms[0], self.n_actions)
        return BoxRule(self._boxes.intervals((side + 1) // 2), inside, terms[-1] % self.n_actions, self._names)
