"""Monotone rules as paths, where their diagram is small: contexts one after the other, none before one below it.

What is left is the same for all beginnings that leave the same least actions to the contexts to come: these are one
node. On a grid of few columns nodes are few; where they are too many there are no terms.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Self

import numpy as np

from milpcb.types import Floats, Ints
from policies.monotone.geometry import Order
from policies.monotone.rule import MonotoneRule
from policies.paths.terms import PathTerms

if TYPE_CHECKING:
    from policies.paths.graph import Graph

MOST_CELLS = 5 * 10**6  # least actions that are held to make a graph


class MonotoneTerms(PathTerms):
    """The labels of the contexts that the class was opened on: leaves are the contexts."""

    def __init__(self, order: Order, n_actions: int, graph: Graph) -> None:
        self.n_actions, self.n_terms, self.n_touched = n_actions, graph.n_terms, 1
        self.n_features = order.contexts.shape[1]
        self._order, self._graph = order, graph

    @classmethod
    def of(cls, order: Order, n_actions: int) -> Self | None:
        """Return the terms, None where the graph has too many nodes."""
        from policies.paths.graph import Graph

        ranked = np.lexsort(order.points.T[::-1])  # whoever is below comes first
        below = order.below[ranked][:, ranked]
        kind = np.min_scalar_type(-n_actions)  # one byte, unless there are more than 128 actions
        floors = np.zeros((1, len(ranked)), kind)  # of each node the least actions of the contexts to come
        edges, node, held = [], 0, 0
        for p, context in enumerate(ranked.tolist()):
            state, action = np.nonzero(floors[:, :1] <= np.arange(n_actions))
            after = np.maximum(floors[state, 1:], np.where(below[p, p + 1 :], action[:, None], 0).astype(kind))
            held += after.size
            if held > MOST_CELLS:
                return None
            size = len(floors)
            floors, onward = np.unique(after, axis=0, return_inverse=True)
            edges.append((node + state, node + size + onward.ravel(), context * n_actions + action))
            node += size
        source, to, term = (np.concatenate(part) for part in zip(*edges, strict=True))
        return cls(order, n_actions, Graph(source, to, term, len(ranked), n_actions))

    @property
    def graph(self) -> Graph:
        """The paths."""
        return self._graph

    def places(self, contexts: Floats) -> list[Ints]:
        """Return the leaf of each context, one of those that the class was opened on."""
        number = {row.tobytes(): j for j, row in enumerate(self._order.contexts)}
        actions = np.arange(self.n_actions)
        return [number[row.tobytes()] * self.n_actions + actions[None] for row in np.ascontiguousarray(contexts)]

    def adder(self, contexts: Floats) -> Callable[[Floats], Floats]:
        """Return the costs (g, K) of the contexts as they are."""
        del contexts
        return np.ravel

    def policy(self, terms: list[int]) -> MonotoneRule:
        """Return the rule of the labels."""
        return self._order.rule(np.array(sorted(terms), dtype=np.int64) % self.n_actions)
