"""Graphs of paths: nodes from a root to one sink, where each edge adds the total of one leaf; classes made of these.

A derivation (one way to write a policy) is a path. A leaf is a set of contexts that plays one action, and a *term* is
a leaf with its action: term leaf * K + action. Behind these come the leaves with whichever action is cheapest, one edge
in place of K, and then one term that costs nothing.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from milpcb.core.decimals import beyond
from milpcb.core.marks import key_tables, marks
from milpcb.program import Program
from milpcb.protocols import Encoding, Listing, Objective, Opened, SideConstraint, Terms, Within
from milpcb.types import Bools, Floats, Ints, Policy
from policies.cuts import CuttingClass

Array = npt.NDArray[Any]


class Edges(NamedTuple):
    """The edges of node v, first[v] to first[v + 1] - 1: each leads to a later node ``to`` and has one ``term``."""

    first: Array
    to: Array
    term: Array
    source: Array


class Graph:
    """The paths from node 0 to the sink, the last node.

    Parameters
    ----------
    source, to, term : (E,) the edges, in any order; ``to`` is larger than ``source``
    n_leaves, n_actions : so many leaves, each with K actions

    """

    def __init__(self, source: Ints, to: Ints, term: Ints, n_leaves: int, n_actions: int) -> None:
        order = np.argsort(source, kind="stable")
        self.n_inner = int(to.max())
        first = np.searchsorted(source[order], np.arange(self.n_inner + 1))
        self.edges = Edges(*(part.astype(np.int32) for part in (first, to[order], term[order], source[order])))
        self.n_leaves, self.n_actions = n_leaves, n_actions
        self.n_terms = n_leaves * n_actions
        self.nothing = n_leaves * (n_actions + 1)
        self._wide = (self.edges.term >= self.n_terms) & (self.edges.term < self.nothing)
        self._any = bool(self._wide.any())

    def costs(self, totals: Floats, *, soft: bool = False) -> Floats:
        """Return the costs of all terms, given the ``totals`` (n_terms,) of leaves with their actions."""
        cost = np.zeros(self.nothing + 1)
        cost[: self.n_terms] = totals
        if self._any:
            columns = totals.reshape(-1, self.n_actions).T
            least = columns[0].copy()
            for column in columns[1:]:
                np.minimum(least, column, out=least)
            cost[self.n_terms : -1] = (
                least - np.log(sum(np.exp(least - column) for column in columns)) if soft else least
            )
        return cost

    def terms_of(self, path: Ints, totals: Floats) -> list[int]:
        """Return the terms, leaves with an action, of the edges of a path, given the ``totals`` of the terms."""
        return [self._cheapest(t, totals) for t in self.edges.term[path].tolist() if t < self.nothing]

    def _cheapest(self, term: int, totals: Floats) -> int:
        if term < self.n_terms:
            return term
        first = (term - self.n_terms) * self.n_actions
        return first + int(totals[first : first + self.n_actions].argmin())

    @cached_property
    def by_term(self) -> tuple[Array, Array]:
        """Of each term the edges that have it, those of any action with each: where they start, and the edges."""
        leaf = self.edges.term[self._wide].astype(np.int64) - self.n_terms
        edge = np.concatenate([np.flatnonzero(~self._wide), np.repeat(np.flatnonzero(self._wide), self.n_actions)])
        each = leaf[:, None] * self.n_actions + np.arange(self.n_actions)
        term = np.concatenate([self.edges.term[~self._wide], each.ravel()])
        order = np.argsort(term, kind="stable")
        starts = np.searchsorted(term[order], np.arange(self.nothing + 2))
        return starts.astype(np.int32), edge[order].astype(np.int32)

    @cached_property
    def plain(self) -> Graph:
        """The same paths, with an edge for each action in place of one of any; the nodes are the same."""
        if not self._any:
            return self
        times = np.where(self._wide, self.n_actions, 1)
        edge = np.repeat(np.arange(len(times)), times)
        nth = np.arange(len(edge)) - np.repeat(np.cumsum(times) - times, times)
        term = self.edges.term.astype(np.int64)[edge]
        term = np.where(self._wide[edge], (term - self.n_terms) * self.n_actions + nth, term)
        return Graph(self.edges.source[edge], self.edges.to[edge], term, self.n_leaves, self.n_actions)

    @cached_property
    def nodes(self) -> Array:
        """The numbers of all nodes."""
        return np.arange(self.n_inner + 1, dtype=np.int32)


MOST_WALKED = 10**10  # derivations: minutes a query at the very worst


class PathTerms(Terms):
    """Terms whose derivations are the paths of a graph; a class gives the graph, and what its terms stand for."""

    @property
    @abstractmethod
    def graph(self) -> Graph:
        """The paths; the same object each time."""

    @property
    def wide_graph(self) -> Graph:
        """A graph with the same least totals, perhaps with more paths of one policy, and more edges of any action."""
        return self.graph

    @property
    def walked(self) -> PathTerms:
        """The terms for walks and programs: of the same totals, perhaps with fewer edges on each path."""
        return self

    @abstractmethod
    def policy(self, terms: list[int]) -> Policy:
        """Return the policy of a path, given the terms of the graph, leaves with an action, in their order."""

    @abstractmethod
    def adder(self, contexts: Floats) -> Callable[[Floats], Floats]:
        """Return a function of costs (n, K) at these ``contexts`` (n, d) that returns their totals (n_terms,)."""

    def leaf_totals(self, totals: Floats) -> Floats:
        """Return the totals of the graph's terms, given those that are kept: a linear map."""
        return totals

    def deciding(self, place: Ints) -> tuple[Ints, Ints]:
        """Return terms of the graph, of which each path has one, and the action (n,) of each at ``place``."""
        return place.ravel(), np.tile(np.arange(self.n_actions), self.n_touched)

    def value(self, totals: Floats) -> float:
        from policies.paths.kernels import path_sums

        return float(path_sums(self.graph, self.graph.costs(self.leaf_totals(totals))).low[0])

    def minimise(self, totals: Floats) -> tuple[float, Policy]:
        from policies.paths.kernels import least_edges

        totals = self.leaf_totals(totals)
        least, path = least_edges(self.graph, self.graph.costs(totals))
        return least, self.policy(self.graph.terms_of(path, totals))

    def profile(self, totals: Floats, place: Ints) -> Floats:
        return np.asarray(self.profiles(totals, [place])[0])

    def profiles(self, totals: Floats, places: Sequence[Ints]) -> Floats:
        return self._by_action(self.leaf_totals(totals), places, soft=False)

    def log_weights(self, totals: Floats, place: Ints, rate: float) -> Floats:
        return np.asarray(-self._by_action(rate * self.leaf_totals(totals), [place], soft=True)[0])

    def near(self, contexts: Floats, asked: Within) -> Listing:
        from policies.paths.walks import Walker  # the compiler takes its time: only for those who ask for it

        add_up, terms = self.adder(contexts), self.walked

        def lifted(costs: Floats) -> Floats:
            return terms.leaf_totals(add_up(costs)).copy()

        walker = Walker(terms.graph, [row.mapped(lifted) for row in asked.rows])
        own = marks([lifted(table) for table in key_tables(*asked.costs.shape)])
        totals, paths, complete = walker.within(lifted(asked.costs), asked.bound, own)
        return Listing(totals, lambda i: terms.listed(paths[i]), complete)

    def under(self, rows: Sequence[SideConstraint]) -> Terms:
        from policies.paths.walks import KeptPaths

        return KeptPaths(self.walked, rows)

    def listed(self, terms: Ints) -> Policy:
        """Return the policy of a path, of which some terms are nothing."""
        return self.policy([int(term) for term in terms[terms < self.graph.nothing]])

    def _by_action(self, totals: Floats, places: Sequence[Ints], *, soft: bool) -> Floats:
        from policies.paths.kernels import path_sums, room, through, up

        graph, cost = self.graph, self.graph.costs(totals, soft=soft)
        below, above = path_sums(graph, cost, soft=soft), room(graph, soft=soft)
        up(graph.edges, cost, soft, above)
        answers = np.empty((len(places), self.n_actions))
        for place, into in zip(places, answers, strict=True):
            through(*self.deciding(place), graph.by_term, graph.edges, cost, soft, above, below, into)
        return answers


