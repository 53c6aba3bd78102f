"""``monotone=``: the best policy whose action never goes down, or up, as a column grows, against lists."""

from itertools import product

import numpy as np
import polars as pl
import pytest
from sklearn.base import clone

from milpcb.data.columns import encoded
from milpcb.estimators import (
    LoggedPolicyTree,
    OptimalPolicyTree,
    OptimalRuleList,
    OptimalScoringRule,
    OptimalThresholdRule,
    share_at_most,
)
from milpcb.oracles import open_oracle

AGES, REGIONS, VISITS = (20.0, 40.0, 60.0, None), ("north", "south"), (0.0, 3.0, 9.0)
EVERYBODY = pl.DataFrame(
    list(product(AGES, REGIONS, VISITS)), schema={"age": float, "region": str, "visits": float}, orient="row"
)


def table(number):
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
    people, costs = table(number)
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


@pytest.mark.parametrize(("way", "sign"), [("more", 1), ("less", -1)])
def test_no_value_of_a_column_is_left_out_of_the_order(way, sign):
    """Where the best actions go up and down from value to value, a rule in order changes its action once."""
    values, best = np.arange(6.0), np.array([1, 0, 1, 0, 1, 0])
    found = OptimalThresholdRule(max_cuts=3, monotone={"x": way}).fit(pl.DataFrame({"x": values}), best)
    played = found.predict(pl.DataFrame({"x": values}))
    assert (sign * np.diff(played) >= 0).all()
    ups = [(np.arange(6) >= cut).astype(int)[::sign] for cut in range(7)]
    assert (played != best).sum() == min((each != best).sum() for each in ups)


def _values(frame, name):
    column = frame[name]
    return np.array(column.to_list(), dtype=float if column.dtype == pl.Float64 else object)


def test_it_goes_with_side_constraints_logs_and_copies():
    """Both are kept; a copy asks for the same."""
    people, costs = table(0)
    rule = share_at_most("action 1", 0.25)
    named = pl.DataFrame({"action 0": costs[:, 0], "action 1": costs[:, 1]})
    tree = clone(OptimalPolicyTree(monotone={"visits": "more"}, constraints=[rule])).fit(people, named)
    played = tree.policy_.predict(people)
    assert played.mean() <= 0.25
    assert in_order(tree.policy_.predict(EVERYBODY), "visits", 1)
    done = np.random.default_rng(0).integers(0, 2, len(people))
    log = LoggedPolicyTree(method="ips", monotone={"visits": "more"})
    log.fit(people, done, reward=costs[np.arange(len(done)), done], propensity="randomised")
    assert in_order(log.policy_.predict(EVERYBODY), "visits", 1)
