"""The labelings of a support table as the paths of a graph.

A path has one label for each of P patterns; the term of label a at pattern p is p * K + a. Supports that share a table
are instances of its graph, which differ in their costs alone. What is left of a walk is bounded by any labels of the
patterns to come. The costs are made of nested sums, which are compiled here.
"""

from typing import NamedTuple

import numpy as np

from milpcb.core.kernels import compiled
from milpcb.types import Floats, Ints
from policies.linear.labelings import Diagram
from policies.paths.graph import Array, Edges, Graph
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

LANES = 8  # instances whose sums are made at once, at the least
ROOM = 2**14  # sums that processors keep at hand
SPAN = 600.0  # exponents further apart leave no trace in a product of factors


class Instances(NamedTuple):
    """Of instances what terms cost (n, terms) and weigh (n, R, terms), in ``bounds`` (R, 2), and perhaps ``keys``."""

    costs: Array
    weights: Array
    bounds: Array
    keys: Array


@compiled()
def add_nested(has: Floats, onward: Ints, most: int, values: Floats, sums: Floats) -> None:
    """Add ``values`` (k, n) to ``sums`` (k, nodes, 1 + items), each context to the nodes of its own items."""
    own, node, taken = np.empty(has.shape[1], np.int64), np.zeros(most + 1, np.int64), np.zeros(most + 1, np.int64)
    for j in range(len(has)):
        n = 0
        for i in range(has.shape[1]):
            if has[j, i]:
                own[n] = i
                n += 1
        for k in range(len(values)):
            sums[k, 0, 0] += values[k, j]
            for q in range(n):
                sums[k, 0, 1 + own[q]] += values[k, j]
        level, taken[0] = 0, 0
        while level >= 0:
            q = taken[level]
            if level == most or q + 1 >= n:  # an item without later ones leads to a node without sums
                level -= 1
                continue
            taken[level] += 1
            below = onward[node[level], own[q]]
            for k in range(len(values)):
                into, value = sums[k, below], values[k, j]
                for later in range(q + 1, n):
                    into[1 + own[later]] += value
            level += 1
            node[level], taken[level] = below, q + 1


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

    What is left at a node is bounded by the ``relaxed`` graph, of which ``at`` is its node. Mode LIST lists the paths
    within the bound, ``where`` being the instance of each, up to an instance without room. Mode LEAST fills
    found.totals[0], the least of all below the bound, and where[0], -1 for none; SUM the log of each instance's sum.
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
    trail.depth[0], trail.edge[0], trail.node[0] = 0, 0, 0
    while trail.depth[0] >= 0:
        walk(edges, cost, ahead, rows, acts, within, mode, keys, trail, found)


class Template:
    """The graph of a ``diagram`` of labelings."""

    def __init__(self, diagram: Diagram) -> None:
        n, self.n_actions = len(diagram.child), int(diagram.child.shape[1])
        self.n_patterns = len(diagram.first) - 1
        level = np.repeat(np.arange(self.n_patterns), np.diff(diagram.first))
        terms = level[:, None] * self.n_actions + np.arange(self.n_actions)
        there = diagram.child <= n
        pattern = np.repeat(np.arange(self.n_patterns), self.n_actions)
        self._exact, self._loose = (
            Graph(source, to.astype(np.int64), term, self.n_patterns, self.n_actions).edges
            for source, to, term in (
                (np.nonzero(there)[0], diagram.child[there], terms[there]),
                (pattern, pattern + 1, np.arange(len(pattern))),
            )
        )
        self._at = np.append(level, self.n_patterns).astype(np.int32)

    @property
    def n_terms(self) -> int:
        """Number of terms."""
        return self.n_patterns * self.n_actions

    def costs(self, prices: Floats, some: Ints) -> Floats:
        """Return (n, terms): what labels cost on ``some`` instances, given the prices (K, P, N) of all."""
        return np.ascontiguousarray(prices[:, :, some].transpose(2, 1, 0)).reshape(len(some), -1)

    def force(self, costs: Floats, patterns: Ints, action: int) -> None:
        """Leave one label alone at the pattern (n,) of each instance: all others cost infinity."""
        for a in set(range(self.n_actions)) - {action}:
            costs[np.arange(len(costs)), patterns * self.n_actions + a] = np.inf

    def log_sums(self, costs: Floats, patterns: Ints) -> Floats:
        """Return (n, K): log of the summed exp(-cost) of the paths of each instance, by their label at a pattern."""
        table = costs.reshape(len(costs), self.n_patterns, self.n_actions)
        least = table.min(axis=2)
        span = (table.max(axis=2) - least).sum(axis=1)
        factors = np.exp(least[:, :, None] - table).reshape(len(costs), -1)
        here = patterns[:, None] * self.n_actions + np.arange(self.n_actions)
        sums, lanes = np.empty((len(costs), self.n_actions)), max(LANES, ROOM // len(self._exact.first))
        for start in range(0, len(sums), lanes):
            factor = np.ascontiguousarray(factors[start : start + lanes].T)
            cells, each = here[start : start + lanes].T, np.arange(factor.shape[1])
            kept, mass = factor[cells, each], np.empty((len(self._exact.first), factor.shape[1]))
            for action in range(self.n_actions):
                factor[cells, each] = 0.0
                factor[cells[action], each] = kept[action]
                sum_lanes(self._exact, factor, mass)
                sums[start : start + lanes, action] = mass[0]
        with np.errstate(divide="ignore"):
            logs = np.log(sums) - least.sum(axis=1)[:, None]
        for i in np.flatnonzero(span >= SPAN):
            for action in range(self.n_actions):
                forced = costs[i : i + 1].copy()
                self.force(forced, patterns[i : i + 1], action)
                own = PathSums(*np.empty((2, len(self._exact.first))))
                down(self._exact, forced[0], True, own)
                logs[i, action] = np.log(own.mass[0]) - own.low[0] if own.low[0] < np.inf else -np.inf
        return np.asarray(logs)

    def walk(
        self,
        costs: Floats,
        weights: Floats,
        limits: Floats,
        bound: float,
        mode: int,
        room: int,
        keys: Array | None = None,
    ) -> tuple[Found, Ints, int]:
        """Walk through instances, see walk_each; return what was found, where, and how many were gone through."""
        paths = np.empty((room, self.n_patterns), dtype=np.int32)
        found = Found(np.empty(room), np.empty(room, dtype=np.uint64), paths, np.zeros(1, dtype=np.int64))
        where = np.empty(room, dtype=np.int64)
        where[:1] = -1
        marks = np.zeros((1, 1), dtype=np.uint64) if keys is None else keys
        every = Instances(costs, weights, limits, marks)
        done = walk_each(self._exact, self._loose, self._at, every, bound, mode, found, where)
        if mode == LIST:
            n = int(found.number[0])
            found, where = Found(found.totals[:n], found.marks[:n], found.paths[:n], found.number), where[:n]
        return found, where, int(done)

    def labels(self, paths: Array) -> Ints:
        """Return the labels (n, P) of paths."""
        return np.asarray(self._exact.term[paths] % self.n_actions, dtype=np.int64)