class PathEncoding(Encoding):
    """The paths of a graph as a network program; the terms of a class define its graph.

    Variables
        x[e] in {0, 1}: the path takes edge e. Constrained encodings have an edge for each action, others one edge
        of any action. A node before the sink with a single edge in, or out, is left out: x then joins two edges.
    Constraints
        (1)  sum of x over the edges from the root = 1
        (2)  sum of x over the edges from v = sum of x over the edges into v      for each other inner node v
        A directed incidence matrix, totally unimodular: every vertex is 0/1.
    Cost map
        x costs the totals of its terms, which are linear in the costs; an edge of any action costs the least total of
        its leaf.
    """

    def __init__(self, terms: PathTerms, contexts: Floats, *, constrained: bool) -> None:
        self._terms, self._contexts = terms, contexts
        self._add_up = terms.adder(contexts)
        self._graph = graph = terms.graph.plain if constrained else terms.wide_graph
        first, to, _, source = graph.edges
        out = np.diff(first)
        goes_on = np.bincount(source, to < graph.n_inner, graph.n_inner) > 0  # to other nodes than the sink
        left_out = (out > 0) & ~goes_on & ((out == 1) | (np.bincount(to)[:-1] == 1))
        left_out[0] = False
        passed = np.append(left_out, False)[to]
        times = np.where(passed, np.append(out, 1)[to], 1) * ~left_out[source]
        # Of each column the edge into a node, and the one out of it that it stands for too, or none.
        self._edges = np.repeat(np.arange(len(to)), times)
        nth = np.arange(len(self._edges)) - np.repeat(np.cumsum(times) - times, times)
        self._then = np.where(passed[self._edges], first[to[self._edges]] + nth, len(to))
        self.program = self._network(left_out)

    def _network(self, left_out: Bools) -> Program:
        import scipy.sparse as sp  # only for who has a program, as it takes a tenth of a second to import

        _, to, term, source = self._graph.edges
        number, n = np.cumsum(~left_out) - 1, len(self._edges)
        onward = np.flatnonzero((self._then == len(to)) & (to[self._edges] < self._graph.n_inner))
        row = number[np.concatenate([source[self._edges], to[self._edges[onward]]])]
        value = np.repeat([1.0, -1.0], [n, len(onward)])
        shape = int((~left_out).sum()), n
        matrix = sp.csr_array(sp.coo_array((value, (row, np.append(np.arange(n), onward))), shape))
        unit, zeros, ones = np.eye(1, shape[0])[0], np.zeros(n), np.ones(n)
        named = np.column_stack([source[self._edges], term[self._edges], np.append(term, -1)[self._then]]).tolist()
        names = tuple("_".join(["x", *(str(part) for part in parts if part >= 0)]) for parts in named)
        return Program(matrix, unit, unit.copy(), zeros, ones, ones.astype(bool), names, integral=True)

    def objective(self, costs: Floats) -> Objective:
        each = np.append(self._graph.costs(self._totals(costs))[self._graph.edges.term], 0.0)
        return Objective(each[self._edges] + each[self._then])

    def decode(self, x: Floats, costs: Floats) -> Policy:
        first, to, _, _ = self._graph.edges
        taken = np.bincount(np.append(self._edges, self._then), np.append(x, x), len(to) + 1)
        node, path = 0, []
        while node < self._graph.n_inner:
            path.append(int(first[node] + taken[first[node] : first[node + 1]].argmax()))
            node = to[path[-1]]
        return self._terms.policy(self._graph.terms_of(np.array(path), self._totals(costs)))

    def _totals(self, costs: Floats) -> Floats:
        return self._terms.leaf_totals(self._add_up(costs))


