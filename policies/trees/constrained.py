"""Trees under side constraints: sums over an AND/OR graph (usage.py), from costs of contexts or from leaf totals.

Sums are pairs (T, M) that stand for T - log(M), and M is not used in (min, +). Where weights are ``plain``, as they are
while totals are small, T is 0 and M the sum itself: 4 times faster at depth 3. Nodes of states that hold the context
asked about are filled again for each action there.
"""

from collections.abc import Sequence
from itertools import groupby
from typing import Any

import numpy as np

from milpcb.core.kernels import compiled
from milpcb.errors import InfeasibleError
from milpcb.protocols import Search, SideConstraint
from milpcb.types import Bools, Floats, Ints
from policies.literals import Literals, Test
from policies.names import Names
from policies.trees import usage
from policies.trees.recursion import TreeStates
from policies.trees.rule import DecisionTree, Leaf, Node, split
from policies.trees.sets import sets_of
from policies.trees.states import BIG, NO_NAN, Array, Soft, add_up
from policies.trees.usage import Meeting, UsageGraph

PLAIN = 500.0  # totals up to which weights, and their products, are numbers in range
_NOWHERE = np.zeros(0, np.int64)


class SetLeaves:
    """Leaves at the sets of tests with their outcomes; ``counts`` (C, g) are those of contexts, the places."""

    def __init__(self, states: TreeStates, literals: Literals, counts: Floats) -> None:
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

    def totals(self, costs: Floats) -> tuple[Floats, float]:
        """Return the totals (K, leaves) minus those of action 0, and the cost of action 0 everywhere."""
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

    def near(self, row: int) -> Ints:
        """Return the states that a context is in."""
        sides, own = self._literals.pattern(row) ^ self._states.source.flipped, list[Bools]()
        for k, members in enumerate(self._sets):
            outcome = (sides[members] << np.arange(k)).sum(axis=1)
            own.append((outcome[:, None] == np.arange(1 << k)).ravel())
        heights = range(1, self.depth)
        levels = [own[k] for h in heights for k in range(min(self.depth - h, len(own) - 1), 0, -1)]
        return 1 + self.depth + np.flatnonzero(np.concatenate([*own, *levels]))


class PathLeaves:
    """Leaves at the ends of paths, whose totals are terms; a place is that of the terms."""

    def __init__(self, p: int, depth: int, n_actions: int) -> None:
        self.depth, self._n_actions, self._p = depth, n_actions, p
        self.space, self.empty = usage.paths(p, depth), np.zeros((depth, 1))
        self.allowed = np.ones(self.space.n_leaves, bool)

    def totals(self, totals: Floats) -> tuple[Floats, float]:
        """Return the totals (K, leaves), and an amount to add to the cost of every tree."""
        return np.ascontiguousarray(totals.reshape(-1, self._n_actions).T), 0.0

    def near(self, place: Ints) -> Ints:
        """Return the states that the context of a place is in."""
        path, begin = place[:, 0] // self._n_actions, 1 + self.depth
        states, sizes = [begin + path], [self.space.n_leaves, *(n for n, _ in self.space.levels)]
        for n in sizes[:-2]:
            path, begin = path[:: self._p] // (2 * self._p), begin + n
            states.append(begin + path)
        return np.concatenate(states)


