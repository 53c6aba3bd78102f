"""A class whose rules are paths, on fixed contexts: its capabilities, and its program, the flow of one unit."""

from abc import abstractmethod
from functools import cached_property

import numpy as np

from milpcb.program import Program
from milpcb.protocols import Encoding, Objective, Opened, Policy
from milpcb.types import Bools, Floats, Ints
from policies.cuts import CuttingClass
from policies.paths.terms import PathTerms, too_many


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
        self.unsupported = {"constraints": reason} if (reason := too_many(n_derivations)) else {}
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
        """Return the class with these cut points, explicit from now on."""
        return self._rules
