"""Estimators behave as scikit-learn's own: its checks, pipelines, searches over parameters, metadata routing."""

import warnings
from inspect import getattr_static
from types import FunctionType

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import (
    check_no_attributes_set_in_init,
    check_parameters_default_constructible,
    check_set_params,
    parametrize_with_checks,
)

from milpcb import estimators
from milpcb.errors import InputError, LogWarning
from milpcb.estimators import LoggedPolicy, LoggedPolicyTree, OptimalPolicy, OptimalPolicyTree, OptimalScoringRule
from milpcb.estimators.base import PolicyEstimator

EVERY = [
    entry
    for entry in vars(estimators).values()
    if isinstance(entry, type) and issubclass(entry, PolicyEstimator) and entry is not PolicyEstimator
]


# Every method of an estimator is a method of one of these, which a test below makes sure of.
CHECKED = [OptimalPolicyTree, LoggedPolicyTree, OptimalScoringRule, LoggedPolicy]
OWN = {"_policy_class", "__init__"}  # what a class may have besides: its policies, how many tests, its parameters
OF_PARAMETERS = [check_parameters_default_constructible, check_no_attributes_set_in_init, check_set_params]


@pytest.mark.filterwarnings("ignore:neither reward nor cost was given")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@parametrize_with_checks([cls() for cls in CHECKED])
def test_scikit_learn(estimator, check):
    """Every check of scikit-learn passes; that of array-API inputs alone is skipped, as it is for its own."""
    try:
        check(estimator)
    except pytest.skip.Exception:
        assert "array_api" in str(check)
        raise


@pytest.mark.parametrize("cls", sorted(set(EVERY) - set(CHECKED), key=str))
def test_the_other_estimators_have_other_parameters_only(cls):
    """All else, fit, predict and score among it, is the very code of those that scikit-learn's checks have tried."""
    for check in OF_PARAMETERS:
        check(cls.__name__, cls())
    differ = {name for name, value in code(cls).items() if all(code(other).get(name) != value for other in CHECKED)}
    assert differ <= OWN


def code(cls):
    """Return the methods and properties of a class by name, without what scikit-learn generates for each class."""
    members = {name: getattr_static(cls, name) for name in dir(cls)}
    kinds = (FunctionType, property, classmethod, staticmethod)
    return {name: member for name, member in members.items() if isinstance(member, kinds)}


