"""The terms of each class against its definition, its search, and the list of all derivations."""

import pickle
from itertools import product

import numpy as np
import pytest

from milpcb import open_oracle
from milpcb.errors import InputError
from milpcb.protocols import Opened, PolicyClass, Terms, recursion
from milpcb.types import Floats
from policies import BoxRules, DecisionTrees, LinearRules, MonotoneRules, RuleLists, ThresholdRules

CLASSES = [
    DecisionTrees(2, depth=1),
    DecisionTrees(3, depth=2),
    DecisionTrees(2, depth=3, thresholds=1),
    ThresholdRules(3, max_cuts=1),
    ThresholdRules(3, max_cuts=2),
    RuleLists(2, max_rules=1),
    RuleLists(3, max_rules=2),
    RuleLists(2, max_rules=3, thresholds=2),
    BoxRules(3),
    BoxRules(2, max_features=2),
]
POOLS = {
    "real": np.random.default_rng(0).normal(size=(9, 2)).round(1),
    "bits": np.random.default_rng(1).integers(0, 2, (6, 2)).astype(float),
    "alike": np.ones((3, 2)),
}
EVERY = [pytest.param(policies, pool, id=f"{i}-{pool}") for (i, policies), pool in product(enumerate(CLASSES), POOLS)]


def both(policies: PolicyClass, contexts: Floats) -> list[tuple[Opened, Terms]]:
    """Return the class on ``contexts`` with its terms there, and with those of all its cut points."""
    opened = policies.on(contexts)
    return [(opened, opened.terms()), (opened, opened.fixed().terms())]


@pytest.mark.parametrize(("policies", "pool"), EVERY)
def test_places_are_those_of_the_interface(policies: PolicyClass, pool: str) -> None:
    """A place is (S, K) of different terms, and contexts that all policies label alike have equal ones."""
    opened = policies.on(POOLS[pool])
    terms = opened.terms()
    shape = (terms.n_touched, opened.n_actions)
    assert 1 <= terms.n_features <= opened.contexts.shape[1]
    places = terms.places(POOLS[pool])
    for place, group in zip(places, opened.group, strict=True):
        assert place.shape == shape
        assert len(np.unique(place)) == place.size
        assert (place >= 0).all()
        assert (place < terms.n_terms).all()
        assert (place == places[int(np.flatnonzero(opened.group == group)[0])]).all()


@pytest.mark.parametrize(("policies", "pool"), EVERY)
def test_with_noise_the_minimum_is_that_of_every_profile(policies: PolicyClass, pool: str) -> None:
    """Whatever the terms hold, each profile's least entry is the minimum, and its policy plays that entry's action."""
    for opened, terms in both(policies, POOLS[pool]):
        totals = np.random.default_rng(3).integers(-50, 51, terms.n_terms).astype(float)
        value, policy = terms.minimise(totals)
        for context, place in zip(opened.contexts, terms.places(opened.contexts), strict=True):
            profile = terms.profile(totals, place)
            assert profile.min() == profile[policy.predict(context[None])[0]] == value


@pytest.mark.parametrize("n_actions", [2, 3])
def test_noise_on_stumps_against_the_list_of_derivations(n_actions: int) -> None:
    """For trees of depth 1 with noise: any literal, any two leaves, each with the total of its own term."""
    opened = DecisionTrees(n_actions, depth=1, thresholds=2).on(POOLS["real"])
    terms = opened.terms()
    p = terms.n_terms // (2 * n_actions)
    totals = np.random.default_rng(4).integers(-20, 21, terms.n_terms).astype(float)
    leaves = totals.reshape(p, 2, n_actions)
    for place in terms.places(opened.contexts):
        side = place[:, 0] // n_actions % 2
        by_action: list[list[float]] = [[] for _ in range(n_actions)]
        for f, here, there in product(range(p), range(n_actions), range(n_actions)):
            by_action[here].append(leaves[f, side[f], here] + leaves[f, 1 - side[f], there])
        assert terms.profile(totals, place).tolist() == [min(sums) for sums in by_action]
        weights = [np.logaddexp.reduce(-0.1 * np.array(sums)) for sums in by_action]
        assert terms.log_weights(totals, place, 0.1) == pytest.approx(weights, rel=1e-12)


