"""Groups that print alike, actions of every type, and columns in any order: estimators go by what is meant."""

import numpy as np
import pandas as pd
import pytest

from milpcb.errors import InputError, UnknownNameError
from milpcb.estimators import (
    LoggedPolicyTree,
    OptimalPolicyTree,
    OptimalThresholdRule,
    budget_curve,
    mean_at_most,
    parity,
    share_at_most,
)

N = 240
GROUPS = {
    "large numbers": [1000001.0, 1000002.0, 1000003.0],
    "small numbers": [0.1, 0.1 + 1e-9, np.nan],
    "None beside a string": [None, "None", "missing"],
    "empty and spaces": ["", " ", "  "],
    "line breaks": ["a\nb", "a\\nb", "a b"],
    "quotes": ['"', "'", '""'],
}


@pytest.mark.parametrize("name", GROUPS)
def test_parity_holds_between_all_groups_that_print_alike(name):
    """Rates by definition, group by group: none is dropped because another one has the same words."""
    rng = np.random.default_rng(0)
    values = GROUPS[name]
    which = rng.integers(0, 3, N)
    group = pd.Series([values[k] for k in which], dtype=object)
    x = 3.0 * which + rng.random(N)
    wanted = np.where(which == 1, 1, 0)
    costs = pd.DataFrame({"a": wanted * 1.0, "b": 1.0 - wanted})
    table = pd.DataFrame({"x": x, "g": group})
    free = OptimalPolicyTree(max_depth=2, thresholds=9, features=["x"]).fit(table, costs)
    kept = OptimalPolicyTree(
        max_depth=2, thresholds=9, features=["x"], constraints=[parity("b", group="g", delta=0.25)]
    ).fit(table, costs)

    def spread(estimator):
        played = estimator.predict(table) == "b"
        rates = [played[which == k].mean() for k in range(3)]
        return max(rates) - min(rates)

    assert spread(free) > 0.5
    assert spread(kept) <= 0.25 + 1e-9


@pytest.mark.parametrize("kind", [int, float, str, bool])
def test_constraints_and_budgets_name_actions_of_every_type(kind):
    """A share of the action 1 is one of "1" and of 1.0, and what was used is counted, whatever the labels' type."""
    rng = np.random.default_rng(1)
    X, labels = rng.normal(size=(N, 2)), rng.integers(0, 2, N) + (kind is not bool)
    y = labels.astype(kind)
    scarce = [1, 1.0, np.int8(1), "1"] if kind is not bool else [True, "True"]
    expected = None
    for action in scarce:
        rule = OptimalThresholdRule(thresholds=7, constraints=[share_at_most(action, 0.1)]).fit(X, y)
        share = np.mean(rule.predict(X) == y[labels == 1][0])
        assert share <= 0.1
        (point,) = budget_curve(OptimalThresholdRule(thresholds=7), X, y, action=action, shares=[0.1])
        assert point.used == pytest.approx(share)
        expected = expected or (share, point.value)
        assert (share, point.value) == expected
    with pytest.raises(UnknownNameError, match="unknown action of a constraint '7'"):
        OptimalThresholdRule(constraints=[mean_at_most({7: 1.0}, 0.5)]).fit(X, y)


def test_scores_go_by_the_names_of_columns_and_labels():
    """Costs with columns in another order, or called by numbers, and labels of another type score the same."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(N, 2))
    costs = pd.DataFrame(rng.random((N, 3)), columns=[10, 2, 1])
    tree = OptimalPolicyTree(max_depth=1, thresholds=5).fit(X, costs)
    assert sorted(set(tree.actions_.tolist())) == [1, 2, 10]
    paid = np.mean([costs.loc[row, action] for row, action in enumerate(tree.predict(X).tolist())])
    assert tree.score(X, costs) == pytest.approx(-paid)
    assert tree.score(X, costs[[1, 10, 2]]) == pytest.approx(-paid)
    assert tree.score(X, costs.rename(columns=str)) == pytest.approx(-paid)
    labels = rng.integers(1, 4, N)
    tree = OptimalPolicyTree(max_depth=1, thresholds=5).fit(X, labels)
    right = np.mean(tree.predict(X) == labels)
    for given in (labels, labels.astype(float), labels.astype(str)):
        assert tree.score(X, given) == pytest.approx(right - 1)
    with pytest.raises(InputError, match="labels must be of one kind"):
        tree.fit(X, np.array([*labels[1:], "a"], dtype=object))


def test_a_policy_of_whole_numbers_that_are_floats_is_valued_by_name():
    """Actions 1.0 and 2.0, as a table with missing entries has them, are 1 and 2 in the policy and in its value."""
    rng = np.random.default_rng(3)
    X, done = rng.normal(size=(N, 1)), rng.integers(1, 3, N).astype(float)
    earned = 1.0 * (done == np.where(X[:, 0] > 0, 2, 1))
    tree = LoggedPolicyTree(max_depth=1, thresholds="all", method="ips")
    tree.fit(X, done, reward=earned, propensity={2: 0.5, 1: 0.5}, action=None)
    assert tree.policy_.names.actions == ("1", "2")
    agrees = tree.predict(X) == done
    truth = np.mean(earned * agrees / 0.5)
    assert tree.score(X, done, reward=earned, propensity={"1": 0.5, "2": 0.5}) == pytest.approx(truth)
    costly = LoggedPolicyTree(max_depth=1, method="ips", treatment_cost={2.0: 9.0})
    costly.fit(X, done, reward=earned, propensity={2: 0.5, 1: 0.5})
    assert set(costly.predict(X)) == {1.0}
