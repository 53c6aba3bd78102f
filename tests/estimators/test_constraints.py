"""Constraints by name and ``monotone=`` are bound to the rows of each fit; the best policy that keeps them is found."""

from itertools import product

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone

from milpcb.data.columns import encoded
from milpcb.errors import SearchTooLargeError
from milpcb.estimators import (
    OptimalPolicyTree,
    OptimalRuleList,
    OptimalScoringRule,
    OptimalThresholdRule,
    always,
    mean_at_most,
    never,
    parity,
    share_at_most,
)
from milpcb.oracles import open_oracle
from policies.trees import usage


def table(n, seed):
    """Features, what three actions cost, and weights."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "age": rng.integers(20, 80, n).astype(float),
            "sex": rng.choice(["f", "m"], n),
            "price": rng.integers(1, 9, n),
            "drug use": rng.choice(["none", "some and more", None], n),
        }
    )
    X.loc[rng.random(n) < 0.1, "age"] = np.nan
    costs = pd.DataFrame(rng.normal(size=(n, 3)), columns=["drug A", "drug B", "wait"])
    return X, costs, rng.integers(0, 4, n)


def rate(chosen, weight):
    """Weighted mean of booleans."""
    return np.average(chosen, weights=weight)


KEPT = {
    "share": (share_at_most("drug B", 0.2), lambda _, a, w: rate(a == "drug B", w) <= 0.2),
    "parity": (
        parity("drug B", group="sex", delta=0.05),
        lambda X, a, w: (
            abs(
                rate((a == "drug B")[X["sex"] == "f"], w[X["sex"] == "f"])
                - rate((a == "drug B")[X["sex"] == "m"], w[X["sex"] == "m"])
            )
            <= 0.05
        ),
    ),
    "mean": (
        mean_at_most({"drug A": 2.0, "drug B": "price"}, 1.5),
        lambda X, a, w: (
            np.average(np.where(a == "drug A", 2.0, np.where(a == "drug B", X["price"], 0)), weights=w) <= 1.5
        ),
    ),
    "never": (
        never("drug B", where="sex = f and age <= 40"),
        lambda X, a, w: not ((a == "drug B") & (X["sex"] == "f") & (X["age"] <= 40) & (w > 0)).any(),
    ),
    "always": (
        always("wait", where='drug use in {"some and more", missing} and age is missing'),
        lambda X, a, w: ((a == "wait") | ~(((X["drug use"] != "none") & X["age"].isna()) & (w > 0))).all(),
    ),
}


@pytest.mark.parametrize("name", KEPT)
@pytest.mark.parametrize("seed", range(2))
def test_the_best_policy_that_keeps_it(name, seed):
    """Of all policies, listed and weighed by the definition of the constraint, none that keeps it is better."""
    constraint, keeps = KEPT[name]
    X, costs, weight = table(150, seed)
    free = OptimalThresholdRule(thresholds=5, max_cuts=2).fit(X, costs, weight)
    found = clone(free).set_params(constraints=[constraint]).fit(X, costs, weight)
    assert keeps(X, found.predict(X), weight)
    paid, rows = costs.to_numpy(), np.arange(150)
    own = np.average(paid[rows, found.policy_.predict(X)], weights=weight)
    broken = False
    for policy in every_rule(found, X, weight):
        labels = policy.predict(X)
        better = np.average(paid[rows, labels], weights=weight) < own - 1e-9
        if better or not broken:
            kept = keeps(X, found.actions_[labels], weight)
            assert not (better and kept)
            broken |= not kept
    assert broken  # the constraint rules something out
    assert found.policy_value_ == pytest.approx(own, abs=1e-9)
    assert found.lower_bound_ == pytest.approx(own, abs=1e-5)
    assert found.optimal_


def every_rule(estimator, X, weight):
    """Yield every policy of the class that an estimator searched, by its definition."""
    columns = estimator.policy_.names.columns
    read = encoded(columns, estimator.schema_.read(X[weight > 0]), range(len(columns)))
    for policy in open_oracle(estimator.policies_, read, kind="enumeration").opened.policies():
        yield policy.with_columns(estimator.schema_, columns, estimator.policy_.names.actions)


def test_what_is_given_for_each_row_goes_with_the_rows_that_count():
    """Rows of weight 0 are left out of a fit, and what was given for them too; the optimum is that of conditions."""
    X, costs, weight = table(150, 1)
    f, price = (X["sex"] == "f").to_numpy(), X["price"].to_numpy()
    by_rows = [
        never("drug B", rows=f),
        always("drug A", rows=np.flatnonzero(X["age"] > 60)),
        parity("drug A", f, 0.01),
        mean_at_most({"wait": price}, 2.0, weights=price),
        share_at_most("wait", 0.3, weights=price),
    ]
    by_names = [
        never("drug B", where="sex = f"),
        always("drug A", where="age > 60"),
        parity("drug A", "sex", 0.01),
        mean_at_most({"wait": "price"}, 2.0, weights="price"),
        share_at_most("wait", 0.3, weights="price"),
    ]
    assert (weight == 0).any()
    free = OptimalThresholdRule(thresholds=5, max_cuts=2).fit(X, costs, weight).policy_value_
    for one, other in zip(by_rows, by_names, strict=True):
        trees = [OptimalThresholdRule(thresholds=5, max_cuts=2, constraints=rule) for rule in (one, other)]
        found = [tree.fit(X, costs, weight) for tree in trees]
        assert found[0].policy_value_ == pytest.approx(found[1].policy_value_, abs=1e-9)
        assert found[0].policy_value_ > free
        assert clone(found[0]).constraints == one


def test_where_the_search_would_keep_too_much_kind_auto_asks_the_solver(monkeypatch):
    """The same optimum by another way; who asks for the search gets its reason."""
    X, costs, weight = table(30, 0)
    tree = OptimalPolicyTree(max_depth=2, thresholds=1, constraints=[share_at_most("drug B", 0.2)])
    found = clone(tree).fit(X, costs, sample_weight=weight).policy_value_
    monkeypatch.setattr(usage, "too_many_pairs", lambda n_numbers: f"{n_numbers} are too many")
    assert clone(tree).fit(X, costs, sample_weight=weight).policy_value_ == pytest.approx(found, abs=1e-9)
    with pytest.raises(SearchTooLargeError, match="too many"):
        clone(tree).set_params(kind="search").fit(X, costs, sample_weight=weight)


# ------------------------------------------------------------------- never down, or never up

AGES, REGIONS, VISITS = (20.0, 40.0, 60.0, None), ("north", "south"), (0.0, 3.0, 9.0)
EVERYBODY = pl.DataFrame(
    list(product(AGES, REGIONS, VISITS)), schema={"age": float, "region": str, "visits": float}, orient="row"
)


def ordered(number):
    """Return a table of people and whole costs of two or three actions."""
    draw = np.random.default_rng(number)
    people = EVERYBODY[np.concatenate([np.arange(len(EVERYBODY)), draw.integers(0, len(EVERYBODY), 12)]).tolist()]
    costs = draw.integers(0, 9, (len(people), 2 + number % 2)).astype(float)
    return people, costs


def neighbours(column):
    """Return the rows of everybody (n, 2) that differ in a column of numbers alone, the smaller number first."""
    others = [name for name in EVERYBODY.columns if name != column]
    known = EVERYBODY.with_row_index("row").drop_nulls(column).sort(column)
    rows = [part["row"].to_numpy() for part in known.partition_by(others)]
    return np.concatenate([np.stack([below[:-1], below[1:]], axis=1) for below in rows])


def in_order(played, column, sign):
    """Return whether actions (24,) of everybody never go down (up) along a column of numbers."""
    below, above = np.asarray(played, dtype=int)[NEIGHBOURS[column].T]
    return bool((sign * (above - below) >= 0).all())


NEIGHBOURS = {column: neighbours(column) for column in ("age", "visits")}


ESTIMATORS = [
    (OptimalPolicyTree, {"max_depth": 2}),
    (OptimalThresholdRule, {"max_cuts": 2}),
    (OptimalRuleList, {"max_rules": 2}),
    (OptimalScoringRule, {"max_weight": 1, "max_tests": 2}),
    (OptimalPolicyTree, {"max_depth": 1, "thresholds": "all"}),
]


@pytest.mark.parametrize("number", [0, 3])
@pytest.mark.parametrize(("estimator", "options"), ESTIMATORS)
def test_it_is_the_best_of_all_policies_in_order(estimator, options, number):
    """By a list of the class on all people: texts and missing numbers included, two columns at once."""
    people, costs = ordered(number)
    monotone = {"age": ("more", "less")[number // 2], "visits": "less"}
    free = estimator(**options).fit(people, costs)
    found = estimator(**options, monotone=monotone).fit(people, costs)
    columns = free.policy_.names.columns
    read = encoded(columns, {name: _values(EVERYBODY, name) for name in EVERYBODY.columns}, range(len(columns)))
    every = open_oracle(free.policies_, read, kind="enumeration").opened.policies()
    signs = {name: 1 if way == "more" else -1 for name, way in monotone.items()}
    own = encoded(columns, {name: _values(people, name) for name in people.columns}, range(len(columns)))
    totals = [
        costs[np.arange(len(own)), policy.predict(own)].mean()
        for policy in every
        if all(in_order(policy.predict(read), name, sign) for name, sign in signs.items())
    ]
    assert found.policy_value_ == pytest.approx(min(totals))
    assert found.lower_bound_ == pytest.approx(found.policy_value_)
    assert found.optimal_
    played = found.policy_.predict(EVERYBODY)
    assert all(in_order(played, name, sign) for name, sign in signs.items())


def _values(frame, name):
    column = frame[name]
    return np.array(column.to_list(), dtype=float if column.dtype == pl.Float64 else object)
