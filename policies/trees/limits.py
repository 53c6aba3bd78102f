"""Structure limits: how many leaves and features a tree may have, and how few contexts a leaf may hold."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from milpcb.types import Bools, Floats
from policies.trees.rule import Leaf, Node


@dataclass(frozen=True)
class Limits:
    """At most so many leaves and distinct features of a tree, at least so many contexts in a leaf; None: no limit."""

    max_leaves: int | None = None
    max_features: int | None = None
    min_leaf_size: int | None = None

    def __bool__(self) -> bool:
        """Return whether anything is limited."""
        return (self.max_leaves, self.max_features, self.min_leaf_size) != (None, None, None)

    def allow(self, root: Node, contexts: Floats) -> bool:
        """Return whether the tree keeps the limits on ``contexts`` (m, d), repeats included."""
        leaves = list(_leaves(root, contexts, np.ones(len(contexts), bool), frozenset()))
        used = frozenset().union(*(features for _, features in leaves))
        return (
            (self.max_leaves is None or len(leaves) <= self.max_leaves)
            and (self.max_features is None or len(used) <= self.max_features)
            and (self.min_leaf_size is None or min(size for size, _ in leaves) >= self.min_leaf_size)
        )


def _leaves(node: Node, contexts: Floats, here: Bools, used: frozenset[int]) -> Iterator[tuple[int, frozenset[int]]]:
    """Yield, for each leaf, the number of contexts it holds and the features tested on its path."""
    if isinstance(node, Leaf):
        yield int(here.sum()), used
        return
    holds = contexts[:, node.feature] <= node.threshold
    yield from _leaves(node.yes, contexts, here & holds, used | {node.feature})
    yield from _leaves(node.no, contexts, here & ~holds, used | {node.feature})
