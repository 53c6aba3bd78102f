"""A graph of paths: nodes from a root to one sink, where each edge adds the total of one leaf to a policy's cost.

A derivation (one way to write a policy) is a path. A leaf is a set of contexts that plays one action, and a *term* is
a leaf with its action: term leaf * K + action. Next come terms of leaves with their cheapest action, one edge
in place of K, and last a term of cost 0.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from milpcb.types import Floats, Ints

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
        """For each term the edges that have it, those of any action included: where they start, and the edges."""
        leaf = self.edges.term[self._wide].astype(np.int64) - self.n_terms
        edge = np.concatenate([np.flatnonzero(~self._wide), np.repeat(np.flatnonzero(self._wide), self.n_actions)])
        each = leaf[:, None] * self.n_actions + np.arange(self.n_actions)
        term = np.concatenate([self.edges.term[~self._wide], each.ravel()])
        order = np.argsort(term, kind="stable")
        starts = np.searchsorted(term[order], np.arange(self.nothing + 2))
        return starts.astype(np.int32), edge[order].astype(np.int32)

    @cached_property
    def plain(self) -> Graph:
        """The same paths, with K edges, one for each action, in place of one of any action; the nodes are the same."""
        if not self._any:
            return self
        times = np.where(self._wide, self.n_actions, 1)
        edge = np.repeat(np.arange(len(times)), times)
        nth = np.arange(len(edge)) - np.repeat(np.cumsum(times) - times, times)
        term = self.edges.term.astype(np.int64)[edge]
        term = np.where(self._wide[edge], (term - self.n_terms) * self.n_actions + nth, term)
        return Graph(self.edges.source[edge], self.edges.to[edge], term, self.n_leaves, self.n_actions)
