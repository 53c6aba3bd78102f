"""The labelings of a support table as the paths of a graph.

A path has one label for each of P patterns, in their order; the term of label a at pattern p is p * K + a, and P * K
costs nothing. Supports that share a table are instances of its graph, which differ in their costs alone. What is left
of a walk is bounded by any labels of the patterns to come.
"""

from __future__ import annotations

import numpy as np

from milpcb.types import Floats, Ints
from policies.linear.labelings import Diagram
from policies.paths.graph import Array, Edges
from policies.paths.kernels import LIST, Found, PathSums, down
from policies.paths.lanes import Instances, sum_lanes, walk_each

LANES = 8  # instances whose sums are made at once, at the least
ROOM = 2**14  # sums that processors keep at hand
SPAN = 600.0  # exponents further apart leave no trace in a product of factors


class Template:
    """The graph of a ``diagram`` of labelings."""

    def __init__(self, diagram: Diagram) -> None:
        n, self.n_actions = len(diagram.child), int(diagram.child.shape[1])
        self.n_patterns = len(diagram.first) - 1
        level = np.repeat(np.arange(self.n_patterns), np.diff(diagram.first))
        terms = level[:, None] * self.n_actions + np.arange(self.n_actions)
        child = diagram.child.astype(np.int64)
        state, there = np.broadcast_to(np.arange(n)[:, None], terms.shape), child <= n
        self._exact = _edges(state[there], child[there], terms[there], n)
        pattern = np.repeat(np.arange(self.n_patterns), self.n_actions)
        self._loose = _edges(pattern, pattern + 1, np.arange(len(pattern)), self.n_patterns)
        self._at = np.append(level, self.n_patterns).astype(np.int32)

    @property
    def n_terms(self) -> int:
        """Number of terms."""
        return self.n_patterns * self.n_actions + 1

    def costs(self, prices: Floats, some: Ints) -> Floats:
        """Return (n, terms): what labels cost on ``some`` instances, given the prices (K, P, N) of all."""
        costs = np.zeros((len(some), self.n_terms))
        costs[:, :-1].reshape(len(some), self.n_patterns, -1)[:] = prices[:, :, some].transpose(2, 1, 0)
        return costs

    def force(self, costs: Floats, patterns: Ints, action: int) -> None:
        """Leave one label alone at the pattern (n,) of each instance: all others cost infinity."""
        for a in set(range(self.n_actions)) - {action}:
            costs[np.arange(len(costs)), patterns * self.n_actions + a] = np.inf

    def log_sums(self, costs: Floats, patterns: Ints) -> Floats:
        """Return (n, K): log of the summed exp(-cost) of the paths of each instance, by their label at a pattern."""
        table = costs[:, :-1].reshape(len(costs), self.n_patterns, self.n_actions)
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


def _edges(source: Ints, to: Ints, term: Ints, n_inner: int) -> Edges:
    """Return edges, which are in the order of their source, as kernels take them."""
    first = np.searchsorted(source, np.arange(n_inner + 1))
    return Edges(*(np.ascontiguousarray(part, dtype=np.int32) for part in (first, to, term, source)))
