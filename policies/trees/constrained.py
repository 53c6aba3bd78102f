"""Trees under side constraints: from costs of contexts, and from leaf totals that may hold noise."""

from collections.abc import Sequence
from functools import lru_cache
from itertools import groupby
from typing import Any

import numpy as np

from milpcb.errors import InfeasibleError
from milpcb.protocols import RestrictedTerms, Search, SideConstraint, Terms
from milpcb.types import Bools, Floats, Ints
from policies.literals import Literals, Test
from policies.names import Names
from policies.trees import usage
from policies.trees.recursion import TreeStates
from policies.trees.rule import DecisionTree, Leaf, Node, split
from policies.trees.sets import sets_of
from policies.trees.states import BIG
from policies.trees.usage_kernels import answer, made_by

PLAIN = 500.0  # totals up to which weights, and their products, are numbers in range
MOST_HELD = 10**8  # marks of the states that hold a context, a byte each


class SetLeaves:
    """Leaves at the sets of tests with their outcomes: their totals are sums of costs (g, K) of contexts.

    ``counts`` (C, g) are those of contexts. A place is the number of a context.
    """

    def __init__(self, states: TreeStates, literals: Literals, counts: Floats) -> None:
        self._given = states, literals, counts
        self._states, self._literals, self._counts = states, literals, counts
        self.depth, self.empty, n_actions = states.depth, states.empty, states.n_actions
        sizes = groupby(sets_of(len(literals), self.depth), key=lambda part: part.shape[1])
        self._sets = [np.concatenate(list(parts)) for _, parts in sizes]
        self._numbers = [np.zeros((len(members), 1), np.int64) for members in self._sets]  # of the subsets of each set
        for k, members in enumerate(self._sets):
            for column in members.T[:, :, None]:
                own = self._numbers[k]
                self._numbers[k] = np.hstack([own, states.layout.start[own] + column])
        self.space = usage.sets(self._sets, states.layout.start, self.depth, states.source.flipped, ends=states.limited)
        states.source.fill(np.zeros((counts.shape[1], n_actions)), counts, self.depth)
        rows = self._states_totals(slice(n_actions - 1, None))
        self.allowed = np.asarray((rows.transpose() >= states.least).all(axis=1))
        n_states = self.space.n_leaves + sum(n for n, _ in self.space.levels)
        self.here = lru_cache(1 + MOST_HELD // n_states)(self._states_at)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self._given

    def totals(self, costs: Floats) -> tuple[Floats, float]:
        """Return the totals (K, leaves), less those of action 0, and what that costs everywhere."""
        everywhere = self._states.source.fill(costs, self._counts, self.depth)
        differences = self._states_totals(slice(self._states.n_actions - 1))
        return np.concatenate([np.zeros_like(differences[:1]), differences]), everywhere

    def _states_totals(self, planes: slice) -> Floats:
        """Return (planes, leaves): the totals of all states, by inclusion and exclusion from those of sets."""
        totals, parts = self._states.source.totals[planes], list[Floats]()
        for numbers in self._numbers:
            sums = totals[:, numbers]
            for i in range(numbers.shape[1].bit_length() - 1):
                sides = sums.reshape(*sums.shape[:2], sums.shape[2] >> (i + 1), 2, 1 << i)
                sides[..., 0, :] -= sides[..., 1, :]
            parts.append(sums.reshape(len(totals), numbers.size))
        return np.concatenate(parts, axis=1)

    def _states_at(self, row: int) -> Bools:
        """Return which states a context is in."""
        sides, own = self._literals.pattern(row) ^ self._states.source.flipped, [np.zeros(1 + self.depth, bool)]
        for k, members in enumerate(self._sets):
            outcome = (sides[members] << np.arange(k)).sum(axis=1)
            own.append((outcome[:, None] == np.arange(1 << k)).ravel())
        return self.space.here(np.concatenate(own))


class PathLeaves:
    """Leaves at the ends of paths, whose totals are terms; a place is that of the terms."""

    def __init__(self, p: int, depth: int, n_actions: int) -> None:
        self.depth, self._n_actions = depth, n_actions
        self.space, self.empty = usage.paths(p, depth), np.zeros((depth, 1))
        self.allowed = np.ones(self.space.n_leaves, bool)

    def totals(self, totals: Floats) -> tuple[Floats, float]:
        """Return the totals (K, leaves), and what is to be added to the cost of every tree."""
        return np.ascontiguousarray(totals.reshape(-1, self._n_actions).T), 0.0

    def here(self, place: Ints) -> Bools:
        """Return which states the context of a place is in."""
        own = np.zeros(1 + self.depth + self.space.n_leaves, bool)
        own[1 + self.depth + place[:, 0] // self._n_actions] = True
        return self.space.here(own)


class ConstrainedTrees(Search):
    """The search over the trees with ``leaves`` that keep ``rows``, at most ``most`` of them; None: any number.

    Raises SearchTooLargeError where there is too much to keep.
    """

    def __init__(
        self,
        leaves: SetLeaves | PathLeaves,
        tests: list[Test],
        names: Names,
        rows: Sequence[SideConstraint],
        most: int | None = None,
    ) -> None:
        self._leaves: Any = leaves
        self._tests, self._names, bound = tests, names, list[SideConstraint]()
        for row in rows:
            weights, everywhere = leaves.totals(row.weights)
            bound.append(SideConstraint(weights.T, row.lower - everywhere, row.upper - everywhere))
        found = usage.usage_of(leaves.space, bound, leaves.allowed, leaves.empty, most)
        self._graph, self._meeting, self._roots = found

    def value(self, costs: Floats) -> float:
        """Return the least total cost, infinite where no tree keeps the rows."""
        return float(self._ask(None, costs, None)[0])

    def profile(self, costs: Floats, row: Any) -> Floats:
        """Return (K,): the least total cost by the action at a place."""
        return self._ask(None, costs, self._leaves.here(row))

    def log_weights(self, costs: Floats, row: Any, rate: float) -> Floats:
        """Return (K,): log of the summed exp(-rate * total cost) of the derivations by the action at a place."""
        return -self._ask(rate, costs, self._leaves.here(row))

    def minimise(self, costs: Floats) -> tuple[float, DecisionTree]:
        """Return the least total cost and a tree that attains it; at each node the first choice wins a tie."""
        least = self.value(costs)
        if least == np.inf:
            raise InfeasibleError("no tree keeps the side constraints")
        met, T, head = self._meeting, self._graph.T, self._best
        tails = np.arange(met.low[head], met.high[head])
        weights = met.head_weights[head] + met.tail_weights[tails]
        tails = tails[((met.bounds[0] <= weights) & (weights <= met.bounds[1])).all(axis=1)]
        fails, holds = int(met.heads[head]), int(met.tails[tails[T[met.tails[tails]].argmin()]])
        test = int(self._roots[np.searchsorted(met.head_start, head, side="right") - 1])
        return least, DecisionTree(self._split(test, (fails, holds), {}), self._names)

    def _ask(self, rate: float | None, costs: Floats, here: Bools | None) -> Floats:
        """Return the least totals (K,) by the action at the context of the states ``here``; (1,) of all where None.

        With a ``rate`` it is -log of the summed exp(-rate * total).
        """
        soft, nowhere = None if rate is None else 1.0, np.zeros(len(self._graph.start) - 1, bool)
        self._leaf, everywhere = self._leaves.totals(costs if rate is None else rate * costs)
        found = np.empty(1 if here is None else len(self._leaf))
        plain = rate is not None and 2**self._leaves.depth * float(np.abs(self._leaf).max()) <= PLAIN
        leaf, here = np.exp(-self._leaf) if plain else self._leaf, nowhere if here is None else here
        self._best = answer(soft, plain, leaf, here, self._graph, self._meeting, found)
        return np.where(found < BIG / 2, found + everywhere, np.inf)

    def _split(self, test: int, sides: tuple[int, int], known: dict[int, int]) -> Node:
        """Return a tree of two nodes, where the literals ``known`` have come out so."""
        if test < 0 or test in known:
            return self._node(sides[known.get(test, 0)], known)
        yes, no = (self._node(sides[side], {**known, test: side}) for side in (1, 0))
        return split(self._tests[test], yes, no)

    def _node(self, k: int, known: dict[int, int]) -> Node:
        """Return the first subtree that makes the cost of a node."""
        graph = self._graph
        state = int(np.searchsorted(graph.start, k, side="right")) - 1
        if state < graph.last:
            own = self._leaf[:, state - graph.first]
            return Leaf(int(np.where(graph.classes == k - graph.start[state], own, np.inf).argmin()))
        test, fails, holds = made_by(k, state, graph)
        return self._split(int(test), (fails, holds), known)


class ConstrainedTerms(RestrictedTerms):
    """The ``terms`` of trees of a ``depth`` over ``tests`` with the recursion over those alone that keep ``rows``."""

    def __init__(
        self, terms: Terms, tests: list[Test], depth: int, names: Names, rows: Sequence[SideConstraint]
    ) -> None:
        super().__init__(terms)
        self._given, self._rows = (tests, depth, names), tuple(rows)
        self.trees = ConstrainedTrees(PathLeaves(len(tests), depth, terms.n_actions), tests, names, rows)

    def under(self, rows: Sequence[SideConstraint]) -> Terms:
        """Return the terms under these rows as well."""
        return ConstrainedTerms(self.terms, *self._given, (*self._rows, *rows))

    def value(self, totals: Floats) -> float:
        """Return the least total."""
        return self.trees.value(totals)

    def minimise(self, totals: Floats) -> tuple[float, DecisionTree]:
        """Return the least total and a tree that attains it."""
        return self.trees.minimise(totals)

    def profile(self, totals: Floats, place: Ints) -> Floats:
        """Return (K,): the least total by the action at ``place``."""
        return self.trees.profile(totals, place)

    def log_weights(self, totals: Floats, place: Ints, rate: float) -> Floats:
        """Return (K,): log of the summed exp(-rate * total) by the action at ``place``."""
        return self.trees.log_weights(totals, place, rate)