class ConstrainedTrees(Search):
    """The search over the trees with at most so many ``leaves`` that keep ``rows``; may raise SearchTooLargeError."""

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
        return float(self._ask(None, costs, None)[0])

    def profile(self, costs: Floats, row: Any) -> Floats:
        return self._ask(None, costs, self._leaves.near(row))

    def log_weights(self, costs: Floats, row: Any, rate: float) -> Floats:
        return -self._ask(rate, costs, self._leaves.near(row))

    def minimise(self, costs: Floats) -> tuple[float, DecisionTree]:
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

    def _ask(self, rate: float | None, costs: Floats, near: Ints | None) -> Floats:
        """Return the least totals (K,) by the action at the states ``near``, or (1,); with a ``rate`` -log of sums."""
        soft = None if rate is None else 1.0
        self._leaf, everywhere = self._leaves.totals(costs if rate is None else rate * costs)
        found = np.empty(1 if near is None else len(self._leaf))
        plain = rate is not None and 2**self._leaves.depth * float(np.abs(self._leaf).max()) <= PLAIN
        leaf, near = np.exp(-self._leaf) if plain else self._leaf, _NOWHERE if near is None else near
        self._fill_leaves(soft, leaf, plain=plain)
        self._best = answer(soft, plain, leaf, near, self._graph, self._meeting, found)
        return np.where(found < BIG / 2, found + everywhere, np.inf)

    def _fill_leaves(self, soft: Soft, leaf: Floats, *, plain: bool) -> None:
        """Fill the nodes of all leaves that there may be, which cost ``leaf`` (K, leaves), or weigh so much."""
        graph, allowed = self._graph, self._leaves.allowed
        begin, end, step = graph.start[graph.first], graph.start[graph.last], graph.classes.max() + 1
        for c in range(step):
            own, nodes = leaf[graph.classes == c], slice(begin + c, end, step)
            own = own if allowed.all() else own[:, allowed]
            graph.T[nodes] = 0.0 if plain else add_up(soft, own)
            graph.M[nodes] = own.sum(axis=0) if plain else 1.0

    def _split(self, test: int, sides: tuple[int, int], known: dict[int, int]) -> Node:
        if test < 0 or test in known:
            return self._node(sides[known.get(test, 0)], known)
        yes, no = (self._node(sides[side], {**known, test: side}) for side in (1, 0))
        return split(self._tests[test], yes, no)

    def _node(self, k: int, known: dict[int, int]) -> Node:
        graph = self._graph
        state = int(np.searchsorted(graph.start, k, side="right")) - 1
        if state < graph.last:
            own = self._leaf[:, state - graph.first]
            return Leaf(int(np.where(graph.classes == k - graph.start[state], own, np.inf).argmin()))
        test, fails, holds = made_by(k, state, graph)
        return self._split(int(test), (fails, holds), known)


@compiled(NO_NAN)
def answer(
    soft: Soft, plain: bool, leaf: Array, near: Array, graph: UsageGraph, meeting: Meeting, answers: Array
) -> int:
    """Fill answers (1,), or (K,) by the action at the context of the states ``near``; return the best head.

    T and M of the leaves are filled; by action they cost ``leaf`` (K, leaves), or have that mass where ``plain``.
    """
    best = -1
    fold(soft, plain, leaf, np.arange(graph.last, len(graph.start) - 1), 0, graph)
    for a in range(len(answers)):
        fold(soft, plain, leaf, near, a, graph)
        least, sums = BIG, 0.0
        for s in range(len(meeting.head_start) - 1):
            least, sums, best = meet(soft, s, least, sums, best, graph, meeting)
        if soft is not None:
            least = least - np.log(sums) if sums > 0.0 else BIG
        answers[a] = least
    return best


@compiled(NO_NAN)
def fold(soft: Soft, plain: bool, leaf: Array, states: Array, action: int, graph: UsageGraph) -> None:
    """Fill T and M of the nodes of some states, in order; leaves among them play ``action``."""
    start, T, M = graph.start, graph.T, graph.M
    for s in states:
        for k in range(start[s], start[s + 1]):
            T[k], M[k] = 0.0 if plain else BIG, 0.0
        if s < graph.last and start[s] < start[s + 1]:
            k, own = start[s] + graph.classes[action], leaf[action, s - graph.first]
            T[k], M[k] = (0.0, own) if plain else (own, 1.0)
        add_pairs(soft, plain, graph.first_block[s], graph.first_block[s + 1], graph)


@compiled(NO_NAN)
def add_pairs(soft: Soft, plain: bool, first: int, end: int, graph: UsageGraph) -> None:
    """Add the pairs of some blocks to T and M of the nodes that they are part of."""
    T, M, blocks, labels = graph.T, graph.M, graph.blocks, graph.labels
    for b in range(first, end):
        j0, j1, at = blocks[b, 2], blocks[b, 3], blocks[b, 4]
        for i in range(blocks[b, 0], blocks[b, 1]):
            own, mass = T[i], M[i]
            for j in range(j0, j1):
                k = labels[at]
                at += 1
                if soft is None:
                    T[k] = min(T[k], own + T[j])
                elif plain:
                    M[k] += mass * M[j]
                elif own < BIG:
                    T[k], M[k] = sum_of(soft, T[k], M[k], own + T[j], mass * M[j])


