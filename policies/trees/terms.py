"""The leaf totals of decision trees, (path, action), and the recursion over them.

A path is D pairs (literal, outcome), in the order of the tests; a term has the number that it has in an array of shape
(p, 2) * D + (K,), which is also the order of the columns u of the constrained program. A derivation is that of the
search (policies/trees/search.py): any literal at each inner node, any action at each leaf. Where a literal comes twice
on a path with different outcomes no context follows it: its terms cost nothing, and hold noise where there is some.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from milpcb.protocols import Listing, SideConstraint, Terms, Within
from milpcb.types import Floats, Ints
from policies.literals import Test, outcomes
from policies.names import Names
from policies.semirings import Soft
from policies.trees.folds import add_cells, fold, reach, trace
from policies.trees.geometry import path_totals
from policies.trees.near import NearTrees
from policies.trees.rule import DecisionTree, Leaf, Node, split
from policies.trees.sets import fits
from policies.trees.states import TreeStates
from policies.trees.totals import Products


class TreeTerms(Terms):
    """The leaves of all trees of one depth over fixed literals."""

    def __init__(self, tests: list[Test], n_actions: int, depth: int, names: Names) -> None:
        self.n_actions = n_actions
        self._tests, self._names = tests, names
        self.n_literals = p = len(tests)
        self.depth = depth = depth if p else 0
        self.n_touched = p**depth
        self._feature = np.array([feature for feature, *_ in tests], dtype=np.int64)
        self._threshold = np.array([threshold for _, threshold, *_ in tests])
        self._fails = 2 * np.arange(p)
        self.n_terms = (2 * p) ** depth * n_actions
        self.n_features = 1 + max((feature for feature, *_ in tests), default=0)
        self._best = np.empty(sum((2 * p) ** length for length in range(depth + 1)))
        self._own = np.empty((self.n_touched, n_actions))
        self._ways = np.empty(max(1, p))
        self._leaves = np.empty(2**depth, dtype=np.int64)

    def places(self, contexts: Floats) -> list[Ints]:
        """Return the leaves that each context may reach, one for each sequence of literals."""
        sides = self._sides(contexts)
        places = np.empty((len(contexts), self.n_touched, self.n_actions), dtype=np.int64)
        for own, place in zip(sides, places, strict=True):
            reach(self.depth, own, place)
        return list(places)

    def totals(self, contexts: Floats, costs: Floats) -> Floats:
        """Return the total costs of the leaves."""
        return self.adder(contexts)(costs)

    def adder(self, contexts: Floats) -> Callable[[Floats], Floats]:
        """Return the adder by products of matrices, with the literals of the contexts."""
        truth = outcomes(contexts, self._tests).astype(float)
        return lambda costs: np.ascontiguousarray(path_totals(truth, costs, self.depth)).ravel()

    def under(self, rows: Sequence[SideConstraint]) -> Terms:
        """Return the terms with the recursion over the trees alone that keep ``rows``."""
        from policies.trees.constrained import ConstrainedTerms  # only for those who have rows

        return ConstrainedTerms(self, self._tests, self.depth, self._names, rows)

    def near(self, contexts: Floats, asked: Within) -> Listing | None:
        """Return the trees asked for, where the answers of all states fit memory and the trees are few enough."""
        truth = outcomes(contexts, self._tests)
        if not fits(self.n_literals, self.depth, self.n_actions, self.n_actions - 1, None):
            return None
        states = TreeStates(
            Products(truth, self.n_actions, 0, self.depth), self.n_actions, self.depth, np.zeros(0), None
        )
        return NearTrees(states, truth, asked).listing(self._tests, self._names)

    def add(self, totals: Floats, contexts: Floats, actions: Ints, amounts: Floats) -> None:
        """Add to the leaves that each context may reach, by a compiled pass."""
        add_cells(self.depth, self._sides(contexts), actions, amounts, totals.reshape(-1, self.n_actions))

    def profile(self, totals: Floats, place: Ints) -> Floats:
        """Return (K,): the least total of the trees by the action at ``place``."""
        return self._answers(None, totals, place)

    def log_weights(self, totals: Floats, place: Ints, rate: float) -> Floats:
        """Return (K,): log of the summed exp(-rate * total) of the derivations by the action at ``place``."""
        return -self._answers(1.0, rate * totals, place)

    def minimise(self, totals: Floats) -> tuple[float, DecisionTree]:
        """Return the least total and a tree that attains it; at each node the lowest-numbered choice wins a tie."""
        fold(None, self.depth, totals, self._anywhere, self._best, self._own, self._ways)
        trace(self.n_actions, totals, self._best, self._ways, self._leaves)
        return float(self._best[0]), DecisionTree(self._grown(self._leaves.tolist(), 0, {}), self._names)

    def _grown(self, leaves: list[int], level: int, known: dict[int, int]) -> Node:
        """Return the tree below a path of length ``level``, where the literals ``known`` have come out so."""
        if len(leaves) == 1:
            return Leaf(leaves[0] % self.n_actions)
        below = self.n_terms // (2 * self.n_literals) ** (level + 1)  # terms of a path one longer
        f = leaves[0] // below % (2 * self.n_literals) // 2
        sides = leaves[: len(leaves) // 2], leaves[len(leaves) // 2 :]
        if f in known:
            return self._grown(sides[known[f]], level + 1, known)
        yes, no = (self._grown(sides[s], level + 1, {**known, f: s}) for s in (1, 0))
        return split(self._tests[f], yes, no)

    def _sides(self, contexts: Floats) -> Ints:
        """Return 2 f + s (n, p): how each test f comes out at each context."""
        return np.ascontiguousarray(self._fails + (contexts[:, self._feature] <= self._threshold))

    def _answers(self, soft: Soft, totals: Floats, place: Ints) -> Floats:
        fold(soft, self.depth, totals, place, self._best, self._own, self._ways)
        return np.asarray(self._own[0].copy())
