"""Compiled: sums over an AND/OR graph of trees under side constraints, in two semirings; see policies/trees/usage.py.

Sums are pairs (T, M) that stand for T - log(M), and M is not used in (min, +). Where weights are ``plain``, as they are
while totals are small, T is 0 and M the sum itself. Nodes of states that hold the context asked about are filled once
for each action there; all others once.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from milpcb.core.kernels import compiled
from policies.semirings import NO_NAN, Array, Soft, exponentials
from policies.trees.leaves import BIG


class UsageGraph(NamedTuple):
    """Nodes of states: those of state s are ``start[s]`` up to ``start[s + 1]``.

    classes (K,) : the place of each action among the nodes of a leaf, states ``first`` to before ``last``
    blocks (n, 6) : the state, nodes i0 to i1 where a test fails, j0 to j1 where it holds, the place of the first label
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


@compiled()
def fill_states(members: Array, first: Array, start: Array, totals: Array, out: Array) -> None:
    """Fill out (states, 1 + n) with 0 and n totals of all states, set by set, of ``totals`` (at least n, sets)."""
    depth, at = len(first) - 2, 0
    ranks, sums = np.zeros(1 << depth, np.int64), np.zeros(1 << depth)
    for size in range(depth + 1):
        for u in range(first[size], first[size + 1]):
            for i in range(size):
                for o in range(1 << i):
                    ranks[o | 1 << i] = start[ranks[o]] + members[u, i]
            for a in range(out.shape[1] - 1):
                for o in range(1 << size):
                    sums[o] = totals[a, ranks[o]]
                exclude(size, sums)
                for o in range(1 << size):
                    out[at + o, 0], out[at + o, a + 1] = 0.0, sums[o]
            at += 1 << size


@compiled()
def exclude(size: int, sums: Array) -> None:
    """Turn sums (2^size,) where some tests hold into those where the others fail."""
    for i in range(size):
        for o in range(1 << size):
            if not o >> i & 1:
                sums[o] -= sums[o | 1 << i]


@compiled(NO_NAN)
def answer(
    soft: Soft, plain: bool, leaf: Array, here: Array, graph: UsageGraph, meeting: Meeting, answers: Array
) -> int:
    """Fill answers (1,), or (K,) by the action at the context of the states ``here``; return the best head.

    The leaves cost ``leaf`` (leaves, K); plain ones are weights.
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
    start, blocks, T, M, b = graph.start, graph.blocks, graph.T, graph.M, 0
    fill_leaves(soft, plain, leaf, asked, action, here, graph)
    while b < len(blocks):
        s, end = blocks[b, 0], b
        while end < len(blocks) and blocks[end, 0] == s:
            end += 1
        if here[s] == asked:
            T[start[s] : start[s + 1]] = 0.0 if plain else BIG
            if not plain:
                add_least(soft, b, end, graph)
            if soft is not None:
                M[start[s] : start[s + 1]] = 0.0
                add_masses(plain, b, end, graph)
        b = end


@compiled(NO_NAN)
def fill_leaves(soft: Soft, plain: bool, leaf: Array, asked: bool, action: int, here: Array, graph: UsageGraph) -> None:
    """Fill T and M of the leaves where ``here`` is ``asked``."""
    start, classes, T, M = graph.start, graph.classes, graph.T, graph.M
    for s in range(graph.first, graph.last):
        if here[s] != asked or start[s] == start[s + 1]:
            continue
        T[start[s] : start[s + 1]] = 0.0 if plain else BIG
        if soft is not None:
            M[start[s] : start[s + 1]] = 0.0
        for a in range(len(classes)):
            if action in (-1, a):
                k, cost = start[s] + classes[a], leaf[s - graph.first, a]
                if soft is None:
                    T[k] = min(T[k], cost)
                elif plain:
                    M[k] += cost
                else:
                    T[k], M[k] = sum_of(soft, T[k], M[k], cost, 1.0)


@compiled(NO_NAN)
def add_least(soft: Soft, b: int, end: int, graph: UsageGraph) -> None:
    """Lower T by the pairs of blocks: all, or those of nodes that none of less usage and cost rules out."""
    T, labels, fresh, numbers, costs = graph.T, graph.labels, graph.fresh, graph.room[1], graph.room[0]
    for c in range(b, end):
        i0, i1, j0, j1, at = graph.blocks[c, 1:]
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
def add_masses(plain: bool, b: int, end: int, graph: UsageGraph) -> None:
    """Add the pairs of blocks to M of the nodes of one state, whose T are known."""
    T, M, room = graph.T, graph.M, graph.room
    for c in range(b, end):
        i0, i1, j0, j1, at = graph.blocks[c, 1:]
        width = j1 - j0
        for i in range(i0, i1):
            row, mass = graph.labels[at + (i - i0) * width :], M[i]
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
    """Return the first block, and its two nodes, that make the least total of a node of a state."""
    first = np.searchsorted(graph.blocks[:, 0], state)
    for c in range(first, len(graph.blocks)):
        i0, i1, j0, j1, at = graph.blocks[c, 1:]
        for i in range(i0, i1):
            for j in range(j0, j1):
                if graph.labels[at] == k and graph.T[i] + graph.T[j] == graph.T[k]:
                    return c, i, j
                at += 1
    return -1, -1, -1


@compiled(NO_NAN)
def meet(
    soft: Soft, s: int, cost: float, mass: float, best: int, graph: UsageGraph, meeting: Meeting
) -> tuple[float, float, int]:
    """Return the sum (cost, mass) with the pairs of root s that are allowed, and the best head.

    Both ends of a window only move up. A sum over it is one from ``middle`` on, which is added to, and one up to there,
    of which all sums from a place on are kept in ``room``.
    """
    T, M, room, heads, tails = graph.T, graph.M, graph.room, meeting.heads, meeting.tails
    first, middle, rest, more = meeting.tail_start[s], meeting.low[meeting.head_start[s]], BIG, 0.0
    filled = middle
    for i in range(meeting.head_start[s], meeting.head_start[s + 1]):
        low, high, k = meeting.low[i], meeting.high[i], heads[i]
        if low >= high or T[k] >= BIG:
            continue
        if meeting.bounds.shape[1]:
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
