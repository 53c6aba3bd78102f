"""Everyday inputs of estimators: effects, doses, prices by person, no test at all; each is read, or named."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.model_selection import GridSearchCV

from milpcb.core import long_search
from milpcb.errors import InputError
from milpcb.estimators import LoggedPolicyTree, OptimalPolicyTree, OptimalRuleList, never, share_at_most
from tests.refused import refused

N = 240


@pytest.fixture(scope="module")
def people():
    """Return a table, costs of two actions, what was done and what came of it."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"age": rng.integers(18, 80, N), "region": rng.choice(["n", "s"], N), "price": rng.random(N)})
    done = rng.choice(["wait", "treat"], N)
    return X, rng.normal((0.3, 0.0), size=(N, 2)), done, rng.normal(size=N) + (done == "treat")


# ------------------------------------------------------------------- no test at all


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"min_samples_leaf": 5},
        {"max_leaves": 1},
        {"thresholds": "all"},
        {"constraints": [share_at_most(1, 0.4)]},
        {"constraints": [never(1, "region = s")]},
        {"monotone": {"age": "more"}},
        {"kind": "milp"},
    ],
)
def test_a_depth_of_0_is_the_best_constant(people, options):
    """Of those that the constraints allow; it predicts, prints, is saved and exported as any tree."""
    X, costs, _, _ = people
    tree = OptimalPolicyTree(max_depth=0, **options).fit(X, costs)
    best = 0 if "constraints" in options else int(costs.mean(axis=0).argmin())
    assert str(tree.policy_) == f"play action {best}"
    assert tree.predict(X).tolist() == [best] * N
    assert tree.policy_value_ == pytest.approx(costs.mean(axis=0)[best]) == tree.constant_values_[best]
    assert tree.optimal_
    assert tree.to_sql() == str(best)


def test_a_depth_of_0_learns_from_a_log_and_in_one_pass(people):
    """The action of the best self-normalised mean."""
    X, _, done, y = people
    means = {name: y[done == name].mean() for name in ("treat", "wait")}
    tree = LoggedPolicyTree(max_depth=0, method="snips")
    assert tree.fit(X, done, reward=y, propensity="randomised").policy_value_ == pytest.approx(means["treat"])
    frame = X.assign(done=done, y=y)
    tree = LoggedPolicyTree(max_depth=0, method="snips", thresholds=3)
    tree.fit_batches([frame[:100], frame[100:]], action="done", reward="y", propensity="randomised")
    assert str(tree.policy_) == "play treat"
    assert tree.policy_value_ == pytest.approx(means["treat"])


# ------------------------------------------------------------------- targets


def test_effects_are_no_labels(people):
    """One column of real numbers, exact, rounded, as a frame or with few values, is refused by fit and score."""
    X, costs, _, _ = people
    effect = costs[:, 1] - costs[:, 0]
    few = np.where(effect > 0, 0.5, -0.5)
    frame = pd.DataFrame({"effect": effect})
    for y in (effect, effect[:, None], np.round(effect, 1), few, frame["effect"], frame, [*few]):
        with pytest.raises(InputError, match="no labels of actions; give a table with a column for each action"):
            OptimalPolicyTree(max_depth=1).fit(X, y)
    tree = OptimalPolicyTree(max_depth=1, maximise=True).fit(X, np.column_stack([0 * effect, effect]))
    refused(lambda: tree.score(X, effect), "no labels of actions")
    as_costs = OptimalPolicyTree(max_depth=1).fit(X, np.column_stack([0 * effect, -effect]))
    assert tree.predict(X).tolist() == as_costs.predict(X).tolist()
    assert tree.policy_value_ == -as_costs.policy_value_ > 0


# ------------------------------------------------------------------- logs


def test_a_dose_is_no_action_and_levels_are(people):
    """Real amounts are refused, in memory and in one pass; 0.5, 1 and 1.5 are three actions."""
    X, _, _, y = people
    dose = np.random.default_rng(1).gamma(2.0, 10.0, N).round(2)
    with pytest.raises(InputError, match=r"different numbers, such as .* a dose is no list of actions"):
        LoggedPolicyTree(method="snips").fit(X, dose, reward=y, propensity="randomised")
    frame = X.assign(dose=dose, y=y)
    with pytest.raises(InputError, match="a dose is no list of actions"):
        LoggedPolicyTree(method="snips").fit_batches([frame], action="dose", reward="y", propensity="randomised")
    levels = np.array([0.5, 1.0, 1.5])[np.arange(N) % 3]
    tree = LoggedPolicyTree(method="snips", max_depth=1).fit(X, levels, reward=y, propensity="randomised")
    assert tree.actions_.tolist() == [0.5, 1.0, 1.5]


