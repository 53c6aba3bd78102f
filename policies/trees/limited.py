"""The exact search over trees under structure limits: the same tables, where paths may end early and leaves count.

A tree may have less than full depth, and its number of leaves is a second index. With the words of
policies/trees/search.py, and l the number of leaves,
    T_0[S, a, 1] = sum of costs[j, a] over j in S, infinite where S is too small for a leaf
    T_d[S, a, l] = T_0[S, a, l] (+) (+)_f (+)_{i + j = l} T_{d-1}[S on x's side of f, a, i] (x)
                                                          (+)_b T_{d-1}[S on the other side of f, b, j]
and the answer is the sum (+) over l = 1..max_leaves. So the derivations are the trees within the limits, each once: any
literal at each inner node, any action at each leaf; only siblings may be alike.

Which leaves are too small does not depend on the costs: it is one table, made once. ``max_features`` is a list of sets
of that many features: all tests of a tree are in one of them. The recursion is done for each set. A tree with fewer
features is in several sets, so there are no log weights.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from functools import cached_property
from itertools import combinations
from typing import NamedTuple

import numpy as np

from milpcb.protocols import Search, SideConstraint, TermSearch
from milpcb.types import Bools, Floats
from policies.literals import Literals
from policies.names import Names
from policies.trees.geometry import cheapest_leaf, grow, path_totals
from policies.trees.limits import Limits
from policies.trees.rule import DecisionTree, Leaf
from policies.trees.search import COMPILED_DEPTH, Allowed, TreeSearch, add_up
from policies.trees.semirings import Array, Soft


class Choice(NamedTuple):
    """A test, and how many leaves there may be where it holds and where it fails."""

    literal: int
    holds: int
    fails: int


class LimitedSearch(TreeSearch):
    """The recursion above on fixed contexts with ``counts`` (g, 1 or 1 + K), for trees up to depth 3."""

    def __init__(
        self, literals: Literals, n_actions: int, depth: int, names: Names, limits: Limits, counts: Floats
    ) -> None:
        super().__init__(literals, n_actions, depth, names)
        self._limits, self._rows = limits, counts
        self._leaves = 2**depth
        self._most = min(self._leaves, limits.max_leaves or self._leaves)

    @cached_property
    def _allowed(self) -> Allowed:
        """All trees within the limits, but for their numbers of leaves."""
        return Allowed(self._too_small((), np.ones(len(self._contexts), bool)), self._sets)

    @cached_property
    def _sets(self) -> Bools:
        return feature_sets(self._literals, self._limits, self._depth)

    @abstractmethod
    def _too_small(self, path: tuple[int, ...], here: Bools) -> Array:
        """Return which leaves below ``path``, whose contexts are ``here`` (g,), are too small, as kernels have it."""

    def minimise(self, costs: Floats) -> tuple[float, DecisionTree]:
        """Return the least total cost and a tree that attains it; at each node the lowest-numbered choice wins ties."""
        sets, first = self._root(costs)
        most: dict[tuple[int, ...], int] = {(): self._most}  # how many leaves there may be below each path

        def choose(path: tuple[int, ...], here: Bools) -> Leaf | int:
            split = self._split(costs, path, here, sets, most[path]) if path else first
            if split is None:
                return cheapest_leaf(costs, here)
            f, most[(*path, split.literal, 1)], most[(*path, split.literal, 0)] = split
            return f

        root = grow(choose, self._literals, np.ones(len(self._contexts), bool))
        tree = DecisionTree(root, self._names)
        return float(costs[np.arange(len(costs)), tree.predict(self._contexts)].sum()), tree

    def root(self, costs: Floats) -> int | None:
        """Return the literal at the root of the best tree, None where that is one leaf."""
        choice = self._root(costs)[1]
        return None if choice is None else choice.literal

    def under(self, rows: Sequence[SideConstraint]) -> Search:
        """Return the search over the trees within the limits that keep ``rows``; the class has no ``max_features``."""
        from policies.trees.constrained import ConstrainedTrees  # only for those who have rows
        from policies.trees.side_arrays import Ends
        from policies.trees.terms import TreeTerms

        terms = TreeTerms(self._literals.tests, self._n_actions, self._depth, self._names)
        truth = self._patterns[:, 1:].astype(float)
        counts = [path_totals(truth, self._rows, length) for length in range(self._depth + 1)]
        allowed = [~self._limits.too_small(of_paths).ravel() for of_paths in counts]
        add_up = terms.adder(self._contexts)
        of_terms = [row.mapped(add_up) for row in rows]
        trees = self._literals.tests, self._depth, self._names
        return TermSearch(ConstrainedTrees(terms, *trees, of_terms, Ends(allowed, self._most)), self._contexts)

    def _answers(self, soft: Soft, costs: Floats, pattern: Bools, height: int) -> Floats:
        if height == 0:
            return super()._answers(soft, costs, pattern, height)
        everywhere, filled = self._run(soft, costs, pattern, height, self._allowed)
        return np.asarray(np.add(add_up(soft, filled.best[: self._most]), everywhere, dtype=float))

    def _root(self, costs: Floats) -> tuple[Bools, Choice | None]:
        """Return the one set (1, p + 1) of tests that a best tree is made of, by halving the list of sets; its root."""
        sets = self._sets
        least = self._least(costs, sets) if len(sets) > 1 else 0.0
        while len(sets) > 1:
            first, second = np.array_split(sets, 2)
            sets = first if self._least(costs, first) == least else second
        return sets, self._split(costs, (), np.ones(len(costs), bool), sets, self._most)

    def _least(self, costs: Floats, sets: Bools) -> float:
        """Return the least total cost of the trees with tests from these sets (n, p + 1), but for a constant."""
        _, filled = self._run(None, costs, self._anywhere, self._depth, Allowed(self._allowed.small, sets))
        return float(filled.best[: self._most].min())

    def _split(self, costs: Floats, path: tuple[int, ...], here: Bools, sets: Bools, most: int) -> Choice | None:
        """Return the choice below ``path``, whose contexts are ``here`` (g,).

        Return None where one leaf is best; ``most`` is the number of leaves that there may be.
        """
        height = self._depth - len(path) // 2
        if height == 0 or most == 1:
            return None
        allowed = Allowed(self._too_small(path, here) if path else self._allowed.small, sets)
        _, filled = self._run(None, np.where(here[:, None], costs, 0.0), self._anywhere, height, allowed)
        leaves = np.arange(2 ** (height - 1))
        near, far = filled.near[leaves, 1:].min(axis=-1).T, filled.far[leaves, 1:].T
        ways = np.where(leaves[:, None] + leaves + 2 <= most, near[:, :, None] + far[:, None, :], np.inf)
        ways[~sets[0, 1:]] = np.inf
        if filled.best[0].min() <= ways.min():
            return None
        f, i, j = np.unravel_index(ways.argmin(), ways.shape)
        return Choice(int(f), int(i) + 1, int(j) + 1)


class LimitedLiteralSearch(LimitedSearch):
    """The recursion by pairs of literals: a table of booleans has the leaves that are too small."""

    def _too_small(self, path: tuple[int, ...], here: Bools) -> Array:
        del here  # the path is enough
        if not path:
            small = small_leaves(self._patterns.astype(float), self._rows, self._limits, self._depth)
            return np.ascontiguousarray(small).reshape((1, 1) * (COMPILED_DEPTH - self._depth) + small.shape)
        numbers = (part if i % 2 else part + 1 for i, part in enumerate(path))
        index = [slice(None)] * (2 * (COMPILED_DEPTH - self._depth)) + [slice(n, n + 1) for n in numbers]
        return np.ascontiguousarray(self._allowed.small[tuple(index)])


def small_leaves(truth: Floats, counts: Floats, limits: Limits, depth: int) -> Bools:
    """Return, of shape (p, 2) * depth, whether the contexts that follow each path are too few for a leaf."""
    if depth < COMPILED_DEPTH:
        return limits.too_small(path_totals(truth, counts, depth))
    sides = ((truth[:, [f]] == side) for f in range(truth.shape[1]) for side in (0, 1))  # one by one, to save memory
    below = [small_leaves(truth, counts * here, limits, depth - 1) for here in sides]
    return np.array(below).reshape(-1, 2, *below[0].shape)


def feature_sets(literals: Literals, limits: Limits, depth: int) -> Bools:
    """Return (n, p + 1): which of the literals 0..p are in each set of tests that one tree may share."""
    d = len(literals.features)
    chosen = np.array(list(combinations(range(d), limits.features_of(d, depth))), dtype=np.int64)
    holds = np.zeros((len(chosen), d), bool)
    np.put_along_axis(holds, chosen, True, axis=1)
    return np.ascontiguousarray(np.pad(np.repeat(holds, np.diff(literals.first), axis=1), ((0, 0), (1, 0))))