def test_labels_are_misclassification_costs():
    """Labels mean that each wrong action costs 1; predictions are labels, of their own type."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    for labels in (np.where(X[:, 0] > 0, "yes", "no"), np.where(X[:, 0] > 0, 7, -3)):
        tree = OptimalPolicyTree(max_depth=1).fit(X, labels)
        table = (labels[:, None] != tree.actions_).astype(float)
        assert tree.score(X, labels) == tree.score(X, table) == -tree.policy_value_
        assert tree.predict(X).dtype == labels.dtype
        assert tree.policy_value_ <= 1 / len(X)
        best = OptimalPolicyTree(max_depth=1, maximise=True).fit(X, labels)
        assert best.policy_ == tree.policy_
        assert best.score(X, labels) == 1 - tree.policy_value_
        assert tree.score(X, labels.astype(str)) == tree.score(X, labels)


def test_columns_of_costs_name_the_actions(people, costs_of):
    """Names come from a frame of costs; on other rows its columns may stand in another order."""
    table, costs = people(100, 0), costs_of(people(100, 0), 1)
    tree = OptimalPolicyTree(max_depth=1).fit(table, costs)
    assert tree.actions_.tolist() == list(costs.columns)
    assert tree.score(table, costs[costs.columns[::-1]]) == tree.score(table, costs)
    numbered = costs.set_axis([10, 2, 1], axis=1)
    by_number = OptimalPolicyTree(max_depth=1).fit(table, numbered)
    assert by_number.score(table, numbered[[1, 10, 2]].rename(columns=str)) == tree.score(table, costs)
    assert tree.score(table, costs.to_numpy()) == tree.score(table, costs) == pytest.approx(-tree.policy_value_)
    assert tree.constant_values_ == pytest.approx(costs.mean().to_numpy())
    with pytest.raises(InputError, match="unknown action among the columns of costs: missing 'call'"):
        tree.score(table, costs.rename(columns={"call": "ring"}))


def test_parts_of_the_policy(people, costs_of):
    """``apply`` is the part of the policy, which plays one action there."""
    table, costs = people(300, 0), costs_of(people(300, 0), 1)
    for estimator in (OptimalPolicyTree(), OptimalScoringRule(), OptimalPolicy(policies="box_rules")):
        parts = estimator.fit(table, costs).apply(table)
        played = np.array(estimator.policy_.leaf_actions)[parts]
        assert np.array_equal(estimator.policy_.predict(table), played)


def test_a_search_over_parameters(people, costs_of):
    """Depth and thresholds can be searched over, behind other steps of a pipeline, with weights routed to all of it."""
    table, costs = people(300, 0), costs_of(people(300, 0), 1)
    weight = np.random.default_rng(0).integers(1, 3, 300)
    with sklearn.config_context(enable_metadata_routing=True):
        tree = OptimalPolicyTree().set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        steps = make_pipeline(FunctionTransformer(), tree)
        grid = {"optimalpolicytree__max_depth": [1, 2], "optimalpolicytree__thresholds": [1, 7]}
        search = GridSearchCV(steps, grid, cv=3).fit(table, costs, sample_weight=weight)
        assert search.best_params_["optimalpolicytree__max_depth"] == 2
        assert search.best_estimator_[-1].policy_value_ == search.best_estimator_[-1].set_params().policy_value_
    assert len(cross_val_score(clone(tree), table, costs, cv=3)) == 3


def log(n, seed):
    """A randomised log: action "b" is better where x0 > 0 and x1 > 0."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(n, 3)).round(1), columns=["u", "v", "w"])
    right = np.where((X["u"] > 0) & (X["v"] > 0), "b", "a")
    action = rng.choice(["a", "b"], n)
    return X, action, (action == right) + rng.normal(0, 0.3, n)


def test_a_log_without_outcomes_is_imitated_with_a_warning():
    """With neither reward nor cost the policy agrees with what was done, and a warning names the reason."""
    X, _, _ = log(200, 0)
    done = np.where(X["w"] > 0.2, "b", "a")
    with pytest.warns(UserWarning, match="neither reward nor cost was given"):
        tree = LoggedPolicyTree(max_depth=1).fit(X, done)
    assert tree.predict(X).tolist() == done.tolist()
    assert tree.score(X, done) == 1.0


def test_costs_and_rewards_of_a_log():
    """Costs are rewards turned round; ``score`` is larger for better either way; leaves have intervals."""
    X, action, reward = log(800, 1)
    tree = LoggedPolicyTree(method="ips").fit(X, action, reward=reward, propensity=np.full(800, 0.5))
    other = LoggedPolicyTree(method="ips").fit(X, action, cost=-reward, propensity=np.full(800, 0.5))
    assert tree.policy_ == other.policy_
    assert tree.policy_value_ == -other.policy_value_ == pytest.approx(1.0, abs=0.1)
    fresh, done, outcome = log(800, 2)
    assert tree.score(fresh, done, reward=outcome, propensity=np.full(800, 0.5)) == pytest.approx(
        other.score(fresh, done, cost=-outcome, propensity=np.full(800, 0.5))
    )
    found = tree.evaluate(fresh, done, reward=outcome, propensity=np.full(800, 0.5))
    assert [leaf.name for leaf in found.leaves] == [str(tree.actions_[a]) for a in tree.policy_.leaf_actions]
    assert all(leaf.value.lower < leaf.value.estimate < leaf.value.upper for leaf in found.leaves)


@pytest.mark.parametrize("labels", [True, False], ids=["labels", "a table"])
def test_actions_that_look_alike_are_warned_of(labels):
    """They are two actions that may be one, misspelt; where they are known already nothing is said again."""
    X, names = np.arange(8.0)[:, None], ["call", "Call "]
    y = names * 4 if labels else pd.DataFrame(np.eye(2)[[0, 1] * 4], columns=names)
    with pytest.warns(LogWarning, match="which are two strings to a rule") as found:
        tree = OptimalPolicyTree().fit(X, y)
    assert found[0].filename == __file__
    with warnings.catch_warnings(action="error"):
        tree.score(X, y)
