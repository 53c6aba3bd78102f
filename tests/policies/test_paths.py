"""The engine of graphs of paths against the list of all paths, on random decision diagrams."""

import copy
from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
import pytest

from milpcb.errors import InfeasibleError
from milpcb.listed import ListedSearch
from milpcb.protocols import SideConstraint, Within
from milpcb.types import Floats, Ints
from policies.paths import walks
from policies.paths.graph import Graph
from policies.paths.policy_class import PathTerms

EVERY = range(40)


class Labeling(tuple[int, ...]):
    """The labels of all contexts."""

    __slots__ = ()

    def predict(self, contexts: Any) -> Ints:
        """Return the labels."""
        del contexts
        return np.array(self)


class Diagram(PathTerms):
    """Paths that decide one context after the other, in some order; leaves are the contexts.

    ``edges`` are (source, to, context, action), action -1 being any; node numbers rise along every path.
    """

    def __init__(self, edges: list[tuple[int, int, int, int]], n_contexts: int, n_actions: int) -> None:
        self.n_actions, self.n_terms, self.n_touched, self.n_features = n_actions, n_contexts * n_actions, 1, 1
        self.edges, self.n_contexts = edges, n_contexts

    @cached_property
    def graph(self) -> Graph:
        """The paths; the last context takes a detour over an edge that costs nothing."""
        source, to, context, action = np.array(self.edges).T
        free = self.n_contexts * (self.n_actions + 1)
        term = np.where(action < 0, self.n_terms + context, context * self.n_actions + action)
        sink = to.max()
        ends = np.append(source, sink), np.append(to, sink + 1)
        return Graph(*ends, np.append(term, free), self.n_contexts, self.n_actions)

    def places(self, contexts: Floats) -> list[Ints]:
        """Return the leaf of each context, which is its number."""
        return [np.array([[int(x) * self.n_actions + a for a in range(self.n_actions)]]) for x in contexts[:, 0]]

    def adder(self, contexts: Floats) -> Callable[[Floats], Floats]:
        """Return the costs as they are."""
        del contexts
        return np.ravel

    def policy(self, terms: list[int]) -> Labeling:
        """Return the labels."""
        return Labeling(term % self.n_actions for term in sorted(terms))

    def every(self) -> ListedSearch:
        """Return the list of all paths."""
        found: list[Labeling] = []

        def follow(node: int, labels: dict[int, int]) -> None:
            if len(labels) == self.n_contexts:
                found.append(Labeling(labels[c] for c in range(self.n_contexts)))
            for source, to, context, action in self.edges if len(labels) < self.n_contexts else []:
                if source == node:
                    for a in range(self.n_actions) if action < 0 else (action,):
                        follow(to, {**labels, context: a})

        follow(0, {})
        return ListedSearch(found, np.array(found), self.n_actions)


def diagram(rng: np.random.Generator) -> Diagram:
    """Return a random diagram, of a few states a level, some of them on no path."""
    n_contexts, n_actions = int(rng.integers(1, 6)), int(rng.integers(2, 4))
    edges, states, node = [], [0], 1
    for context in rng.permutation(n_contexts):
        wide = int(rng.integers(1, 4)) if len(edges) < 60 else 1
        onward = list(range(node, node + wide))
        for state in states:
            actions = rng.choice(np.arange(-1, n_actions), int(rng.integers(1, n_actions + 1)), replace=False)
            edges += [(state, int(rng.choice(onward)), int(context), int(action)) for action in actions]
        states, node = sorted({to for _, to, c, _ in edges if c == context}), node + wide
    last = {to for _, to, _, _ in edges if to in states}
    edges = [(source, node if to in last else to, c, a) for source, to, c, a in edges]
    return Diagram(edges, n_contexts, n_actions)


def drawn(rng: np.random.Generator, terms: Diagram, *, whole: bool) -> Floats:
    """Return costs (contexts, K)."""
    shape = terms.n_contexts, terms.n_actions
    return rng.integers(-5, 6, shape).astype(float) if whole else rng.normal(size=shape)


def constraints(rng: np.random.Generator, terms: Diagram, number: int) -> list[SideConstraint]:
    """Return so many side constraints, one- and two-sided."""
    found = []
    for _ in range(number):
        weights = drawn(rng, terms, whole=True)
        total = weights[np.arange(len(weights)), rng.integers(terms.n_actions, size=len(weights))].sum()
        lower = total - 2.0 if rng.random() < 0.4 else -np.inf
        found.append(SideConstraint(weights, lower, total + float(rng.integers(3))))
    return found


@pytest.mark.parametrize("seed", EVERY)
def test_free_paths_are_those_of_the_list(seed: int) -> None:
    """Value, minimum, profiles and weights; whole costs to the last digit."""
    rng = np.random.default_rng(seed)
    terms = diagram(rng)
    listed, whole = terms.every(), seed % 2 == 0
    costs, close = drawn(rng, terms, whole=whole), 0.0 if whole else 1e-12
    value, policy = terms.minimise(costs.ravel())
    contexts = np.arange(terms.n_contexts, dtype=float)[:, None]
    places = terms.places(contexts)
    assert [value, terms.value(costs.ravel())] == pytest.approx([listed.value(costs)] * 2, rel=0, abs=close)
    assert costs[np.arange(len(costs)), policy.predict(contexts)].sum() == pytest.approx(value, rel=0, abs=close)
    profiles = terms.profiles(costs.ravel(), places)
    for row, place in enumerate(places):
        assert profiles[row] == pytest.approx(listed.profile(costs, row), rel=0, abs=close)
        for rate in (0.0, 0.3, 40.0):
            logs = terms.log_weights(costs.ravel(), place, rate)
            assert logs == pytest.approx(listed.log_weights(costs, row, rate), rel=1e-12, abs=1e-12)
    assert terms.log_derivations == pytest.approx(np.log(len(listed.labels)), abs=1e-12)