@compiled()
def made_by(k: int, state: int, graph: UsageGraph) -> tuple[int, int, int]:
    """Return the first test, with its nodes on both sides, that attains the least total of a node of a state."""
    for b in range(graph.first_block[state], graph.first_block[state + 1]):
        i0, i1, j0, j1, at, test = graph.blocks[b]
        for i in range(i0, i1):
            for j in range(j0, j1):
                if graph.labels[at] == k and graph.T[i] + graph.T[j] == graph.T[k]:
                    return test, i, j
                at += 1
    return -1, -1, -1


@compiled(NO_NAN)
def meet(
    soft: Soft, s: int, cost: float, mass: float, best: int, graph: UsageGraph, meeting: Meeting
) -> tuple[float, float, int]:
    """Return the sum (cost, mass) with the pairs of root s that are allowed, and the best head.

    Both ends of a window only move up. A sum over it is one from ``middle`` on, which is added to, and one up to there,
    of which all sums from a place on are kept in ``room``. With further weights pairs are gone through one by one, but
    for heads that cost too much even with the cheapest tail.
    """
    T, M, room, heads, tails = graph.T, graph.M, graph.room, meeting.heads, meeting.tails
    cheapest = least_of(T, tails, meeting.tail_start[s], meeting.tail_start[s + 1]) if soft is None else -BIG
    first, middle, rest, more = meeting.tail_start[s], meeting.low[meeting.head_start[s]], BIG, 0.0
    filled = middle
    for i in range(meeting.head_start[s], meeting.head_start[s + 1]):
        low, high, k = meeting.low[i], meeting.high[i], heads[i]
        if low >= high or T[k] >= BIG:
            continue
        if meeting.bounds.shape[1]:
            if T[k] + cheapest >= cost:
                continue
            for j in range(low, high):
                way = T[k] + T[tails[j]]
                if (soft is not None or way < cost) and fits(i, j, meeting):
                    best = i if way < cost else best
                    cost, mass = sum_of(soft, cost, mass, way, M[k] * M[tails[j]])
            continue
        if low >= middle:
            least, sums = BIG, 0.0
            for j in range(high - 1, low - 1, -1):
                least, sums = sum_of(soft, least, sums, T[tails[j]], M[tails[j]])
                room[0, j - first], room[1, j - first] = least, sums
            middle, filled, rest, more = high, high, BIG, 0.0
        for j in range(filled, high):
            rest, more = sum_of(soft, rest, more, T[tails[j]], M[tails[j]])
        filled = max(filled, high)
        least, sums = sum_of(soft, rest, more, room[0, low - first], room[1, low - first])
        best = i if T[k] + least < cost else best
        cost, mass = sum_of(soft, cost, mass, T[k] + least, M[k] * sums)
    return cost, mass, best


@compiled(NO_NAN)
def least_of(T: Array, nodes: Array, first: int, end: int) -> float:
    """Return the least T of the nodes from ``first`` to before ``end``."""
    least = BIG
    for j in range(first, end):
        least = min(least, T[nodes[j]])
    return least


@compiled()
def fits(i: int, j: int, meeting: Meeting) -> bool:
    """Return whether the further weights of a head and a tail are within bounds."""
    for r in range(meeting.bounds.shape[1]):
        weight = meeting.head_weights[i, r] + meeting.tail_weights[j, r]
        if weight < meeting.bounds[0, r] or weight > meeting.bounds[1, r]:
            return False
    return True


@compiled(NO_NAN)
def sum_of(soft: Soft, cost: float, mass: float, other: float, more: float) -> tuple[float, float]:
    """Return the sum (+) of two pairs."""
    if soft is None:
        return min(cost, other), 1.0
    if cost == other:
        return cost, mass + more
    e = np.exp(max(-abs(cost - other), -700.0))
    return (other, mass * e + more) if other < cost else (cost, mass + more * e)
