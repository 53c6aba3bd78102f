"""The leaf totals of decision trees, (path, action), the recursion over them, and all trees within a cost bound.

A path is D pairs (literal, outcome), in the order of the tests; a term has the number that it has in an array of shape
(p, 2) * D + (K,). A derivation has any literal at each inner node, any action at each leaf. Where a literal comes twice
on a path with different outcomes no context follows it: its terms hold noise alone. Noise may differ between two orders
of the same tests, so that the recursion is over paths, and not over states (policies/trees/usage.py).

The trees below a test within a bound of total cost are those on either side whose cost leaves room for the best tree on
the other side, which the recursion over states returns: two shorter lists, of which every pair within the bound is a
tree. Trees that label all contexts of a side alike are one, the smallest. A labeling is known by the sum of random keys
of its cells (milpcb/core/zobrist.py), which adds up over sides as costs do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cached_property, lru_cache, partial
from typing import Any, NamedTuple

import numpy as np

from milpcb.core.zobrist import first_of_each, key_tables, zobrist_hashes
from milpcb.errors import SearchTooLargeError
from milpcb.protocols import Listing, SeveralTables, SideConstraint, Terms, Within
from milpcb.types import Bools, Floats, Ints
from policies.literals import Test, outcomes
from policies.names import Names
from policies.trees.constrained import ConstrainedTrees, PathLeaves
from policies.trees.recursion import TreeStates
from policies.trees.rule import DecisionTree, Leaf, Node, path_totals, split
from policies.trees.sets import fits
from policies.trees.several import SeveralTrees
from policies.trees.states import Array
from policies.trees.totals import ContextCosts, Products

MOST_PAIRS = 2_000_000  # of two sides, at the root, and below it in all: a second


class TreeTerms(Terms):
    """The leaves of all trees of one depth over fixed literals, with the recursion over trees that keep ``rows``."""

    def __init__(
        self, tests: list[Test], n_actions: int, depth: int, names: Names, rows: Sequence[SideConstraint] = ()
    ) -> None:
        self.n_actions, self._rows = n_actions, tuple(rows)
        self._tests, self._names = tests, names
        self.n_literals = p = len(tests)
        self.depth = depth = depth if p else 0
        self.n_touched = p**depth
        self.n_terms = (2 * p) ** depth * n_actions
        self.n_features = 1 + max((feature for feature, *_ in tests), default=0)
        if rows:
            _ = self.trees

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._tests, self.n_actions, self.depth, self._names, self._rows)

    @cached_property
    def trees(self) -> ConstrainedTrees:
        """The recursion."""
        rows = self._rows or (SideConstraint(np.zeros(self.n_terms)),)  # one that all trees keep
        leaves = PathLeaves(self.n_literals, self.depth, self.n_actions)
        return ConstrainedTrees(leaves, self._tests, self._names, rows)

    def places(self, contexts: Floats) -> list[Ints]:
        return list(self.n_actions * self._paths(contexts)[:, :, None] + np.arange(self.n_actions))

    def adder(self, contexts: Floats) -> Callable[[Floats], Floats]:
        truth = outcomes(contexts, self._tests).astype(float)
        return lambda costs: np.ascontiguousarray(path_totals(truth, costs, self.depth)).ravel()

    def under(self, rows: Sequence[SideConstraint]) -> TreeTerms:
        return TreeTerms(self._tests, self.n_actions, self.depth, self._names, (*self._rows, *rows))

    def several(self, place: Callable[[int], Ints], count: Callable[[float], float]) -> SeveralTables | None:
        return None if self._rows else SeveralTrees(self, place, count)

    def near(self, contexts: Floats, asked: Within) -> Listing | None:
        if not fits(self.n_literals, self.depth, self.n_actions, self.n_actions - 1, None):
            return None
        return NearTrees(outcomes(contexts, self._tests), self.depth, asked).listing(self._tests, self._names)

    def value(self, totals: Floats) -> float:
        return self.trees.value(totals)

    def minimise(self, totals: Floats) -> tuple[float, DecisionTree]:
        return self.trees.minimise(totals)

    def profile(self, totals: Floats, place: Ints) -> Floats:
        return self.trees.profile(totals, place)

    def log_weights(self, totals: Floats, place: Ints, rate: float) -> Floats:
        return self.trees.log_weights(totals, place, rate)

    def _paths(self, contexts: Floats) -> Ints:
        sides = 2 * np.arange(self.n_literals) + outcomes(contexts, self._tests)
        paths = np.zeros((len(contexts), 1), np.int64)
        for length in range(1, self.depth + 1):
            longer = 2 * self.n_literals * paths[:, :, None] + sides[:, None, :]
            paths = longer.reshape(len(contexts), self.n_literals**length)
        return paths


class Trees(NamedTuple):
    """Trees of a state: costs, hashes and sizes (n,), weights (R, n) in rows.

    ``parts`` (3, n) are the root, -1 for a leaf, and the numbers, among ``sides`` of the root, of the trees where it
    fails and where it holds; without ``sides``, the numbers of the actions there.
    """

    costs: Floats
    hashes: Array
    sizes: Ints
    weights: Floats
    parts: Ints
    sides: dict[int, tuple[Trees, Trees]]

    def n_pairs(self, bound: float) -> int:
        """Return the number of pairs of trees of both sides within a bound."""
        return sum(int(_stops(*sides, bound).sum()) for sides in self.sides.values())

    def joined(self, bound: float, rows: Sequence[SideConstraint] = ()) -> Trees:
        """Return these trees and all pairs within a bound that keep rows, by cost, the smallest of each labeling."""
        parts, left = [self], MOST_PAIRS
        for g, sides in self.sides.items():
            parts.append(_pairs(g, *sides, bound, left))
            left -= len(parts[-1].costs)
        every: list[Any] = [np.concatenate(each, axis=-1) for each in list(zip(*parts, strict=True))[:5]]
        costs, hashes, sizes, weights, _ = every
        places = np.flatnonzero(costs <= bound)
        for row, own in zip(rows, weights, strict=False):
            places = places[row.holds(own[places])]
        small = places[np.argsort(sizes[places], kind="stable")]
        first = small[first_of_each(hashes[small])]
        ordered = first[np.argsort(costs[first], kind="stable")]
        return Trees._make([*(each[..., ordered] for each in every), self.sides])

    def node(self, number: int, tests: list[Test]) -> Node:
        """Return the root of a tree."""
        root, fails, holds = self.parts[:, number].tolist()
        if root < 0:
            return Leaf(fails)
        if root not in self.sides:
            return split(tests[root], Leaf(holds), Leaf(fails))
        below, above = self.sides[root]
        return split(tests[root], above.node(holds, tests), below.node(fails, tests))


def _stops(fails: Trees, holds: Trees, bound: float) -> Ints:
    """Return how many of the trees on one side each on the other may go with, the cheapest ones."""
    return np.searchsorted(holds.costs, bound - fails.costs, side="right")


def _pairs(root: int, fails: Trees, holds: Trees, bound: float, most: int) -> Trees:
    """Return the trees of a root within a bound, so many of them at most."""
    stops = np.diff(np.minimum(np.cumsum(_stops(fails, holds, bound)), most), prepend=0)
    i = np.repeat(np.arange(len(stops)), stops)
    j = np.arange(len(i)) - np.repeat(np.cumsum(stops) - stops, stops)
    return Trees(
        fails.costs[i] + holds.costs[j],
        fails.hashes[i] + holds.hashes[j],
        fails.sizes[i] + holds.sizes[j],
        fails.weights[:, i] + holds.weights[:, j],
        np.stack([np.full_like(i, root), i, j]),
        {},
    )


class NearTrees:
    """The trees of a depth, without limits, within a bound, at contexts where the literals ``truth`` (n, p) hold."""

    def __init__(self, truth: Bools, depth: int, asked: Within) -> None:
        self._truth, self._depth, self._asked = truth, depth, asked
        self._given, self._everywhere = ContextCosts(asked.costs, np.zeros((0, len(truth)))), asked.costs[:, 0].sum()
        source = Products(truth, asked.costs.shape[1], 0, depth)
        self._states = lru_cache(partial(TreeStates, source, asked.costs.shape[1], least=np.zeros(0), most_leaves=None))
        keys = key_tables(*asked.costs.shape)
        tables = [asked.costs - asked.costs[:, :1], *keys, *(row.weights for row in asked.rows)]
        self._held, self._tables = truth.astype(float), np.stack(tables, axis=1)
        actions = np.arange(asked.costs.shape[1])
        self._leaves, self._differ = np.array([0 * actions - 1, actions, actions]), actions[:, None] != actions
        self._known: dict[tuple[int, bytes], tuple[float, Trees]] = {}
        self._left = MOST_PAIRS  # of the trees below the root

    def listing(self, tests: list[Test], names: Names) -> Listing:
        """Return the trees within the bound; some of them if they are too many, none if too many are below a root."""
        bound, trees = self._asked.bound - self._everywhere, _of_values(np.zeros((3, 0)), self._leaves[:, :0])
        complete, every = False, np.ones(len(self._truth), bool)
        with suppress(SearchTooLargeError):
            found = self._parts(every, self._depth, bound)
            trees, complete = found.joined(bound, self._asked.rows), found.n_pairs(bound) <= MOST_PAIRS
        return Listing(trees.costs + self._everywhere, partial(_tree, trees, tests, names), complete)

    def _below(self, here: Bools, height: int, bound: float) -> Trees:
        """Return the trees of a height on the contexts ``here`` (n,) within a bound."""
        key = height, here.tobytes()
        if key not in self._known or self._known[key][0] < bound:
            found = self._parts(here, height, bound)
            self._left -= found.n_pairs(bound)
            if self._left < 0:
                raise SearchTooLargeError
            self._known[key] = bound, found.joined(bound)
        return self._known[key][1]

    def _parts(self, here: Bools, height: int, bound: float) -> Trees:
        tables = self._tables[here]
        if height == 1:
            return self._stumps(self._held[here], tables, bound)
        found = _of_values(tables.sum(axis=0), self._leaves)
        if not height:
            return found
        sides, _ = self._states(height).sides(self._given.at(here), np.zeros(self._truth.shape[1], bool))
        fails, holds = sides.min(axis=1)
        for g in np.flatnonzero(fails + holds <= bound).tolist():
            yes, no = here & self._truth[:, g], here & ~self._truth[:, g]
            if yes.any() and no.any():
                below = self._below(no, height - 1, bound - holds[g])
                found.sides[g] = below, self._below(yes, height - 1, bound - fails[g])
        return found

    def _stumps(self, truth: Floats, tables: Floats, bound: float) -> Trees:
        """Return the trees of one leaf, and those of one test within a bound, by the tables (n, 3 + R, K)."""
        n, n_tables, n_actions = tables.shape
        held = np.matmul(truth.T, tables.reshape(n, -1)).reshape(-1, n_tables, n_actions)
        every = tables.sum(axis=0)
        rest = every - held
        f, i, j = places = np.nonzero((rest[:, 0, :, None] + held[:, 0, None, :] <= bound) & self._differ)
        values = np.concatenate([every, (rest[f, :, i] + held[f, :, j]).T], axis=1)
        return _of_values(values, np.concatenate([self._leaves, places], axis=1))


def _tree(trees: Trees, tests: list[Test], names: Names, number: int) -> DecisionTree:
    return DecisionTree(trees.node(number, tests), names)


def _of_values(values: Floats, parts: Ints) -> Trees:
    """Return leaves and stumps, given their totals (3 + R, n): costs, both tables of keys, weights."""
    sizes = (parts[0] >= 0).astype(np.int64)
    return Trees(values[0], zobrist_hashes(list(values[1:3])), sizes, values[3:], parts, {})
