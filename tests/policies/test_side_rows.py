"""Side rows in classes whose derivations are paths: the walks against the list of all paths, and who has none."""

from typing import Any

import numpy as np
import pytest

from milpcb.constraints import LabelConstraint, always, share_at_most
from milpcb.core.decimals import spaced
from milpcb.errors import InfeasibleError, InputError
from milpcb.listed import ListedSearch
from milpcb.oracles import open_oracle
from milpcb.protocols import SideConstraint
from milpcb.types import Floats
from policies import BoxRules, LinearRules, MonotoneRules, RuleLists, ThresholdRules
from policies.paths import policy_class as paths
from policies.paths.kernels import longest
from policies.paths.policy_class import PathTerms

RNG = np.random.default_rng(5)
CONTEXTS = RNG.integers(0, 2, (40, 8)).astype(float)
REALS = RNG.normal(size=(40, 3))
LARGER = {
    "lists of three rules": (RuleLists(3, max_rules=3), CONTEXTS[:, :6]),
    "lists of two rules": (RuleLists(2, max_rules=2), CONTEXTS),
    "rectangles": (BoxRules(3, max_features=2), REALS),
    "three cuts": (ThresholdRules(2, max_cuts=3, thresholds=6), REALS),
}


def every_path(terms: PathTerms, contexts: Floats) -> ListedSearch:
    """Return the list of all derivations, those that walks go through, with what they play on the contexts."""
    terms = terms.under([]).terms  # those whose graph is walked on
    graph = terms.graph.plain
    paths, node = np.full((1, longest(graph)), graph.nothing), np.zeros(1, dtype=np.int64)
    for step in range(longest(graph)):
        counts = np.where(node < graph.n_inner, np.diff(graph.edges.first, append=len(graph.edges.to))[node], 1)
        rank = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        paths, node = np.repeat(paths, counts, axis=0), np.repeat(node, counts)
        inner = node < graph.n_inner
        edge = graph.edges.first[node[inner]] + rank[inner]
        paths[inner, step], node[inner] = graph.edges.term[edge], graph.edges.to[edge]
    labels = np.empty((len(paths), len(contexts)), dtype=np.int64)
    for row, place in enumerate(terms.places(contexts)):
        acts = np.full(graph.nothing + 1, -1)
        decided, actions = terms.deciding(place)
        acts[decided] = actions
        assert (np.count_nonzero(acts[paths] >= 0, axis=1) == 1).all()
        labels[:, row] = acts[paths].max(axis=1)
    return ListedSearch(list(range(len(paths))), labels, terms.n_actions)


@pytest.mark.parametrize("name", LARGER)
@pytest.mark.parametrize(
    "sides", [(None, 0.2), (0.8, None), (0.45, 0.55), (0.5, 0.5), ((0.3, 0.6), (0.4, 0.7)), ((0.6, 0.7), (0.7, None))]
)
def test_walks_find_the_derivations_that_keep_the_rows(name: str, sides: Any) -> None:
    """Profiles and weights under one row, and under two, are those of all paths that keep them."""
    rules, contexts = LARGER[name]
    terms = rules.on(contexts).terms()
    rng = np.random.default_rng(0)
    shape = (len(contexts), rules.n_actions)
    every, rows = every_path(terms, contexts), []
    for low, high in sides if isinstance(sides[0], tuple) else [sides]:
        weights = rng.normal(size=shape)
        totals = every.totals(weights)
        lower = -np.inf if low is None else np.quantile(totals, low, method="nearest")
        upper = np.inf if high is None else np.quantile(totals, high, method="nearest")
        rows.append(SideConstraint(weights, lower - 1e-9, upper + 1e-9))
    costs, place = 100.0 * rng.normal(size=shape), terms.places(contexts[:1])[0]
    totals, kept = terms.totals(contexts, costs), every.under(rows)
    under = terms.under([row.mapped(terms.adder(contexts)) for row in rows])
    assert 0 < len(kept.labels) < len(every.labels)
    assert under.profile(totals, place) == pytest.approx(kept.profile(costs, 0), abs=1e-9)
    value, policy = under.minimise(totals)
    labels = policy.predict(contexts)
    attained = costs[np.arange(len(contexts)), labels].sum()
    assert [value, attained] == pytest.approx([kept.value(costs)] * 2, abs=1e-9)
    assert all(row.keeps(labels) for row in rows)
    for rate in (0.0, 0.01, 3.0):  # at 3 the best of those left weighs e^-1000 times the best of all
        logs = under.log_weights(totals, place, rate)
        assert logs == pytest.approx(kept.log_weights(costs, 0, rate), abs=1e-8)


