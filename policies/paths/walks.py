"""Depth-first branch and bound through the paths of a graph that keep side constraints.

Before a walk, one sum from the sink bounds the cost still to come, and two for each row the weight: a walk
backtracks where no path within its bound that keeps the rows can follow. It lists such paths, finds the
cheapest by action, or adds up their weights, whole subgraphs at once where all of their paths keep the rows.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from milpcb.constraints.linear import check_rows
from milpcb.core.long_search import LongSearch
from milpcb.core.zobrist import Hashes, first_of_each, key_tables, zobrist_hashes
from milpcb.errors import InfeasibleError
from milpcb.protocols import RestrictedTerms, SideConstraint, Terms, Within
from milpcb.types import Bools, Floats, Ints, Policy
from policies.paths.graph import Array, Graph
from policies.paths.kernels import (
    LEAST,
    LIST,
    SUM,
    Ahead,
    Found,
    PathRows,
    PathSums,
    down,
    longest,
    new_trail,
    path_sums,
    walk,
)

MOST_KEPT = 10**8  # actions of terms that are kept from query to query: 400 MB
FAR = 400.0  # exponents that are added up below the largest one
MOST_LISTED = 2 * 10**6  # paths: half a second
MOST_LABELS = 10**8  # of these paths
MOST_TURNS = 4  # of a list, each of kernels.STEPS edges: half a second
WORDS = "going through the policies that keep side constraints"  # in lines of progress


class Acts(NamedTuple):
    """The action of each term (terms,) at a context, -1 for none; ``never`` (K,) marks actions that no path plays."""

    actions: Array
    never: Bools


class Walker:
    """The paths of a ``graph`` that keep ``rows``, whose weights (n_terms,) are those of leaves with their actions."""

    def __init__(self, graph: Graph, rows: Sequence[SideConstraint] = ()) -> None:
        check_rows(len(rows), graph.nothing + 2 * graph.n_inner)
        self._graph, self._plain, self._depth = graph, graph.plain, longest(graph)
        self._nodes = np.arange(graph.n_inner + 1, dtype=np.int32)
        self._ends = np.empty((2, len(rows), graph.n_inner + 1))
        weights = np.empty((len(rows), graph.nothing + 1))
        nothing = np.empty(0)
        for r, row in enumerate(rows):
            weights[r] = graph.costs(row.weights)
            for end, sign in zip(self._ends, (1.0, -1.0), strict=True):
                down(graph.edges, graph.costs(sign * row.weights), False, PathSums(end[r], nothing))
                end[r] *= sign
        self._no_keys = np.zeros(graph.nothing + 1, dtype=np.uint64)
        bounds = [(row.lower, row.upper) for row in rows]
        self._rows = PathRows(weights, np.array(bounds, dtype=float).reshape(len(rows), 2))

    def least(self, totals: Floats, acts: Acts | None = None) -> tuple[Floats, Array]:
        """Return the least total by the action in ``acts``, of all paths for None, and the paths that attain it."""
        cost, found = self._graph.costs(totals), self._room(1 if acts is None else self._graph.n_actions)
        low = path_sums(self._graph, cost).low
        found.totals[:] = np.inf
        within = np.full(len(found.totals), np.inf)
        if acts is not None:
            within[acts.never] = -np.inf
        if low[0] < np.inf:
            self._walk(cost, PathSums(low, low[:0]), acts, within, LEAST, found)
            if acts is not None:
                acts.never[found.totals == np.inf] = True
        return found.totals, found.paths

    def log_sums(self, totals: Floats, acts: Acts) -> Floats:
        """Return (K,): log of the summed exp(-total) of the paths by the action in ``acts`` of one of their terms."""
        graph, cost = self._graph, self._graph.costs(totals, soft=True)
        sums = path_sums(graph, cost, soft=True)
        least, found = sums.low[0], self._room(graph.n_actions)
        logs = np.full(graph.n_actions, -np.inf)
        if least == np.inf:
            return logs
        found.totals[:] = 0.0
        within = np.full(graph.n_actions, least + FAR)
        self._walk(cost, sums, acts, within, SUM, found)
        near = found.totals >= np.exp(-FAR / 2)
        logs[near] = np.log(found.totals[near]) - least
        if not (near | acts.never).all():
            lowest, _ = self.least(totals, acts)
            low = path_sums(graph, graph.costs(totals)).low
            for a in np.flatnonzero(~near & (lowest < np.inf)):
                found.totals[:] = 0.0
                within = np.where(np.arange(graph.n_actions) == a, FAR, -np.inf)
                bare = PathSums(low, low[:0])
                self._walk(cost, bare, acts, within, SUM, found, begin=-lowest[a])
                logs[a] = np.log(found.totals[a]) - lowest[a]
        return logs

    def within(self, totals: Floats, bound: float, keys_of: Hashes) -> tuple[Floats, Ints, bool]:
        """Return the shortest path of each hash within a bound: totals (n,), terms (n, depth), and whether all fit."""
        cost = self._graph.costs(totals)
        sums = PathSums(path_sums(self._graph, cost).low, np.empty(0))
        keys = np.zeros(len(cost), dtype=np.uint64)
        keys[: len(keys_of)] = keys_of
        found, complete = self._list(cost, sums, bound, keys)
        short = np.argsort((found.paths >= 0).sum(axis=1), kind="stable")
        chosen = short[first_of_each(found.hashes[short])]
        chosen = chosen[np.argsort(found.totals[chosen], kind="stable")]
        return found.totals[chosen], self.terms(found.paths[chosen]), complete

    def terms(self, paths: Array) -> Ints:
        """Return the terms of the edges of paths; that of no edge costs nothing."""
        return np.where(paths < 0, self._graph.nothing, self._plain.edges.term[paths].astype(np.int64))

    def _list(self, cost: Floats, sums: PathSums, bound: float, keys: Hashes) -> tuple[Found, bool]:
        found = self._room(min(MOST_LISTED, MOST_LABELS // max(1, self._depth)))  # memory is taken as it is filled
        done = self._walk(cost, sums, None, np.array([bound]), LIST, found, keys=keys, turns=MOST_TURNS)
        n, kept = int(found.number[0]), slice(min(int(found.number[0]), len(found.totals)))
        listed = Found(found.totals[kept], found.hashes[kept], found.paths[kept], found.number)
        return listed, done and n <= len(found.totals)

    def _walk(
        self,
        cost: Floats,
        sums: PathSums,
        acts: Acts | None,
        within: Floats,
        mode: int,
        found: Found,
        *,
        keys: Hashes | None = None,
        begin: float = 0.0,
        turns: int | None = None,
    ) -> bool:
        """Walk through the paths; return whether all that there are, not ended after so many ``turns``."""
        plain, factor = self._plain, sums.mass
        if len(sums.mass):
            gap = cost[plain.edges.term] + sums.low[plain.edges.to]
            with np.errstate(invalid="ignore"):  # of a node that no path goes on from
                gap -= sums.low[plain.edges.source]
            factor = np.exp(-gap)
        trail = new_trail(self._depth, len(self._rows.weights))
        trail.total[0], trail.action[0] = begin, 0 if acts is None else -1
        ahead = Ahead(self._nodes, sums.low, self._ends, sums.mass, factor)
        actions = np.zeros(0, dtype=np.int32) if acts is None else acts.actions
        keys = self._no_keys if keys is None else keys
        walk(plain.edges, cost, ahead, self._rows, actions, within, mode, keys, trail, found)
        if trail.depth[0] >= 0:
            with LongSearch(WORDS) as watched:
                while trail.depth[0] >= 0 and turns != 1:
                    watched.look()
                    turns = None if turns is None else turns - 1
                    walk(plain.edges, cost, ahead, self._rows, actions, within, mode, keys, trail, found)
        return bool(trail.depth[0] < 0)

    def _room(self, size: int) -> Found:
        paths = np.empty((size, self._depth), dtype=np.int32)
        return Found(np.empty(size), np.empty(size, dtype=np.uint64), paths, np.zeros(1, dtype=np.int64))


def paths_within(graph: Graph, lift: Callable[[Floats], Floats], asked: Within) -> tuple[Floats, Ints, bool]:
    """Return the answer of Walker.within on ``asked``; ``lift`` maps costs (g, K) to totals of terms."""
    walker = Walker(graph, [row.mapped(lift) for row in asked.rows])
    return walker.within(
        lift(asked.costs), asked.bound, zobrist_hashes([lift(keys) for keys in key_tables(*asked.costs.shape)])
    )


class KeptPaths(RestrictedTerms):
    """The derivations of ``terms``, which are PathTerms, that keep all ``rows``."""

    def __init__(self, terms: Any, rows: Sequence[SideConstraint]) -> None:
        super().__init__(terms)
        self._paths, self._rows = terms, tuple(rows)
        self._walker = Walker(terms.graph, [row.mapped(terms.leaf_totals) for row in rows])
        self._acts = lru_cache(1 + MOST_KEPT // (1 + terms.graph.nothing))(self._acts_at)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._paths, self._rows)

    def under(self, rows: Sequence[SideConstraint]) -> Terms:
        return KeptPaths(self._paths, (*self._rows, *rows))

    def value(self, totals: Floats) -> float:
        return float(self._walker.least(self._paths.leaf_totals(totals))[0][0])

    def minimise(self, totals: Floats) -> tuple[float, Policy]:
        least, paths = self._walker.least(self._paths.leaf_totals(totals))
        if least[0] == np.inf:
            raise InfeasibleError("no policy of the class keeps the side constraints")
        return float(least[0]), self._paths.listed(self._walker.terms(paths[0]))

    def profile(self, totals: Floats, place: Ints) -> Floats:
        return self._walker.least(self._paths.leaf_totals(totals), self._acts(place.tobytes()))[0]

    def log_weights(self, totals: Floats, place: Ints, rate: float) -> Floats:
        return self._walker.log_sums(rate * self._paths.leaf_totals(totals), self._acts(place.tobytes()))

    def _acts_at(self, place: bytes) -> Acts:
        """Return the action of each term that decides what is played at a place, by its bytes; -1 of the others."""
        terms, actions = self._paths.deciding(np.frombuffer(place, dtype=np.int64).reshape(-1, self.n_actions))
        acts = np.full(self._paths.graph.nothing + 1, -1, dtype=np.int32)
        acts[terms] = actions
        return Acts(acts, np.zeros(self.n_actions, dtype=bool))
