"""Compiled: sums over an AND/OR graph of trees under side constraints, in two semirings; see policies/trees/usage.py.

Sums are pairs (T, M) that stand for T - log(M), and M is not used in (min, +). Where weights are ``plain``, as they are
while totals are small, T is 0 and M the sum itself: 3 to 4 times faster at depth 3. Nodes of states that hold the
context asked about are filled once for each action there; all others once.
"""

from typing import NamedTuple

import numpy as np

from milpcb.core.kernels import compiled
from policies.semirings import NO_NAN, Array, Soft, exponentials
from policies.trees.states import BIG


class UsageGraph(NamedTuple):
    """Nodes of states: those of state s are ``start[s]`` up to ``start[s + 1]``.

    classes (K,) : the place of each action among the nodes of a leaf, states ``first`` to before ``last``
    blocks (n, 7) : the state, nodes i0 to i1 where a test fails, j0 to j1 where it holds, the place of the first label,
        and the test, -1 for a leaf
    labels : the node that each pair of a block is part of, row by row; fresh (nodes,) : where groups begin (usage.py)
    T, M (nodes,) : the sums; room (2, 2 n) : working space, n the most nodes of a state
    """

    first: int
    last: int
    classes: Array
    start: Array
    blocks: Array
    labels: Array
    fresh: Array
    T: Array
    M: Array
    room: Array


class Meeting(NamedTuple):
    """Nodes on both sides of each root: heads, where it fails, with falling weight, and tails, with rising weight.

    Those of root s are from ``head_start[s]`` and ``tail_start[s]`` on. Head i may go with the tails ``low[i]`` to
    before ``high[i]``, its window, whose further weights (n, R) with its own are within ``bounds`` (2, R).
    """

    heads: Array
    tails: Array
    head_start: Array
    tail_start: Array
    low: Array
    high: Array
    head_weights: Array
    tail_weights: Array
    bounds: Array


@compiled(NO_NAN)
def answer(
    soft: Soft, plain: bool, leaf: Array, here: Array, graph: UsageGraph, meeting: Meeting, answers: Array
) -> int:
    """Fill answers (1,), or (K,) by the action at the context of the states ``here``; return the best head.

    The leaves cost ``leaf`` (K, leaves); plain ones are weights.
    """
    best, near = -1, len(answers) > 1
    fold(soft, plain, leaf, False, -1, here, graph)
    for a in range(len(answers)):
        if near:
            fold(soft, plain, leaf, True, a, here, graph)
        cost, mass = BIG, 0.0
        for s in range(len(meeting.head_start) - 1):
            cost, mass, best = meet(soft, s, cost, mass, best, graph, meeting)
        if soft is not None:
            cost = cost - np.log(mass) if mass > 0.0 else BIG
        answers[a] = cost
    return best


@compiled(NO_NAN)
def fold(soft: Soft, plain: bool, leaf: Array, asked: bool, action: int, here: Array, graph: UsageGraph) -> None:
    """Fill T and M of the states where ``here`` is ``asked``; their leaves play ``action`` alone, unless it is -1."""
    start, classes, T, M = graph.start, graph.classes, graph.T, graph.M
    for s in range(graph.first, len(here)):
        for k in range(start[s], start[s + 1] if here[s] == asked else start[s]):
            T[k], M[k] = 0.0 if plain else BIG, 0.0
    for s in range(graph.first, graph.last):
        for a in range(len(classes) if here[s] == asked and start[s] < start[s + 1] else 0):
            if action in (-1, a):
                k, own = start[s] + classes[a], leaf[a, s - graph.first]
                if plain:
                    M[k] += own
                else:
                    T[k], M[k] = sum_of(soft, T[k], M[k], own, 1.0)
    if not plain:
        add_least(soft, asked, here, graph)
    if soft is not None:
        add_masses(plain, asked, here, graph)


@compiled(NO_NAN)
def add_least(soft: Soft, asked: bool, here: Array, graph: UsageGraph) -> None:
    """Lower T by the pairs of blocks: all, or those of nodes that none of less usage and cost rules out."""
    T, blocks, labels, fresh = graph.T, graph.blocks, graph.labels, graph.fresh
    costs, numbers = graph.room[0], graph.room[1]
    for b in range(len(blocks)):
        s, i0, i1, j0, j1, at, _ = blocks[b]
        if here[s] != asked:
            continue
        n, least = 0, BIG
        for j in range(j0, j1):
            least = BIG if soft is not None or fresh[j] else least
            if T[j] < least:
                numbers[n], costs[n], least = j - j0, T[j], T[j]
                n += 1
        least = BIG
        for i in range(i0, i1):
            least = BIG if soft is not None or fresh[i] else least
            if T[i] < least:
                least, row = T[i], labels[at + (i - i0) * (j1 - j0) :]
                for j in range(n):
                    k = row[int(numbers[j])]
                    T[k] = min(T[k], least + costs[j])


@compiled(NO_NAN)
def add_masses(plain: bool, asked: bool, here: Array, graph: UsageGraph) -> None:
    """Add the pairs of blocks to M of the nodes, whose T are known."""
    T, M, blocks, labels, room = graph.T, graph.M, graph.blocks, graph.labels, graph.room
    for b in range(len(blocks)):
        s, i0, i1, j0, j1, at, _ = blocks[b]
        width = j1 - j0
        for i in range(i0, i1 if here[s] == asked else i0):
            row, mass = labels[at + (i - i0) * width :], M[i]
            if plain:
                for j in range(width):
                    M[row[j]] += mass * M[j0 + j]
            elif T[i] < BIG:
                for j in range(width):
                    room[0, j] = min(T[row[j]] - T[i] - T[j0 + j], 0.0)
                exponentials(room, width)
                for j in range(width):
                    M[row[j]] += room[0, j] * mass * M[j0 + j]


@compiled()
def made_by(k: int, state: int, graph: UsageGraph) -> tuple[int, int, int]:
    """Return the first test, and the nodes on both sides of it, that make the least total of a node of a state."""
    first = np.searchsorted(graph.blocks[:, 0], state)
    for c in range(first, len(graph.blocks)):
        _, i0, i1, j0, j1, at, test = graph.blocks[c]
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
    """Return the least T of the nodes from a place to before another."""
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