def test_noise_on_paths_that_no_context_follows_counts() -> None:
    """A tree may test a literal twice; the leaf nobody reaches has its own noise, as in the constrained program."""
    terms = DecisionTrees(2, depth=2, thresholds=((0.5,),)).terms()
    totals = np.zeros((2, 2, 2))  # the only literal twice: its outcome, its outcome again, the action
    totals[1, 0] = totals[0, 1] = -5.0
    place = terms.places(np.array([[0.0]]))[0]
    assert place.tolist() == [[6, 7]]
    assert terms.profile(totals.ravel(), place).tolist() == [-10.0, -10.0]


def test_classes_say_why_they_have_no_terms() -> None:
    """Quantiles without contexts, structure limits, too many terms, and classes without recursion are one line."""
    cuts = ((0.5,),) * 4
    refused = [
        (DecisionTrees(2), "thresholds = 3 are quantiles"),
        (DecisionTrees(2, max_leaves=3, thresholds=cuts), "max_leaves"),
        (DecisionTrees(2, depth=9, thresholds=cuts), "terms, more than 5 000 000"),
        (RuleLists(2, max_rules=20, thresholds=((*range(25),),)), "columns, more than 5 000 000"),
        (ThresholdRules(2, thresholds=cuts, feature_names=["a"]), "feature_names has 1 names for 4"),
        (MonotoneRules(2), "no recursion over totals"),
        (LinearRules(2), "no recursion over totals"),
    ]
    for policies, reason in refused:
        with pytest.raises(InputError, match=reason):
            policies.terms()
    assert DecisionTrees(2, depth=1, thresholds=cuts).terms().n_terms == 4 * 2 * 2  # tests, sides, actions
    assert "totals" not in DecisionTrees(2, min_leaf_size=2).on(POOLS["bits"]).capabilities
    with pytest.raises(InputError, match="no recursion over totals"):
        MonotoneRules(2).on(POOLS["bits"]).require("totals")


@pytest.mark.parametrize("policies", [kind(3, 2) for kind in (BoxRules, DecisionTrees, RuleLists, ThresholdRules)])
def test_a_search_goes_through_pickle(policies: PolicyClass) -> None:
    """A copy of the oracle by pickle answers alike, from costs and from totals that are kept."""
    contexts, costs = POOLS["real"], np.random.default_rng(1).integers(-9, 10, (9, 3)).astype(float)
    oracle = open_oracle(policies, contexts, kind="search")
    copy = pickle.loads(pickle.dumps(oracle))  # noqa: S301 - our own bytes
    assert copy.value(costs) == oracle.value(costs)
    assert (copy.profile(costs, 2) == oracle.profile(costs, 2)).all()
    assert (copy.action_weights(costs, 2, 0.1) == oracle.action_weights(costs, 2, 0.1)).all()
    terms, totals = policies.on(contexts).terms(), np.arange(policies.on(contexts).terms().n_terms) % 7.0
    assert pickle.loads(pickle.dumps(terms)).value(totals) == terms.value(totals)  # noqa: S301 - our own bytes


@pytest.mark.parametrize("most", [1, 40, 2**20])
def test_costs_are_added_in_parts_that_fit_memory(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """However few terms are touched at a time, totals of trees are those of one cost after the other."""
    monkeypatch.setattr(recursion, "AT_ONCE", most)
    terms, contexts = DecisionTrees(2, depth=2).on(POOLS["real"]).terms(), POOLS["real"]
    actions, amounts = np.arange(9) % 2, np.arange(9.0)
    found, expected = np.zeros(terms.n_terms), np.zeros(terms.n_terms)
    terms.add(found, contexts, actions, amounts)
    for place, action, amount in zip(terms.places(contexts), actions, amounts, strict=True):
        expected[place[:, action]] += amount
    assert (found == expected).all()
