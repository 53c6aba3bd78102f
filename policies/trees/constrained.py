"""Trees under side constraints: from costs of contexts, and from leaf totals that may hold noise."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from functools import lru_cache
from itertools import groupby
from typing import Any

import numpy as np

from milpcb.errors import InfeasibleError
from milpcb.protocols import Recursion, RestrictedTerms, Search, SideConstraint, Terms
from milpcb.protocols.recursion import Place
from milpcb.types import Bools, Floats, Ints
from policies.literals import Literals, Test
from policies.names import Names
from policies.trees import usage
from policies.trees.leaves import BIG
from policies.trees.rule import DecisionTree, Leaf, Node, split
from policies.trees.sets import sets_of
from policies.trees.states import TreeStates
from policies.trees.usage_kernels import answer, fill_states, made_by

PLAIN = 500.0  # totals up to which weights, and their products, are numbers in range
MOST_HELD = 10**8  # marks of the states that hold a context, a byte each


class _TreesUnder(Recursion[Place]):
    """The trees that keep the rows of a graph, of states whose leaves cost what totals make of them."""

    def _open(self, graph: usage.Usage, tests: list[Test], depth: int, names: Names) -> None:
        """Take the graph of the trees of a ``depth`` over ``tests``."""
        self._graph, self._meeting, self._roots, self._of_blocks = graph
        self._tests, self._depth, self._names = tests, depth, names
        self._nowhere = np.zeros(len(self._graph.start) - 1, bool)

    @abstractmethod
    def _leaves(self, totals: Floats) -> tuple[Floats, float]:
        """Return what the leaves (leaves, K) cost, and what is to be added to the cost of every tree."""

    @abstractmethod
    def _here(self, place: Place) -> Bools:
        """Return which states hold the context of a place."""

    def value(self, totals: Floats) -> float:
        leaf, everywhere = self._leaves(totals)
        return float(self._ask(None, leaf, None)[0]) + everywhere

    def profile(self, totals: Floats, place: Place) -> Floats:
        leaf, everywhere = self._leaves(totals)
        return self._ask(None, leaf, self._here(place)) + everywhere

    def log_weights(self, totals: Floats, place: Place, rate: float) -> Floats:
        leaf, everywhere = self._leaves(totals)
        return -(self._ask(rate, leaf, self._here(place)) + rate * everywhere)

    def minimise(self, totals: Floats) -> tuple[float, DecisionTree]:
        leaf, everywhere = self._leaves(totals)
        least = float(self._ask(None, leaf, None)[0])
        if least == np.inf:
            raise InfeasibleError("no tree keeps the side constraints")
        met, T, head = self._meeting, self._graph.T, self._best
        tails = np.arange(met.low[head], met.high[head])
        weights = met.head_weights[head] + met.tail_weights[tails]
        tails = tails[((met.bounds[0] <= weights) & (weights <= met.bounds[1])).all(axis=1)]
        fails, holds = int(met.heads[head]), int(met.tails[tails[T[met.tails[tails]].argmin()]])
        test = int(self._roots[np.searchsorted(met.head_start, head, side="right") - 1])
        return least + everywhere, DecisionTree(self._split(leaf, test, (fails, holds), {}), self._names)

    def _ask(self, rate: float | None, leaf: Floats, here: Bools | None) -> Floats:
        """Return the least totals (K,) by the action at the context of the states ``here``; (1,) of all where None.

        With a ``rate`` it is -log of the summed exp(-rate * total).
        """
        found = np.empty(1 if here is None else leaf.shape[1])
        soft, plain = None if rate is None else 1.0, False
        if rate is not None:
            leaf = rate * leaf
            plain = 2**self._depth * float(np.abs(leaf).max()) <= PLAIN
            leaf = np.exp(-leaf) if plain else leaf
        self._best = answer(
            soft, plain, leaf, self._nowhere if here is None else here, self._graph, self._meeting, found
        )
        return np.where(found < BIG / 2, found, np.inf)

    def _split(self, leaf: Floats, test: int, sides: tuple[int, int], known: dict[int, int]) -> Node:
        """Return a tree of two nodes, where the literals ``known`` have come out so."""
        if test < 0 or test in known:
            return self._node(leaf, sides[known.get(test, 0)], known)
        yes, no = (self._node(leaf, sides[side], {**known, test: side}) for side in (1, 0))
        return split(self._tests[test], yes, no)

    def _node(self, leaf: Floats, k: int, known: dict[int, int]) -> Node:
        """Return the first subtree that makes the cost of a node."""
        graph = self._graph
        state = int(np.searchsorted(graph.start, k, side="right")) - 1
        if state < graph.last:
            own = leaf[state - graph.first]
            return Leaf(int(np.where(graph.classes == k - graph.start[state], own, np.inf).argmin()))
        block, fails, holds = made_by(k, state, graph)
        return self._split(leaf, int(self._of_blocks[block]), (fails, holds), known)


class ConstrainedTrees(_TreesUnder[int], Search):
    """The search over the trees of ``states`` that keep ``rows``, with at most ``most`` leaves; None: any number.

    ``counts`` (C, g) are those of contexts. Raises SearchTooLargeError where there is too much to keep.
    """

    def __init__(
        self,
        states: TreeStates,
        literals: Literals,
        names: Names,
        counts: Floats,
        rows: Sequence[SideConstraint],
        most: int | None,
    ) -> None:
        self._given = states, literals, names, counts, rows, most
        self._states, self._literals, self._counts = states, literals, counts
        self._n_actions, depth = states.n_actions, states.depth
        sizes = groupby(sets_of(len(literals), depth), key=lambda part: part.shape[1])
        self._sets = [np.concatenate(list(parts)) for _, parts in sizes]
        self._members = np.zeros((sum(map(len, self._sets)), max(1, depth)), np.int64)
        for k, first in enumerate(np.cumsum([0, *map(len, self._sets[:-1])])):
            self._members[first : first + len(self._sets[k]), :k] = self._sets[k]
        self._n_leaves = sum(len(each) << k for k, each in enumerate(self._sets))
        bound, allowed = list[SideConstraint](), np.ones(self._n_leaves, bool)
        for row in rows:
            weights, everywhere = self._leaf_totals(row.weights, self._n_actions + len(counts))
            allowed &= (weights[:, self._n_actions :] >= states.least).all(axis=1)
            weights = np.ascontiguousarray(weights[:, : self._n_actions])
            bound.append(SideConstraint(weights, row.lower - everywhere, row.upper - everywhere))
        space = usage.sets(self._sets, states.start, depth, states.source.flipped, ends=states.limited)
        self._open(usage.usage_of(space, bound, allowed, states.empty, most), literals.tests, depth, names)
        self._held = lru_cache(1 + MOST_HELD // len(self._graph.start))(self._states_at)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self._given

    def _leaves(self, totals: Floats) -> tuple[Floats, float]:
        return self._leaf_totals(totals, self._n_actions)

    def _here(self, place: int) -> Bools:
        return self._held(place)

    def _leaf_totals(self, costs: Floats, n: int) -> tuple[Floats, float]:
        """Return the totals (states, n) of all leaves, less those of action 0, and what that costs everywhere."""
        everywhere = self._states.source.fill(costs, self._counts)
        found = np.empty((self._n_leaves, n))
        fill_states(self._members, self._states.where[0], self._states.start, self._states.source.totals, found)
        return found, everywhere

    def _states_at(self, row: int) -> Bools:
        """Return which states a context is in."""
        sides, own = self._literals.pattern(row) ^ self._states.source.flipped, list[Bools]()
        for k, members in enumerate(self._sets):
            outcome = (sides[members] << np.arange(k)).sum(axis=1)
            own.append((outcome[:, None] == np.arange(1 << k)).ravel())
        depth = self._states.depth
        levels = [own[k] for height in range(1, depth) for k in range(min(depth - height, len(own) - 1), 0, -1)]
        return np.concatenate([np.zeros(1 + depth, bool), *own, *levels])


class ConstrainedTerms(_TreesUnder[Ints], RestrictedTerms):
    """The ``terms`` of trees of a ``depth`` over ``tests`` with the recursion over those alone that keep ``rows``."""

    def __init__(
        self, terms: Terms, tests: list[Test], depth: int, names: Names, rows: Sequence[SideConstraint]
    ) -> None:
        super().__init__(terms)
        self._given, self._rows, self._p, self._depth = (tests, depth, names), tuple(rows), len(tests), depth
        space = usage.paths(self._p, depth)
        of_leaves = [SideConstraint(self._leaves(row.weights)[0], row.lower, row.upper) for row in rows]
        every = np.ones(space.n_leaves, bool)
        self._open(usage.usage_of(space, of_leaves, every, np.zeros((depth, 1)), None), *self._given)

    def under(self, rows: Sequence[SideConstraint]) -> Terms:
        """Return the terms under these rows as well."""
        return ConstrainedTerms(self.terms, *self._given, (*self._rows, *rows))

    def _leaves(self, totals: Floats) -> tuple[Floats, float]:
        return totals.reshape(-1, self.n_actions), 0.0

    def _here(self, place: Ints) -> Bools:
        path, parts = place[:, 0] // self.n_actions, list[Bools]()
        for length in range(self._depth, 0, -1):
            own = np.zeros((2 * self._p) ** length, bool)
            own[path] = True
            parts.append(own)
            path = path // (2 * self._p)
        return np.concatenate([np.zeros(1 + self._depth, bool), *(parts or [np.ones(1, bool)])])
