"""A best tree from what the kernels have found on the way to its cost, without a search at each of its nodes.

The tests of a tree of depth D are tests (2^D - 1,): those below node n are at 2 n + 1, where its test fails, and at
2 n + 2, where it holds. Those of depth 1 and 2 are read from the tables of policies/trees/kernels.py here, those of
more from the states (policies/trees/states.py). The lowest number wins a tie.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from milpcb.core.kernels import compiled
from milpcb.types import Floats
from policies.literals import Literals
from policies.semirings import NO_NAN, Array
from policies.trees.pairs import one_test
from policies.trees.passes import add_up, restrict
from policies.trees.rule import Leaf, Node, split


class Traced(NamedTuple):
    """A best tree: its tests, and the contexts in each leaf (2^D,) with their total costs (2^D, K)."""

    tests: list[int]
    counts: list[int]
    leaves: list[list[float]]

    def grown(self, literals: Literals, node: int = 0) -> Node:
        """Return the tree below a node, without the tests that divide no contexts or whose sides are the same."""
        inner = len(self.tests)
        if node >= inner:
            leaf = self.leaves[node - inner]
            return Leaf(leaf.index(min(leaf)))
        fails, holds = 2 * node + 1, 2 * node + 2
        for empty, other in ((holds, fails), (fails, holds)):
            if not self._reached(empty):
                return self.grown(literals, other)
        return split(literals.tests[self.tests[node]], self.grown(literals, holds), self.grown(literals, fails))

    def _reached(self, node: int) -> bool:
        """Return whether any context comes to a node."""
        first, last, inner = node, node, len(self.tests)
        while first < inner:
            first, last = 2 * first + 1, 2 * last + 2
        return any(self.counts[first - inner : last + 1 - inner])


def traced(table: Floats, truth: Array, tests: Array) -> tuple[float, Traced]:
    """Return the total cost of a best tree with these tests, and the tree.

    In: the costs ``table`` (g, K) of contexts, and the literals ``truth`` (g, p) that hold at each.
    """
    n_leaves = len(tests) + 1
    counts, leaves, played = np.zeros(n_leaves, np.int64), np.zeros((n_leaves, table.shape[1])), np.empty(len(table))
    _fall(table, truth, tests, counts, leaves, played)
    return float(played.sum()), Traced(tests.tolist(), counts.tolist(), leaves.tolist())


@compiled()
def _fall(table: Array, truth: Array, tests: Array, counts: Array, leaves: Array, played: Array) -> None:
    """Add the contexts to ``counts`` and ``leaves``, see ``Traced``; fill played (g,) with what their leaves cost."""
    inner, reached, cheapest = len(tests), np.empty(len(table), np.int64), np.empty(len(leaves), np.int64)
    for j in range(len(table)):
        node = 0
        while node < inner:
            node = 2 * node + (2 if truth[j, tests[node]] else 1)
        reached[j] = node - inner
        counts[node - inner] += 1
        for a in range(table.shape[1]):
            leaves[node - inner, a] += table[j, a]
    for leaf in range(len(leaves)):
        cheapest[leaf] = np.argmin(leaves[leaf])
    for j in range(len(table)):
        played[j] = table[j, cheapest[reached[j]]]


@compiled(NO_NAN)
def pair_tests(
    everywhere: float,
    table: Array,
    truth: Array,
    pattern: Array,
    literals: Array,
    costs: Array,
    weighted: Array,
    pairs: Array,
    own: Array,
    near: Array,
    far: Array,
    tests: Array,
) -> None:
    """Fill ``tests`` (1,) or (3,) of a best tree of depth 1 or 2; the rest is what the kernel ``search`` has left.

    That was asked about a context with ``pattern`` (p,), where all literals hold. The numbers compared are those of
    a search for stumps on either side of the root, to the last bit: where the root holds they are pairs that are known,
    where it fails they are added up.
    """
    tests[0] = f = _best_root(everywhere, near[0, 0], far[0, 0])
    if len(tests) == 1:
        return
    p = len(pattern)
    for side in range(2):
        if side == 0:
            _add_up_fails(f, p, literals, costs, weighted, pairs)
        for a in range(own.shape[2]):
            for g in range(p + 1):
                own[0, g, a] = pairs[0, a, min(f, g), max(f, g)] if side else pairs[1, a, p, g]
        here = 0.0
        for j in range(len(table)):
            here += table[j, 0] if truth[j, f] == (side == 1) else 0.0
        one_test(None, pattern, None, None, own, 0, near[1, 0], far[1, 0])
        tests[1 + side] = _best_root(here, near[1, 0], far[1, 0])


@compiled()
def _add_up_fails(f: int, p: int, literals: Array, costs: Array, weighted: Array, pairs: Array) -> None:
    """Fill pairs[1, ., p] with the totals of each literal where the literal f fails."""
    n = literals.shape[0] * literals.shape[2]
    restrict(literals, f, n, costs)
    for b in range(costs.shape[1]):
        for a in range(costs.shape[2]):
            for j in range(costs.shape[3]):
                costs[1, b, a, j] = costs[0, b, a, j] - costs[1, b, a, j]
    add_up(literals, costs[1], n, weighted, pairs[1], p, p + 1, 0)


@compiled(NO_NAN)
def _best_root(everywhere: float, near: Array, far: Array) -> int:
    """Return the literal at the root of the least ``near`` (p, K) and ``far`` (p,)."""
    best, least = 0, np.inf
    for f in range(len(far)):
        for a in range(near.shape[1]):
            way = everywhere + (near[f, a] + far[f])
            if way < least:
                best, least = f, way
    return best
