"""A class whose derivations are paths of a graph: its recursion, also under side constraints, and its program."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from functools import cached_property

import numpy as np

from milpcb.core.decimals import beyond
from milpcb.program import Program
from milpcb.protocols import Encoding, Listing, Objective, Opened, SideConstraint, Terms, Within
from milpcb.types import Bools, Floats, Ints, Policy
from policies.cuts import CuttingClass
from policies.paths.graph import Graph

MOST_WALKED = 10**10  # derivations: minutes a query at the very worst


class PathTerms(Terms):
    """Terms whose derivations are the paths of a graph; a class gives the graph, and the meaning of its terms."""

    @property
    @abstractmethod
    def graph(self) -> Graph:
        """The paths; the same object each time."""

    @property
    def wide_graph(self) -> Graph:
        """A graph with the same least totals, perhaps with several paths for a policy, and more edges of any action."""
        return self.graph

    @property
    def walked(self) -> PathTerms:
        """The terms for walks and programs: with the same totals, perhaps with fewer edges on each path."""
        return self

    @abstractmethod
    def policy(self, terms: list[int]) -> Policy:
        """Return the policy of a path, given the terms of the graph, leaves with an action, in their order."""

    @abstractmethod
    def adder(self, contexts: Floats) -> Callable[[Floats], Floats]:
        """Return a function of costs (n, K) at these ``contexts`` (n, d) that returns their totals (n_terms,)."""

    def leaf_totals(self, totals: Floats) -> Floats:
        """Return the totals of the graph's terms from the kept totals: a linear map."""
        return totals

    def deciding(self, place: Ints) -> tuple[Ints, Ints]:
        """Return terms of the graph, one of them on each path, and the action (n,) of each at ``place``."""
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
        from policies.paths.walks import paths_within  # with it numba, which takes a second to import

        add_up, terms = self.adder(contexts), self.walked

        def lifted(costs: Floats) -> Floats:
            return terms.leaf_totals(add_up(costs)).copy()

        totals, paths, complete = paths_within(terms.graph, lifted, asked)
        return Listing(totals, lambda i: terms.listed(paths[i]), complete)

    def under(self, rows: Sequence[SideConstraint]) -> Terms:
        from policies.paths.walks import KeptPaths

        return KeptPaths(self.walked, rows)

    def listed(self, terms: Ints) -> Policy:
        """Return the policy of a path, some of whose terms may be empty."""
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
