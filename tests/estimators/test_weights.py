"""To repeat a row is to double its weight, to the last bit of the policy; and totals are rounded once."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from milpcb.core.checks import context_array
from milpcb.errors import InputError
from milpcb.estimators import (
    OptimalPolicy,
    OptimalPolicyTree,
    OptimalRuleList,
    OptimalScoringRule,
    OptimalThresholdRule,
    share_at_most,
)
from milpcb.estimators.rows import Rows, exact_sums
from tests.refused import refused

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
    refused(lambda: OptimalPolicyTree(min_samples_leaf=500).fit(table, costs, weight), "min_samples_leaf = 500")


NUMBERS = st.floats(-1e6, 1e6, allow_subnormal=False).filter(lambda x: x == 0 or abs(x) > 1e-100)


@settings(max_examples=80)
@given(st.lists(st.tuples(NUMBERS, NUMBERS, st.integers(0, 3)), min_size=1, max_size=12))
def test_sums_are_rounded_once(rows):
    """Every sum of products is the float nearest to the exact one."""
    table, weight, group = (np.array(column) for column in zip(*rows, strict=True))
    _, group = np.unique(group, return_inverse=True)
    found = exact_sums(table[:, None], weight, group, group.max() + 1)[:, 0]
    for g, total in enumerate(found.tolist()):
        exact = sum(Fraction(t) * Fraction(w) for t, w in zip(table[group == g], weight[group == g], strict=True))
        assert total == float(exact)


@pytest.mark.parametrize("seed", range(10))
def test_rows_are_merged_as_by_their_definition(seed):
    """The distinct rows, the row that each belongs to, and the weights of each, against numpy's own."""
    draw = np.random.default_rng(seed)
    n, d = draw.integers(1, 40), draw.integers(1, 5)
    contexts = draw.integers(-1, 2, (n, d)) * np.where(draw.random((n, d)) < 0.5, 1.0, 0.5)
    contexts[draw.random((n, d)) < 0.1] = -0.0
    weight = draw.integers(1, 4, n).astype(float)
    rows = Rows.merge(contexts, weight)
    distinct, group = np.unique(contexts + 0.0, axis=0, return_inverse=True)
    assert np.array_equal(rows.contexts, distinct)
    assert not np.signbit(rows.contexts[rows.contexts == 0]).any()
    assert np.array_equal(rows.group, group.ravel())
    assert np.array_equal(rows.sizes, np.bincount(group.ravel(), weight))


def test_a_table_that_nobody_can_write_to_is_not_copied():
    """A checked table is handed on as it is; one that may change, or a view of one, is copied."""
    mine = np.arange(6.0).reshape(3, 2)
    kept = context_array(mine)
    assert kept is not mine
    assert context_array(kept) is kept
    view = mine[:2]
    view.setflags(write=False)
    assert context_array(view) is not view
