"""To repeat a row is to double its weight, to the last bit of the policy; and totals are rounded once."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from milpcb.errors import InputError
from milpcb.estimators import (
    OptimalPolicy,
    OptimalPolicyTree,
    OptimalRuleList,
    OptimalScoringRule,
    OptimalThresholdRule,
    share_at_most,
)
from milpcb.estimators.totals import Rows, exact_sums

ESTIMATORS = [
    OptimalPolicyTree(thresholds=5),
    OptimalPolicyTree(max_depth=1, min_samples_leaf=40, thresholds=3),
    OptimalPolicyTree(max_depth=1, thresholds=3, constraints=[share_at_most("write", 0.2)]),
    OptimalThresholdRule(max_cuts=2, thresholds=5),
    OptimalRuleList(thresholds=3),
    OptimalScoringRule(max_tests=2),
    OptimalPolicy(policies="box_rules"),
]


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda estimator: type(estimator).__name__)
@pytest.mark.parametrize("seed", range(3))
def test_a_repeated_row_is_a_doubled_weight(estimator, seed, people, costs_of):
    """Repeats in any order and whole weights give the same policy, cut points, values and bounds, bit for bit."""
    rng = np.random.default_rng(seed)
    table, costs = people(120, seed), costs_of(people(120, seed), seed)
    weight = rng.integers(0, 5, 120)
    order = rng.permutation(np.repeat(np.arange(120), weight))
    repeated = estimator.fit(table.iloc[order], costs.iloc[order]).to_json()
    weighted = estimator.fit(table, costs, sample_weight=weight).to_json()
    assert repeated == weighted


def test_weights_may_be_of_any_size(people, costs_of):
    """Weights that are no integers double as well; what scales all of them changes no policy."""
    table, costs = people(100, 0), costs_of(people(100, 0), 1)
    weight = np.random.default_rng(0).uniform(0.1, 2.0, 100)
    twice = [*range(100), *range(100)]
    once = OptimalPolicyTree(thresholds=5).fit(table, costs, sample_weight=2 * weight)
    repeated = OptimalPolicyTree(thresholds=5).fit(
        table.iloc[twice], costs.iloc[twice], sample_weight=weight[twice % np.int64(100)]
    )
    scaled = OptimalPolicyTree(thresholds=5).fit(table, costs, sample_weight=weight / 4)
    assert once.to_json() == repeated.to_json()
    assert once.policy_ == scaled.policy_
    with pytest.raises(InputError, match="a limit on rows counts them: give whole sample weights"):
        OptimalPolicyTree(min_samples_leaf=5).fit(table, costs, sample_weight=weight)


def test_leaves_hold_what_they_must(people, costs_of):
    """``min_samples_leaf`` counts weights as rows, and repeated rows each time."""
    table, costs = people(200, 0), costs_of(people(200, 0), 1)
    weight = np.random.default_rng(0).integers(1, 4, 200)
    for least in (1, 60, 150):
        tree = OptimalPolicyTree(thresholds=5, max_depth=1, min_samples_leaf=least).fit(table, costs, weight)
        held = np.bincount(tree.apply(table), weight)
        assert held.min() >= least
    free, tree = (
        OptimalPolicyTree(thresholds="all", features=["visits"], max_depth=2, min_samples_leaf=least).fit(table, costs)
        for least in (1, 45)
    )
    assert np.bincount(free.apply(table)).min() < 45 <= np.bincount(tree.apply(table)).min()
    assert tree.optimal_
    with pytest.raises(InputError, match="min_samples_leaf = 500"):
        OptimalPolicyTree(min_samples_leaf=500).fit(table, costs, weight)


NUMBERS = st.floats(-1e6, 1e6, allow_subnormal=False).filter(lambda x: x == 0 or abs(x) > 1e-100)


@settings(max_examples=200)
@given(st.lists(st.tuples(NUMBERS, NUMBERS, st.integers(0, 3)), min_size=1, max_size=12))
def test_sums_are_rounded_once(rows):
    """Every sum of products is the float nearest to the exact one."""
    table, weight, group = (np.array(column) for column in zip(*rows, strict=True))
    _, group = np.unique(group, return_inverse=True)
    found = exact_sums(table[:, None], weight, group, group.max() + 1)[:, 0]
    for g, total in enumerate(found.tolist()):
        exact = sum(Fraction(t) * Fraction(w) for t, w in zip(table[group == g], weight[group == g], strict=True))
        assert total == float(exact)


def test_equal_contexts_are_one():
    """Contexts are in lexicographic order, -0 and 0 are one, and each has the weight of its rows."""
    rows = Rows.merge(np.array([[1.0, 2.0], [-0.0, 5.0], [1.0, 2.0], [0.0, 5.0]]), np.array([1.0, 2.0, 3.0, 4.0]))
    assert rows.contexts.tolist() == [[0.0, 5.0], [1.0, 2.0]]
    assert rows.sizes.tolist() == [6.0, 4.0]
    assert rows.group.tolist() == [1, 0, 1, 0]