class OpenedPaths(Opened):
    """A class on fixed contexts whose ``own_terms`` are a graph of paths; ``rules`` are its settings."""

    def __init__(
        self, rules: CuttingClass, group: Ints, contexts: Floats, *, log_size: float, n_derivations: int
    ) -> None:
        """Take settings with explicit cut points, ``group`` (m,) and ``contexts`` (g, d) as Opened has them."""
        self._rules, self.n_actions, self.log_size = rules, rules.n_actions, log_size
        self.group, self.contexts = group, contexts
        counted = "under side constraints the search may go through {} ways to write a policy"
        reason = beyond(n_derivations, MOST_WALKED, counted, "use oracle kind 'milp', or a smaller class")
        self.unsupported = {"constraints": reason} if reason else {}
        every = Opened.capabilities | {"search", "action_weights", "fixed", "totals", "constraints"}
        self.capabilities = every - self.unsupported.keys()

    @cached_property
    @abstractmethod
    def own_terms(self) -> PathTerms:
        """The terms with the cut points that divide these contexts."""

    def terms(self) -> PathTerms:
        return self.own_terms

    def program(self, *, constrained: bool = False) -> Encoding:
        """Return the network program; an LP suffices unless side constraints are added."""
        return PathEncoding(self.own_terms.walked, self.contexts, constrained=constrained)

    def fixed(self) -> CuttingClass:
        return self._rules