def test_treatment_cost_by_person(people):
    """A column, an array by action, and a table are the same; one that is missing somewhere is refused."""
    X, _, done, y = people
    outcome = {"reward": y, "propensity": "randomised"}
    table = np.column_stack([X["price"], np.zeros(N)])
    costs = ({"treat": "price"}, {"treat": X["price"]}, {"treat": X["price"].tolist(), "wait": 0}, table)

    def fitted(cost, table=X):
        return LoggedPolicyTree(max_depth=1, method="snips", treatment_cost=cost).fit(table, done, **outcome)

    first, plain = fitted(costs[0]), fitted(None)
    for tree in (first, *map(fitted, costs[1:]), fitted(costs[0], pl.from_pandas(X))):
        assert np.allclose(tree.scores_.table, plain.scores_.table - table)
        assert tree.predict(X).tolist() == first.predict(X).tolist()
    assert first.evaluate(X, done, **outcome).value.estimate == pytest.approx(first.policy_value_)
    numbered = np.where(done == "treat", 2.0, 1.0)
    costly = LoggedPolicyTree(max_depth=1, method="snips", treatment_cost={2.0: 9.0}).fit(X, numbered, **outcome)
    assert set(costly.predict(X)) == {1.0}


def test_a_type_of_categories_has_spellings_that_no_row_of_a_fold_has():
    """A rare one is missing from a fold: strings are refused then, and a type that lists it says that it is a value."""
    X = pd.DataFrame({"region": np.where(np.arange(100) == 7, "North", np.where(np.arange(100) % 2, "north", "south"))})
    tree = OptimalPolicyTree(max_depth=1).fit(X[8:], X["region"][8:])
    refused(lambda: tree.predict(X), "'North' in row 7, and is known as 'north': write it so, or give the column a")
    typed = X.astype("category")
    assert tree.predict(typed).tolist() == tree.predict(X.replace("North", "new")).tolist()
    search = GridSearchCV(OptimalPolicyTree(), {"max_depth": [1, 2]}, cv=5)
    assert np.isfinite(search.fit(typed, X["region"].str.lower()).cv_results_["mean_test_score"]).all()
    refused(lambda: tree.predict(pd.DataFrame({"region": ["n/a"]})), "column 'region' is 'n/a'")


# ------------------------------------------------------------------- options of the oracle

RNG = np.random.default_rng(0)
X, COSTS = RNG.normal(size=(60, 3)), RNG.normal(size=(60, 2))


@pytest.mark.parametrize(
    ("options", "kind"),
    [
        ({}, "search"),
        ({"gap": 0.0, "time_limit": None}, "search"),
        ({"time_limit": 60.0}, "search"),
        ({"solver": "highs"}, "milp"),
        ({"gap": 5.0}, "milp"),
        ({"time_limit": 60.0, "constraints": [share_at_most("1", 0.4)]}, "search"),
    ],
    ids=str,
)
def test_auto_is_a_kind_that_has_the_options(options, kind):
    """An option that only a solver has means a solver, which other kinds refuse; later questions have no time limit."""
    fitted = OptimalPolicyTree(max_depth=1, thresholds=3, **options).fit(X, COSTS)
    assert fitted.problem(X).kind == kind


def test_auto_asks_a_solver_where_the_search_does_not_end_at_a_time_limit():
    """Kind "search" refuses it, and names the kind that has it."""
    fitted = OptimalRuleList(max_rules=1, thresholds=3, time_limit=60.0).fit(X, COSTS)
    assert fitted.policy_value_ == OptimalRuleList(max_rules=1, thresholds=3).fit(X, COSTS).policy_value_
    with pytest.raises(InputError, match=r"no search that ends at a time_limit.*kind 'milp'"):
        OptimalRuleList(max_rules=1, thresholds=3, time_limit=60.0, kind="search").fit(X, COSTS)


def test_a_fit_ends_at_its_time_limit_with_a_tree_and_its_bound(monkeypatch):
    """The tree is not called optimal, and no tree is better than the bound."""
    best = OptimalPolicyTree(max_depth=3, thresholds="all").fit(X, COSTS)
    seconds = iter(range(10**9))
    monkeypatch.setattr(long_search, "monotonic", lambda: float(next(seconds)))
    fitted = OptimalPolicyTree(max_depth=3, thresholds="all", time_limit=20.0).fit(X, COSTS)
    assert (best.optimal_, fitted.optimal_) == (True, False)
    assert fitted.lower_bound_ <= best.policy_value_ <= fitted.policy_value_
    assert fitted.policy_value_ == pytest.approx(COSTS[np.arange(60), fitted.predict(X)].mean())
