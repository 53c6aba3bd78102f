"""Trees under side constraints, and structure limits besides; policies/trees/side_states.py states the recursion."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from milpcb.errors import InfeasibleError
from milpcb.protocols import RestrictedTerms, SideConstraint, Terms
from milpcb.types import Floats, Ints
from policies.literals import Test
from policies.names import Names
from policies.semirings import fill_weights
from policies.trees.rule import DecisionTree, Leaf, Node, split
from policies.trees.side_arrays import Ends, recursion
from policies.trees.side_kernels import Rate, Sums, answer

_NOWHERE = np.zeros((0, 0), dtype=np.int64)


class ConstrainedTrees(RestrictedTerms):
    """The ``terms`` with the recursion over the trees alone that keep ``rows``, and ``ends`` where given.

    The terms are the leaves of the trees of a ``depth`` over ``tests``, as in policies/trees/terms.py.
    Without ``ends`` all trees are full, as those of ``terms``; with them each tree within the limits counts once.
    Raises SearchTooLargeError where there is too much to keep.
    """

    def __init__(
        self,
        terms: Terms,
        tests: list[Test],
        depth: int,
        names: Names,
        rows: Sequence[SideConstraint],
        ends: Ends | None = None,
    ) -> None:
        super().__init__(terms)
        self._tests, self._depth, self._names = tests, depth, names
        self._rows, self._ends = tuple(rows), ends
        self._recursion = recursion(len(tests), terms.n_actions, depth, self._rows, ends)
        self._by_action = self._recursion.with_columns(terms.n_actions)
        self._chosen = np.zeros(terms.n_actions, dtype=np.int64)

    def under(self, rows: Sequence[SideConstraint]) -> Terms:
        """Return the terms under these rows as well."""
        every = (*self._rows, *rows)
        return ConstrainedTrees(self.terms, self._tests, self._depth, self._names, every, self._ends)

    def value(self, totals: Floats) -> float:
        """Return the least total of the trees, infinite where there is none."""
        return float(self._answers(None, totals, _NOWHERE)[0])

    def profile(self, totals: Floats, place: Ints) -> Floats:
        """Return (K,): the least total of the trees by the action at ``place``."""
        return self._answers(None, totals, place)

    def log_weights(self, totals: Floats, place: Ints, rate: float) -> Floats:
        """Return (K,): log of the summed exp(-rate * total) of the trees by the action at ``place``."""
        fill_weights(rate, totals, self._summed.leaf_masses, self._summed.leaf_powers)
        return -self._answers(float(rate), totals, place)

    def minimise(self, totals: Floats) -> tuple[float, DecisionTree]:
        """Return the least total and a tree that attains it; at each node the lowest-numbered choice wins a tie."""
        least = self.value(totals)
        if least == np.inf:
            raise InfeasibleError("no tree keeps the side constraints")
        (states, joined, pairing), head = self._recursion, int(self._chosen[0])
        fails = int(joined.head_labels[head])
        state = int(np.searchsorted(states.start, fails, side="right")) - 1
        if state == 0:
            return least, DecisionTree(self._node(totals, 0, fails, {}), self._names)
        holds, f = int(joined.tail_labels[pairing.cheapest_tail(head)]), (state - 1) // 2
        yes, no = self._node(totals, state + 1, holds, {f: 1}), self._node(totals, state, fails, {f: 0})
        return least, DecisionTree(split(self._tests[f], yes, no), self._names)

    def _answers(self, rate: Rate, totals: Floats, place: Ints) -> Floats:
        """Return the answers by the action at ``place``, (1,) nowhere; see policies/trees/side_kernels.py."""
        states, joined, _ = self._recursion
        if len(place):
            joined = self._by_action
        answers = np.empty(joined.heads.costs.shape[1])
        sums = self._least if rate is None else self._summed
        answer(rate, totals, place, states, joined, sums, answers, self._chosen)
        return answers

    @cached_property
    def _least(self) -> Sums:
        return self._recursion.sums()

    @cached_property
    def _summed(self) -> Sums:
        return self._recursion.sums(self.n_terms)

    def _node(self, totals: Floats, state: int, label: int, known: dict[int, int]) -> Node:
        """Return a subtree that makes the cost of a label, where the literals ``known`` have come out so."""
        states, costs = self._recursion.states, self._least.costs
        full, p = int(states.offset[-2]), states.n_tests
        if state >= full:
            leaves = totals.reshape(-1, self.n_actions)[state - full]
            return Leaf(int(np.where(states.start[state] + states.classes == label, leaves, np.inf).argmin()))
        if len(states.ended):
            ends = (states.ended[state, states.classes] == label) & (self._least.totals[state] == costs[label])
            if ends.any():
                return Leaf(int(ends.argmax()))
        for g in range(p):
            below = 1 + 2 * (p * state + g)
            start, middle, stop = states.start[below : below + 3]
            first = states.first[p * state + g]
            made = states.label[first : first + (middle - start) * (stop - middle)].reshape(
                middle - start, stop - middle
            )
            ways = (made == label) & (costs[start:middle, None] + costs[middle:stop] == costs[label])
            if ways.any():
                break
        i, j = np.unravel_index(ways.argmax(), ways.shape)
        sides = int(start + i), int(middle + j)
        if g in known:
            return self._node(totals, below + known[g], sides[known[g]], known)
        yes, no = (self._node(totals, below + s, sides[s], {**known, g: s}) for s in (1, 0))
        return split(self._tests[g], yes, no)
