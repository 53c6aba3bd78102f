"""The search over leaf totals: it answers as the terms do, and goes through pickle."""

import pickle

import numpy as np
import pytest

from milpcb import open_oracle
from milpcb.protocols import PolicyClass, TermSearch
from policies import BoxRules, RuleLists, ThresholdRules

CONTEXTS = np.random.default_rng(0).normal(size=(30, 3))
COSTS = np.random.default_rng(1).integers(-9, 10, (30, 3)).astype(float)
CLASSES = [BoxRules(3, 2), ThresholdRules(3, 2), RuleLists(3, 2)]


@pytest.mark.parametrize("policies", CLASSES, ids=lambda each: type(each).__name__)
def test_a_search_goes_through_pickle(policies: PolicyClass) -> None:
    """A copy of the oracle by pickle answers alike."""
    oracle = open_oracle(policies, CONTEXTS, kind="search")
    copy = pickle.loads(pickle.dumps(oracle))  # noqa: S301 - our own bytes
    assert copy.value(COSTS) == oracle.value(COSTS)
    assert (copy.profile(COSTS, 2) == oracle.profile(COSTS, 2)).all()
    assert (copy.action_weights(COSTS, 2, 0.1) == oracle.action_weights(COSTS, 2, 0.1)).all()


@pytest.mark.parametrize("policies", CLASSES, ids=lambda each: type(each).__name__)
def test_a_class_with_terms_needs_no_search(policies: PolicyClass) -> None:
    """Its search is the recursion over leaf totals, to which costs are added up."""
    opened = policies.on(CONTEXTS)
    costs = COSTS[np.unique(opened.group, return_index=True)[1]]
    search, terms = opened.search(), opened.terms()
    assert isinstance(search, TermSearch)
    totals = terms.totals(opened.contexts, costs)
    assert search.value(costs) == terms.value(totals) == terms.minimise(totals)[0]
    assert (
        search.profiles(costs, [0, 1]) == [terms.profile(totals, at) for at in terms.places(opened.contexts[:2])]
    ).all()