def test_rows_on_rows_are_all_kept() -> None:
    """Rows that are added to others hold with them; where they exclude each other nothing is left."""
    rules, contexts = LARGER["lists of two rules"]
    terms = rules.on(contexts).terms()
    counts = terms.totals(contexts, np.tile([0.0, 1.0], (len(contexts), 1)))
    both = terms.under([SideConstraint(counts, 10.0, np.inf)]).under([SideConstraint(counts, -np.inf, 12.0)])
    assert both.minimise(counts)[0] == terms.under([SideConstraint(counts, 10.0, 12.0)]).minimise(counts)[0]
    nobody = terms.under([SideConstraint(counts, 10.2, 10.8)])
    assert np.isinf(nobody.profile(counts, terms.places(contexts[:1])[0])).all()
    with pytest.raises(InfeasibleError):
        nobody.minimise(counts)


def test_more_actions_than_a_byte_holds_keep_the_rows() -> None:
    """Profiles of 130 actions under a budget are those of the list."""
    n_actions, contexts = 130, np.array([[0.0], [1.0]])
    costs = np.random.default_rng(0).integers(0, 50, (2, n_actions)).astype(float)
    budget = LabelConstraint(np.tile(np.arange(n_actions) > 80, (2, 1)).astype(float), 1.0)
    rules = ThresholdRules(n_actions)
    search, listed = (open_oracle(rules, contexts, kind, constraints=[budget]) for kind in ("search", "enumeration"))
    assert np.array_equal(search.profile(costs, 0), listed.profile(costs, 0))


def test_a_class_of_too_many_paths_says_how_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """The number is in the message, and is that of the paths; without side constraints the search goes on as before."""
    for rules, contexts in LARGER.values():
        opened = rules.on(contexts)
        monkeypatch.setattr(paths, "MOST_WALKED", 100)
        refused, number = rules.on(contexts), round(np.exp(opened.terms().log_derivations))
        assert f"{spaced(number)} ways" in refused.unsupported["constraints"]
        assert "constraints" not in refused.capabilities
        budget = share_at_most(0, 0.2)
        with pytest.raises(InputError, match="use oracle kind 'milp'"):
            open_oracle(rules, contexts, "search", constraints=[budget])
        assert open_oracle(rules, contexts, "search").value(np.zeros((40, rules.n_actions))) == 0.0
        monkeypatch.undo()
        assert "constraints" in rules.on(contexts).capabilities


def test_scoring_rules_without_tables_hold_no_side_constraints() -> None:
    """Branch and bound says so; guard-rails are answered all the same."""
    rng = np.random.default_rng(0)
    contexts = rng.integers(0, 2, (30, 8)).astype(float)
    budget = share_at_most(0, 0.2)
    with pytest.raises(InputError, match="branch and bound knows no side constraints"):
        open_oracle(LinearRules(2), contexts, "search", constraints=[budget])
    rail = always(1, rows=[3])
    oracle = open_oracle(LinearRules(2), contexts, "search", constraints=[rail])
    assert oracle.profile(np.zeros((30, 2)), 3).tolist() == [np.inf, 0.0]


def test_monotone_rules_take_guard_rails_alone() -> None:
    """A budget is no minimum cut."""
    budget = share_at_most(0, 0.2)
    with pytest.raises(InputError, match="NP-hard"):
        open_oracle(MonotoneRules(2), REALS, "search", constraints=[budget])
    rail = always(1, rows=[3])
    oracle = open_oracle(MonotoneRules(2), REALS, "search", constraints=[rail])
    assert oracle.profile(np.zeros((40, 2)), 3).tolist() == [np.inf, 0.0]


def test_support_tables_answer_as_the_program() -> None:
    """Where scoring rules are too many to list, search and HiGHS agree under a budget, on whole costs."""
    rng = np.random.default_rng(4)
    contexts = rng.integers(0, 2, (14, 6)).astype(float)
    budget = share_at_most(0, 0.3)
    weights = LabelConstraint(rng.normal(size=(14, 3)), 0.5, "weights")
    rules = LinearRules(3, max_features=2)
    search, program = (open_oracle(rules, contexts, kind, constraints=[budget, weights]) for kind in ("search", "milp"))
    for _ in range(3):
        costs = rng.integers(-9, 10, (14, 3)).astype(float)
        assert search.value(costs) == program.value(costs)
        assert (search.profile(costs, 3) == program.profile(costs, 3)).all()
