"""Tables with strings and missing values: tests in words, sides of what is missing; weights of rows, and exact sums."""

from fractions import Fraction
from itertools import product

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from milpcb.data.columns import Membership, Number, Reached
from milpcb.errors import InputError
from milpcb.estimators import (
    OptimalPolicy,
    OptimalPolicyTree,
    OptimalRuleList,
    OptimalScoringRule,
    OptimalThresholdRule,
    share_at_most,
)
from milpcb.estimators.rows import exact_sums
from tests.refused import refused


def fitted(column, costs, **options):
    """A tree of depth 1 on one column, and what it plays there."""
    table = pl.DataFrame({"x": column}, strict=False)
    tree = OptimalPolicyTree(max_depth=1, thresholds=7, **options).fit(table, np.asarray(costs, dtype=float))
    return str(tree.policy_).replace("\n", " "), tree.predict(table).tolist(), tree


LEFT, RIGHT = [0.0, 1.0], [1.0, 0.0]


@pytest.mark.parametrize(
    ("column", "costs", "words"),
    [
        ([20, 30, 40, None], [LEFT, LEFT, RIGHT, LEFT], "if x <= 30 (or missing):"),
        ([20, 30, 40, None], [LEFT, LEFT, RIGHT, RIGHT], "if x <= 30 (not missing):"),
        ([20, 30, 40, None], [LEFT, LEFT, LEFT, RIGHT], "if x is missing:"),
        ([20, 30, 40, float("nan")], [LEFT, LEFT, LEFT, RIGHT], "if x is missing:"),
        ([20, 30, 40], [LEFT, LEFT, RIGHT], "if x <= 30:"),
        ([0, 1, 1], [LEFT, RIGHT, RIGHT], "if x = 0:"),
        ([True, False, None], [LEFT, RIGHT, RIGHT], "if x = true:"),
        (["f", "m", "m"], [LEFT, RIGHT, RIGHT], "if x = f:"),
        (["f", "m", None], [LEFT, RIGHT, RIGHT], "if x = f:"),
        (["f", "m", None], [LEFT, LEFT, RIGHT], "if x is missing:"),
        (["n", "s", "w", "e"], [LEFT, LEFT, RIGHT, RIGHT], "if x in {e, w}:"),
        (["n", "s", "w", None], [LEFT, RIGHT, RIGHT, LEFT], "if x in {n, missing}:"),
        (["n", "s", "missing", None], [RIGHT, RIGHT, LEFT, RIGHT], 'if x = "missing":'),
        (["a", "b", "c", "d", "e"], [RIGHT, RIGHT, LEFT, RIGHT, RIGHT], "if x = c:"),  # more than four
    ],
)
def test_a_test_in_words(column, costs, words):
    """One test divides the rows as it must, and prints so that a missing value has its side."""
    text, actions, tree = fitted(column, costs)
    assert words in text
    assert actions == np.argmin(costs, axis=1).tolist()
    assert tree.optimal_


@pytest.mark.parametrize("most", [1, 5, 6])
def test_up_to_most_subsets_categories_are_tested_by_every_subset(most):
    """Of six, one missing: the best stump divides them in the best way of all, or takes one out; by brute force."""
    rng = np.random.default_rng(most)
    values, table = ["a", "b", "c", "d", "e", None], rng.normal(size=(6, 2))
    sides = [np.array(side) for side in product((False, True), repeat=6)]
    asked = sides if most == 6 else [side for side in sides if sum(side) in (0, 1)]
    least = min(sum(table[there].sum(axis=0).min() for there in (side, ~side)) for side in asked)
    tree = OptimalPolicyTree(max_depth=1, most_subsets=most).fit(pd.DataFrame({"x": values}), table)
    assert tree.policy_value_ == pytest.approx(least / 6)


def test_missing_goes_where_it_is_asked_to():
    """``missing`` fixes the side of comparisons; that a number is missing is a test of its own in any case."""
    column, costs = [20, 30, 40, None], [LEFT, LEFT, RIGHT, RIGHT]
    assert "(not missing)" in fitted(column, costs, missing="no")[0]
    text, _, tree = fitted(column, costs, missing="yes")
    assert tree.policy_value_ == 0.25
    assert "or missing" in text or "is missing" in text
    columns = {
        option: fitted(column, costs, missing=option)[2].policy_.names.columns for option in ("yes", "no", "either")
    }
    assert columns["yes"] == (Membership("x", (None,), 0), Number("x", 0.0))
    assert columns["no"] == (Membership("x", (None,), 0), Number("x", 80.0))
    assert columns["either"] == (*columns["yes"], columns["no"][1])


