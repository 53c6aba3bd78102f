"""The labelings of a support table as the paths of a graph.

Supports that share a table are instances of its graph (labelings.py), which differ in their costs alone. The costs are
made of nested sums, which are compiled here.
"""

from typing import NamedTuple

import numpy as np

from milpcb.core.kernels import compiled, lower
from milpcb.types import Floats, Ints
from policies.linear.labelings import Diagram
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

LANES = 8  # instances whose sums are made at once, at the least
ROOM = 2**14  # sums that processors keep at hand
SPAN = 600.0  # exponents further apart leave no trace in a product of factors


class Instances(NamedTuple):
    """Instances: costs of terms (n, terms), weights (n, R, terms) within ``bounds`` (R, 2), and perhaps ``keys``."""

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
def walk_each(edges: Edges, at: Array, every: Instances, bound: float, mode: int, found: Found, where: Array) -> int:
    """Walk through instance after instance; return the number of instances done.

    What is left at a node is bounded by any labels of the patterns to come, of which ``at`` is the first. Mode LIST
    lists the paths within the bound, ``where`` being the instance of each, up to an instance without room. Mode LEAST
    fills found.totals[0], the least of all below the bound, and where[0], -1 for none; SUM the log of each instance's
    sum.
    """
    depth, R = found.paths.shape[1], every.weights.shape[1]
    nothing, n_terms = np.empty(0), every.costs.shape[1]
    ahead = Ahead(at, np.zeros(depth + 1), np.zeros((2, R, depth + 1)), nothing, nothing)
    trail = new_trail(depth, R)
    one = Found(np.zeros(1), np.zeros(1, np.uint64), np.zeros((1, depth), np.int32), np.zeros(1, np.int64))
    acts, within, no_keys = np.zeros(0, np.int32), np.zeros(1), np.zeros(n_terms, np.uint64)
    for i in range(len(every.costs)):
        _look_ahead(every, i, ahead)
        costs, rows = every.costs[i], PathRows(every.weights[i], every.bounds)
        if mode == LIST:
            within[0], before, trail.total[0] = bound, found.number[0], 0.0
            _walk_on(edges, costs, ahead, rows, acts, within, LIST, every.keys[i], trail, found)
            if found.number[0] > len(found.totals):
                found.number[0] = before
                return i
            where[before : found.number[0]] = i
            continue
        within[0] = bound if mode == LEAST else np.inf
        if ahead.low[0] >= within[0]:
            continue
        one.totals[0], trail.total[0] = np.inf, 0.0
        _walk_on(edges, costs, ahead, rows, acts, within, LEAST, no_keys, trail, one)
        least = one.totals[0]
        if mode == LEAST and least < np.inf:
            bound, where[0], found.totals[0] = least, i, least
            for p in range(depth):
                found.paths[0, p] = one.paths[0, p]
        elif mode == SUM:
            found.totals[i] = -np.inf
            if least < np.inf:
                within[0], one.totals[0], trail.total[0] = 20.0 + NEGLIGIBLE, 0.0, -least
                _walk_on(edges, costs, ahead, rows, acts, within, SUM, no_keys, trail, one)
                found.totals[i] = np.log(one.totals[0]) - least
    return len(every.costs)


@compiled()
def _look_ahead(every: Instances, i: int, ahead: Ahead) -> None:
    """Fill what labels from each pattern on cost at the least, and weigh at the least and the most."""
    depth, R = len(ahead.low) - 1, every.weights.shape[1]
    n_actions = every.costs.shape[1] // depth
    for p in range(depth - 1, -1, -1):
        first = p * n_actions
        least = every.costs[i, first]
        for t in range(first + 1, first + n_actions):
            least = lower(least, every.costs[i, t])
        ahead.low[p] = ahead.low[p + 1] + least
        for r in range(R):
            own = every.weights[i, r, first : first + n_actions]
            ahead.ends[0, r, p] = ahead.ends[0, r, p + 1] + own.min()
            ahead.ends[1, r, p] = ahead.ends[1, r, p + 1] + own.max()


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
        graph, self._before = diagram
        self.n_patterns, self.n_actions, self.n_terms = graph.n_leaves, graph.n_actions, graph.n_terms
        self._edges = graph.edges
        first_terms = graph.edges.term[graph.edges.first[:-1]]
        self._at = np.append(first_terms // self.n_actions, self.n_patterns).astype(np.int32)

    def costs(self, prices: Floats, some: Ints) -> Floats:
        """Return (n, terms): the costs of labels on ``some`` instances, given the prices (K, P, N) of all."""
        return np.ascontiguousarray(prices[:, :, some].transpose(2, 1, 0)).reshape(len(some), -1)

    def force(self, costs: Floats, patterns: Ints, action: int) -> None:
        """Leave one label possible at the pattern (n,) of each instance: all others cost infinity."""
        for a in set(range(self.n_actions)) - {action}:
            costs[np.arange(len(costs)), patterns * self.n_actions + a] = np.inf

    def log_sums(self, costs: Floats, patterns: Ints) -> Floats:
        """Return (n, K): log of the summed exp(-cost) of the paths of each instance, by their label at a pattern."""
        table = costs.reshape(len(costs), self.n_patterns, self.n_actions)
        least = table.min(axis=2)
        span = (table.max(axis=2) - least).sum(axis=1)
        factors = np.exp(least[:, :, None] - table).reshape(len(costs), -1)
        here = patterns[:, None] * self.n_actions + np.arange(self.n_actions)
        sums, lanes = np.empty((len(costs), self.n_actions)), max(LANES, ROOM // len(self._edges.first))
        for start in range(0, len(sums), lanes):
            factor = np.ascontiguousarray(factors[start : start + lanes].T)
            cells, each = here[start : start + lanes].T, np.arange(factor.shape[1])
            kept, mass = factor[cells, each], np.empty((len(self._edges.first), factor.shape[1]))
            for action in range(self.n_actions):
                factor[cells, each] = 0.0
                factor[cells[action], each] = kept[action]
                sum_lanes(self._edges, factor, mass)
                sums[start : start + lanes, action] = mass[0]
        with np.errstate(divide="ignore"):
            logs = np.log(sums) - least.sum(axis=1)[:, None]
        for i in np.flatnonzero(span >= SPAN):
            for action in range(self.n_actions):
                forced = costs[i : i + 1].copy()
                self.force(forced, patterns[i : i + 1], action)
                own = PathSums(*np.empty((2, len(self._edges.first))))
                down(self._edges, forced[0], True, own)
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
        """Walk through instances, see walk_each; return paths, their instances, and the number of instances done."""
        paths = np.empty((room, self.n_patterns), dtype=np.int32)
        found = Found(np.empty(room), np.empty(room, dtype=np.uint64), paths, np.zeros(1, dtype=np.int64))
        where = np.empty(room, dtype=np.int64)
        where[:1] = -1
        hashes = np.zeros((1, 1), dtype=np.uint64) if keys is None else keys
        every = Instances(costs, weights, limits, hashes)
        done = walk_each(self._edges, self._at, every, bound, mode, found, where)
        if mode == LIST:
            n = int(found.number[0])
            found, where = Found(found.totals[:n], found.hashes[:n], found.paths[:n], found.number), where[:n]
        return found, where, int(done)

    def rows(self, paths: Array) -> Ints:
        """Return the numbers (n,) of the labelings of paths."""
        return np.asarray(self._before[paths].sum(axis=1))
