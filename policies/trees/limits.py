"""Structure limits: the number of leaves and features of a tree, and the least number of rows in a leaf.

The part that keeps each of them, and its form in ``TreesOn``:

| limit | states (search.py) | root cuts (every_cut.py) | side constraints (usage.py) | program |
| --- | --- | --- | --- | --- |
| rows, ``asked`` | planes of counts beside costs | counts of both sides | states that may be a leaf | (6) |
| leaves, ``most_leaves`` | one more index | lines | one more row | (4) |
| features, ``closed`` | a recursion for each set | lines | not kept | (5) |
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np

from milpcb.types import Bools, Floats, Ints
from policies.literals import Literals
from policies.names import Names
from policies.trees.rule import Node, Split, nodes_of, rows_of_leaves


@dataclass(frozen=True)
class Limits:
    """Limits of DecisionTrees, None for none. *Counts* of a leaf are its rows: of all, then of each logged action."""

    max_leaves: int | None = None
    max_features: int | None = None
    min_leaf_size: int | None = None
    min_action_rows: int | None = None

    def __bool__(self) -> bool:
        return self != Limits()

    def too_small(self, counts: Floats) -> Bools:
        """Return (...): whether leaves hold too few rows, by their ``counts`` (..., 1 or 1 + K)."""
        small = counts[..., 0] < (self.min_leaf_size or 0)
        return np.asarray(small | (counts[..., 1:] < (self.min_action_rows or 0)).any(axis=-1))

    def features_of(self, n_features: int, depth: int) -> int:
        """Return how many of ``n_features`` a tree may test: all of them without a limit that matters at this depth."""
        most = self.max_features or n_features
        return most if most < min(n_features, 2**depth - 1) else n_features

    def allow(self, root: Node, contexts: Floats, counts: Floats) -> bool:
        """Return whether the tree keeps the limits on ``contexts`` (g, d), each with its ``counts`` (g, 1 or 1 + K)."""
        used = {node.feature for node in nodes_of(root) if isinstance(node, Split)}
        leaves = [counts[rows].sum(axis=0) for rows in rows_of_leaves(root, contexts, np.arange(len(contexts)))]
        return (
            (self.max_leaves is None or len(leaves) <= self.max_leaves)
            and (self.max_features is None or len(used) <= self.max_features)
            and not self.too_small(np.array(leaves)).any()
        )


FREE = Limits()


@dataclass(frozen=True, eq=False)
class TreesOn:
    """Trees of a depth, within limits, over literals of fixed contexts; ``rows`` (g, 1 or 1 + K) are their counts."""

    literals: Literals
    n_actions: int
    depth: int
    names: Names
    limits: Limits = FREE
    rows: Floats | None = None

    @cached_property
    def most_leaves(self) -> int:
        """The most leaves that a tree may have."""
        most: int = 2**self.depth
        return min(most, self.limits.max_leaves or most)

    @cached_property
    def closed(self) -> Bools:
        """The literals that a tree may not test (n, p), for each of n sets of features that it may test."""
        d = len(self.literals.features)
        chosen = list(combinations(range(d), self.limits.features_of(d, self.depth)))
        closed = np.ones((len(chosen), d), bool)
        np.put_along_axis(closed, np.array(chosen, np.int64), values=False, axis=1)
        return np.repeat(closed, np.diff(self.literals.first), axis=1)

    @cached_property
    def asked(self) -> tuple[Floats, Floats]:
        """The least of each limited count that a leaf must have (C,), and these counts of contexts (C, g)."""
        least = np.full(self.counts.shape[1], float(self.limits.min_action_rows or 0))
        least[0] = self.limits.min_leaf_size or 0.0
        return least[least > 0], np.ascontiguousarray(self.counts.T[least > 0])

    @property
    def counts(self) -> Floats:
        """The counts (g, 1 or 1 + K) of all contexts, each one row where no counts are given."""
        return np.ones((len(self.literals.contexts), 1)) if self.rows is None else self.rows


def context_counts(group: Ints, n_actions: int, logged_actions: Sequence[int] | None) -> Floats:
    """Return (g, 1 or 1 + K): the counts of each distinct context, where ``group`` (m,) is the one of each row."""
    rows = np.bincount(group)[:, None].astype(float)
    if logged_actions is None:
        return rows
    cells = group * n_actions + np.asarray(logged_actions)
    return np.hstack([rows, np.bincount(cells, minlength=len(rows) * n_actions).reshape(-1, n_actions)])