def test_scores_print_as_conditions():
    """A scoring system lists tests with their points; a missing number is not at or above any cut."""
    table = pd.DataFrame({"age": [20, 30, 60, np.nan] * 5, "sex": ["f", "m"] * 10})
    costs = np.where(np.isin(np.arange(20) % 4, (2,))[:, None], RIGHT, LEFT)
    rule = OptimalScoringRule().fit(table, costs)
    assert "[age >= " in str(rule.policy_)
    assert rule.predict(table).tolist() == np.argmin(costs, axis=1).tolist()
    assert Reached("age", 45.0).read(table["age"].to_numpy()).tolist() == [0, 0, 1, 0] * 5


def test_of_equal_trees_the_least_deep():
    """Where a tree of less depth is as good, it is the one that is found."""
    X, labels = np.arange(50.0)[:, None] % 7, np.arange(50) % 7 > 3
    for depth in (1, 2, 3):
        tree = OptimalPolicyTree(max_depth=depth).fit(X, labels)
        assert str(tree.policy_) == "if x0 <= 3:\n    play False\nelse:\n    play True"
        assert tree.predict(X).tolist() == labels.tolist()


def test_features_are_chosen_and_others_may_be_anything():
    """``features`` leaves columns out of the rule: by name or number; dates may stand in those left out."""
    table = pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": [3.0, 2.0, 1.0]})
    labels = ["u", "u", "v"]
    by_name = OptimalPolicyTree(features=["b"], max_depth=1).fit(table, labels)
    by_number = OptimalPolicyTree(features=[1], max_depth=1).fit(table, labels)
    assert by_name.policy_ == by_number.policy_
    assert "if b <= 1" in str(by_name.policy_)
    refused(lambda: OptimalPolicyTree(features=["c"]).fit(table, labels), "unknown feature 'c'")
    with pytest.raises(InputError, match="features must name at least one column of the table, and each once"):
        OptimalPolicyTree(features=[]).fit(table, labels)


def test_thresholds_by_name():
    """Cut points may be given for some features by their names; the others are not cut then."""
    table = pd.DataFrame({"age": np.arange(40.0), "visits": np.arange(40.0)[::-1]})
    labels = np.arange(40) > 17
    tree = OptimalPolicyTree(max_depth=1, thresholds={"age": [10, 20]}).fit(table, labels)
    assert "if age <= 20:" in str(tree.policy_)
    assert tree.predict(table).tolist() == (np.arange(40) > 20).tolist()
    with pytest.raises(InputError, match="unknown feature in thresholds 'agee'; did you mean 'age'"):
        OptimalPolicyTree(thresholds={"agee": [1]}).fit(table, labels)
    with pytest.raises(InputError, match="thresholds list 1 features, but there are 2"):
        OptimalPolicyTree(thresholds=[[1]]).fit(table, labels)


def test_a_column_that_does_not_vary():
    """Where nothing can be tested the best constant is found."""
    table = pd.DataFrame({"a": ["x"] * 5, "b": [None] * 5, "c": [np.nan] * 5})
    for cls in (OptimalPolicyTree, OptimalThresholdRule, OptimalScoringRule):
        rule = cls().fit(table, [[0.0, 1.0]] * 5)
        assert str(rule.policy_) == "play action 0"
        assert rule.to_sql() == "0"
        assert rule.predict(table).tolist() == [0] * 5


def test_classes_of_somebody_else_read_numbers():
    """A policy that is no rule of ours is used as it is, on numbers alone."""

    class Always:
        def predict(self, contexts):
            return np.ones(len(np.asarray(contexts)), dtype=int)

        def __str__(self):
            return "always 1"

    from policies import ListedRules

    class Mine(ListedRules):
        def policies(self, _contexts):
            yield Always()

    X = np.arange(6.0).reshape(3, 2)
    assert OptimalPolicy(policies=Mine(2)).fit(X, [0, 1, 0]).predict(X).tolist() == [1, 1, 1]


# ------------------------------------------------------------------- weights: to repeat a row is to double its own

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
    """A factor on all of them changes no policy; a limit on rows needs whole ones."""
    table, costs, weight = people(100, 0), costs_of(people(100, 0), 1), np.random.default_rng(0).uniform(0.1, 2.0, 100)
    found = [OptimalPolicyTree(thresholds=5).fit(table, costs, factor * weight).policy_ for factor in (1.0, 0.25)]
    assert found[0] == found[1]
    refused(lambda: OptimalPolicyTree(min_samples_leaf=5).fit(table, costs, weight), "give whole sample weights")


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
    refused(lambda: OptimalPolicyTree(min_samples_leaf=500).fit(table, costs, weight), "min_samples_leaf")


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
