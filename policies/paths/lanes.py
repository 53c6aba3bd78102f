"""Compiled passes over many instances of one graph, which differ in their costs alone: sums and walks."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from milpcb.core.kernels import compiled
from policies.paths.graph import Array, Edges
from policies.paths.kernels import (
    LEAST,
    LIST,
    NEGLIGIBLE,
    SUM,
    Ahead,
    Found,
    PathRows,
    PathSums,
    Trail,
    down,
    new_trail,
    walk,
)


class Instances(NamedTuple):
    """Of each instance what its terms cost (n, terms) and weigh (n, R, terms), their sums within ``bounds`` (R, 2).

    ``keys`` (n, terms) may be empty.
    """

    costs: Array
    weights: Array
    bounds: Array
    keys: Array


@compiled()
def sum_lanes(edges: Edges, factor: Array, mass: Array) -> None:
    """Fill the sums of products ``mass`` (nodes, lanes) to the sink, of as many vectors ``factor`` (terms, lanes)."""
    first, to, term = edges.first, edges.to, edges.term
    n, lanes = len(first) - 1, factor.shape[1]
    for w in range(lanes):
        mass[n, w] = 1.0
    for v in range(n - 1, -1, -1):
        into = mass[v]
        for w in range(lanes):
            into[w] = 0.0
        for e in range(first[v], first[v + 1]):
            own, onward = factor[term[e]], mass[to[e]]
            for w in range(lanes):
                into[w] += own[w] * onward[w]


@compiled()
def walk_each(
    exact: Edges, relaxed: Edges, at: Array, every: Instances, bound: float, mode: int, found: Found, where: Array
) -> int:
    """Walk through instance after instance; return how many have been gone through.

    What is left at a node is bounded by the ``relaxed`` graph, of which ``at`` is its node. In mode LIST the paths
    within the bound are listed, and ``where`` is the instance of each; it ends before an instance that there is no room
    for. In mode LEAST found.totals[0] is the least of all below the bound, and where[0] its instance, -1 where there is
    none. In mode SUM found.totals[i] is the log of the sum of instance i.
    """
    n, R, depth = len(relaxed.first) - 1, every.weights.shape[1], found.paths.shape[1]
    sums, nothing = PathSums(np.empty(n + 1), np.empty(0)), np.empty(0)
    ahead = Ahead(at, sums.low, np.empty((2, R, n + 1)), nothing, nothing)
    trail = new_trail(depth, R)
    one = Found(np.zeros(1), np.zeros(1, np.uint64), np.zeros((1, depth), np.int32), np.zeros(1, np.int64))
    acts, within = np.zeros(0, np.int32), np.zeros(1)
    keys = np.zeros(every.costs.shape[1], np.uint64)
    for i in range(len(every.costs)):
        _look_ahead(relaxed, every, i, ahead)
        rows = PathRows(every.weights[i], every.bounds)
        trail.total[0] = 0.0
        if mode == LIST:
            within[0], before = bound, found.number[0]
            _walk_on(exact, every.costs[i], ahead, rows, acts, within, LIST, every.keys[i], trail, found)
            if found.number[0] > len(found.totals):
                found.number[0] = before
                return i
            where[before : found.number[0]] = i
            continue
        within[0] = bound if mode == LEAST else np.inf
        if sums.low[0] >= within[0]:
            continue
        one.totals[0] = np.inf
        _walk_on(exact, every.costs[i], ahead, rows, acts, within, LEAST, keys, trail, one)
        least = one.totals[0]
        if mode == LEAST and least < np.inf:
            bound, where[0], found.totals[0] = least, i, least
            for p in range(depth):
                found.paths[0, p] = one.paths[0, p]
        elif mode == SUM:
            found.totals[i] = -np.inf
            if least < np.inf:
                within[0], one.totals[0], trail.total[0] = 20.0 + NEGLIGIBLE, 0.0, -least
                _walk_on(exact, every.costs[i], ahead, rows, acts, within, SUM, keys, trail, one)
                found.totals[i] = np.log(one.totals[0]) - least
    return len(every.costs)


@compiled()
def _look_ahead(relaxed: Edges, every: Instances, i: int, ahead: Ahead) -> None:
    """Fill what is left to pay, and to weigh, at each node of the relaxed graph of an instance."""
    nothing = ahead.mass
    down(relaxed, every.costs[i], False, PathSums(ahead.low, nothing))
    minus = np.empty(every.costs.shape[1])
    for r in range(every.weights.shape[1]):
        down(relaxed, every.weights[i, r], False, PathSums(ahead.ends[0, r], nothing))
        for t in range(len(minus)):
            minus[t] = -every.weights[i, r, t]
        down(relaxed, minus, False, PathSums(ahead.ends[1, r], nothing))
        for v in range(len(ahead.low)):
            ahead.ends[1, r, v] = -ahead.ends[1, r, v]


@compiled()
def _walk_on(
    edges: Edges,
    cost: Array,
    ahead: Ahead,
    rows: PathRows,
    acts: Array,
    within: Array,
    mode: int,
    keys: Array,
    trail: Trail,
    found: Found,
) -> None:
    """Walk from the root to the end of the walk, beginning with the cost trail.total[0]."""
    trail.depth[0], trail.edge[0], trail.node[0] = 0, 0, 0
    while trail.depth[0] >= 0:
        walk(edges, cost, ahead, rows, acts, within, mode, keys, trail, found)