@pytest.mark.parametrize("number", [1, 2, 3])
@pytest.mark.parametrize("seed", EVERY)
def test_paths_under_rows_are_those_of_the_list(seed: int, number: int) -> None:
    """The same, of those that keep the rows; of none everything is infinite, or refused."""
    rng = np.random.default_rng(seed)
    terms = diagram(rng)
    costs, whole = drawn(rng, terms, whole=seed % 2 == 0), seed % 2 == 0
    rows, close = constraints(rng, terms, number), 0.0 if whole else 1e-12
    listed, contexts = terms.every().under(rows), np.arange(terms.n_contexts, dtype=float)[:, None]
    under = copy.deepcopy(terms.under([row.mapped(np.ravel) for row in rows]))  # as a pickle would
    assert under.value(costs.ravel()) == pytest.approx(listed.value(costs), rel=0, abs=close)
    if not len(listed.labels):
        with pytest.raises(InfeasibleError):
            under.minimise(costs.ravel())
    else:
        value, policy = under.minimise(costs.ravel())
        labels = policy.predict(contexts)
        assert value == pytest.approx(listed.value(costs), rel=0, abs=close)
        assert costs[np.arange(len(costs)), labels].sum() == pytest.approx(value, rel=0, abs=close)
        assert all(row.keeps(labels) for row in rows)
    for row, place in enumerate(terms.places(contexts)):
        assert under.profile(costs.ravel(), place) == pytest.approx(listed.profile(costs, row), rel=0, abs=close)
        for rate in (0.0, 0.3, 300.0):  # at 300 what is kept weighs e^-1000 times the best of all
            logs = under.log_weights(costs.ravel(), place, rate)
            assert logs == pytest.approx(listed.log_weights(costs, row, rate), rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("number", [0, 1, 2])
@pytest.mark.parametrize("seed", EVERY)
def test_lists_within_a_bound_are_those_of_the_list(seed: int, number: int) -> None:
    """Totals in order, each labeling once, and each policy has its total."""
    rng = np.random.default_rng(seed)
    terms = diagram(rng)
    costs, rows = drawn(rng, terms, whole=True), tuple(constraints(rng, terms, number))
    contexts, listed = np.arange(terms.n_contexts, dtype=float)[:, None], terms.every()
    least = listed.under(rows).value(costs)
    if least < np.inf:
        asked = Within(costs, least + float(rng.integers(5)), rows)
        found, expected = terms.near(contexts, asked), listed.near(asked)
        assert found is not None
        assert found.complete
        assert found.totals.tolist() == expected.totals.tolist()
        labels = [found.policy(i).predict(contexts) for i in range(len(found.totals))]
        assert [costs[np.arange(len(costs)), own].sum() for own in labels] == found.totals.tolist()
        assert len({tuple(own) for own in labels}) == len(labels)


def wide(n_contexts: int) -> Diagram:
    """Return all labelings of so many contexts by two actions."""
    return Diagram([(p, p + 1, p, a) for p in range(n_contexts) for a in (0, 1)], n_contexts, 2)


def test_too_many_within_the_bound_are_some_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """So many as fit are listed, in order of their totals."""
    monkeypatch.setattr(walks, "MOST_LISTED", 40)
    costs = np.column_stack([np.zeros(8), np.arange(1.0, 9.0)])
    found = wide(8).near(np.arange(8.0)[:, None], Within(costs, 36.0))
    assert not found.complete
    assert len(found.totals) == 40
    assert found.totals.tolist() == sorted(found.totals.tolist())


def odd(n_contexts: int) -> tuple[Diagram, Any]:
    """Return all labelings, and them under a row that none keeps, which many break at a late context only."""
    terms, weights = wide(n_contexts), np.tile([0.0, 2.0], (n_contexts, 1))
    return terms, terms.under([SideConstraint(weights.ravel(), n_contexts + 0.5, n_contexts + 1.5)])


def test_a_walk_goes_on_after_each_stop() -> None:
    """Tens of millions of edges are more than one call of compiled code tries: nothing is left out."""
    _, under = odd(26)
    assert under.value(np.zeros(52)) == np.inf


def test_a_walk_can_be_interrupted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Between two calls of compiled code Ctrl-C comes through."""

    def pressed(*_: Any) -> None:
        raise KeyboardInterrupt

    _, under = odd(26)
    with monkeypatch.context() as patch:
        patch.setattr(walks.LongSearch, "look", pressed)
        with pytest.raises(KeyboardInterrupt):
            under.value(np.zeros(52))
    assert under.value(np.zeros(52)) == np.inf  # asked again it goes to its end


def test_a_list_ends_where_too_many_break_a_row(monkeypatch: pytest.MonkeyPatch) -> None:
    """After a counted number of edges there may be none on it, and profiles find what there is."""
    monkeypatch.setattr(walks, "MOST_TURNS", 1)
    row = SideConstraint(np.tile([0.0, 2.0], (27, 1)), 26.5, 27.5)
    found = wide(27).near(np.arange(27.0)[:, None], Within(np.zeros((27, 2)), 1.0, (row,)))
    assert (len(found.totals), found.complete) == (0, False)
