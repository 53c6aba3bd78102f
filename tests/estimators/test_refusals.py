"""Tables, targets, options, constraints and batches that no estimator takes: each is named in one line."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from milpcb import mean_at_most, never, parity, share_at_most
from milpcb.errors import InfeasibleError, InputError
from milpcb.estimators import (
    LoggedPolicy,
    LoggedPolicyTree,
    LoggedScoringRule,
    OptimalPolicy,
    OptimalPolicyTree,
    OptimalRuleList,
    OptimalScoringRule,
    OptimalThresholdRule,
)
from policies import FiniteClass
from tests.refused import refused

N = 60
RNG = np.random.default_rng(0)
PEOPLE = pd.DataFrame(
    {
        "age": RNG.integers(18, 80, N),
        "region": RNG.choice(["n", "s"], N),
        "price": RNG.random(N),
        "drug use": [None, *RNG.random(N - 1)],
    }
)
COSTS = pd.DataFrame(RNG.random((N, 2)), columns=["wait", "treat"])
DONE, REWARD = RNG.choice(["wait", "treat"], N), RNG.normal(size=N)
NUMBERS = [[1.0], [2.0], [3.0]]
MANY = {name: range(200) for name in ("age", "price", "x")}

SETTINGS: list[tuple[Any, str]] = [
    *((OptimalPolicyTree(max_depth=depth), "max_depth") for depth in (-1, 13, 0.5)),
    (OptimalPolicyTree(min_samples_leaf=N + 1), "min_samples_leaf"),
    (OptimalScoringRule(max_tests=0), "max_tests"),
    (OptimalThresholdRule(max_cuts=0), "max_cuts"),
    (OptimalRuleList(max_rules=0), "max_rules"),
    *(
        (OptimalPolicyTree(max_depth=1, thresholds=3, **options), named)
        for options, named in (
            ({"kind": "search", "solver": "highs"}, "'solver'"),
            ({"kind": "search", "gap": 5.0}, "'gap'"),
            ({"kind": "enumeration", "time_limit": 1.0}, "'time_limit'"),
            ({"kind": "audited", "gap": 1.0}, "'gap'"),
        )
    ),
    *(
        (OptimalPolicyTree(**options), named)
        for options, named in (
            ({"monotone": {"age": "up"}}, "'more' or 'less'"),
            ({"monotone": {"agee": "more"}}, "'age'"),
            ({"monotone": {"region": "more"}}, "'region'"),
            ({"monotone": {"age": "more"}, "min_samples_leaf": 3}, "limits on the rows"),
        )
    ),
    (OptimalPolicy(policies=FiniteClass([[0] * N, [1] * N], 2), monotone={"price": "more"}), "rules"),
    *(
        (OptimalThresholdRule(constraints=[rule]), named)
        for rule, named in (
            (share_at_most("treet", 0.2), "'treat'"),
            (parity("treat", "regio", 0.1), "'region'"),
            (mean_at_most({"treat": "drug use"}, 1), "'drug use'"),
            (never("treat", where="agee <= 3"), "'age'"),
            (never("treat", where="age about 3"), "'age about 3'"),
            (never("treat", where="age = old"), "'old'"),
            (never("treat", where="region <= n"), "'region'"),
        )
    ),
]
TABLES: list[tuple[Any, str]] = [
    (pl.DataFrame({"x": ["2020-01-01"] * 3}).with_columns(pl.col("x").str.to_date()), "'x'"),
    (pl.DataFrame({"x": [[1], [2], [3]]}), "'x'"),
    *((pd.DataFrame({"x": column}), "'x' holds") for column in ([1 + 2j, 2], [b"a", b"b"], pd.cut([1.0, 2.0], 2))),
    (pd.DataFrame({"x": [1.0, np.inf, 2.0]}), "'x' is inf in row 1"),
    (pd.DataFrame({"x": []}), "minimum of 1"),
    (pd.DataFrame([[1, 2]] * 3, columns=["x", "x"]), "several columns named 'x'"),
    (pd.DataFrame({"x": [f"id {i}" for i in range(101)]}), "101 different strings"),
    *(
        (pd.DataFrame({"g": pd.Series(values, dtype=object)}), "'g' holds values of several kinds")
        for values in ([1, "1"], [True, "True"], [True, 2], [1.5, "a"])
    ),
]
TARGETS: list[tuple[Any, str]] = [
    (["a", "a", "a"], "'a'"),
    (np.array([1, "a", 2], dtype=object), "of one kind"),
    *((labels, "label") for labels in (["a", None, "b"], pd.Series(["a", None, "b"], dtype="string"))),
    *((pd.DataFrame(np.eye(3), columns=names), "two columns") for names in (["a", "b", "a"], [1, "1", 2])),
    ([[1.0, 2.0], [1.0, np.nan], [0.0, 0.0]], "costs[1, 1]"),
    (pd.DataFrame([[1, 2], [1, None], [0, 0]], dtype="Int64"), "costs[1, 1]"),
    ([[1.0, 2.0], [1.0, np.inf], [0.0, 0.0]], "costs[1, 1]"),
    ([[1e200, 2.0], [1.0, 1.0], [0.0, 0.0]], "costs[0, 0]"),
]


@pytest.mark.parametrize(
    ("estimator", "table", "y", "named", "error"),
    [
        *((estimator, PEOPLE, COSTS, named, InputError) for estimator, named in SETTINGS),
        *((OptimalPolicyTree(), table, np.arange(len(table)) % 2, named, ValueError) for table, named in TABLES),
        *((OptimalPolicyTree(), NUMBERS, y, named, InputError) for y, named in TARGETS),
    ],
)
def test_what_cannot_be_fitted_is_named(estimator: Any, table: Any, y: Any, named: str, error: type[Exception]) -> None:
    """By parameter, column or row; the estimator stays unfitted."""
    refused(lambda: estimator.fit(table, y), named, error=error)
    assert not hasattr(estimator, "policy_")


def priced(**cost: Any) -> LoggedPolicyTree:
    """Return an estimator of a treatment that costs."""
    return LoggedPolicyTree(method="snips", treatment_cost=cost)


def batches(learner: Any = None, *changes: Any, **asked: Any) -> Any:
    """Fit an estimator to two batches, of which the second is changed."""
    log = pl.DataFrame(PEOPLE[["age", "price"]]).with_columns(
        done=pl.Series(list(DONE)), x=pl.Series(REWARD), y=pl.Series(REWARD), p=pl.lit(0.5)
    )
    given = {"action": "done", "reward": "y", "propensity": "p"} | asked
    return (learner or priced()).fit_batches([log, log.with_columns(*changes)], **given)


LATE = pl.when(pl.int_range(pl.len()) == 50).then(0.9).otherwise("p").alias("p")
LOGGED: list[tuple[Callable[[], object], str]] = [
    *(
        (lambda cost=cost: priced(**cost).fit(PEOPLE, DONE, reward=REWARD, propensity="randomised"), named)
        for cost, named in (
            ({"treat": "prise"}, "'price'"),
            ({"treat": "region"}, "treatment_cost"),
            ({"treat": [1.0] * (N - 1)}, "treatment_cost"),
        )
    ),
    (lambda: batches(priced(treat="price")), "treatment_cost"),
    *(
        (lambda learner=learner: batches(learner), named)
        for learner, named in (
            (LoggedPolicyTree(method="dm"), "method"),
            (LoggedPolicyTree(method="ips", thresholds="all"), "every cut"),
            (LoggedPolicyTree(method="ips", min_samples_leaf=5), "limits on the rows"),
            (LoggedPolicyTree(method="ips", objective="guaranteed"), "monotone and objective need the rows"),
            (LoggedPolicyTree(method="ips", max_depth=3, thresholds=MANY), "combinations"),
            (LoggedScoringRule(method="ips", max_tests=None), "any number of columns"),
            (LoggedPolicy(method="ips"), "any number of columns"),
        )
    ),
    *(
        (lambda change=change: batches(None, change), named)
        for change, named in (
            (pl.lit(None, dtype=pl.Float64).alias("y"), "'y'"),
            (pl.lit(0.0).alias("p"), "row 1"),
            (pl.lit(1.5).alias("p"), "row 1"),
            (pl.lit(None, dtype=pl.String).alias("done"), "'done'"),
            (pl.lit("much").alias("y"), "'y'"),
        )
    ),
    (lambda: batches(None, LATE, propensity={"wait": "p", "treat": "p"}), "propensities of row 51 are [0.9, 0.9]"),
    (lambda: batches(propensity=["p", "x"], actions=["wait", "treat"]), "of actions that are not named"),
    (lambda: batches(propensity={"wait": "p", "cure": "p"}), "the actions of propensity are"),
    (lambda: batches(reward="rewards"), "'rewards'"),
    (lambda: priced().fit_batches(iter([PEOPLE]), action="done", reward="y", propensity="p"), "twice"),
    (lambda: priced().fit_batches([np.eye(3)], action="done", reward="y", propensity="p"), "ndarray"),
]


@pytest.mark.parametrize(("fit", "named"), LOGGED)
def test_a_log_that_cannot_be_learnt_from_is_named(fit: Callable[[], object], named: str) -> None:
    """By treatment costs, by what needs all rows at once, by the row of a batch."""
    refused(fit, named)


def test_constraints_that_conflict_are_named() -> None:
    """Constraints that no policy keeps together are refused; a value that no row has is a warning."""
    rules = [share_at_most("wait", 0.5), never("treat", "age >= 0"), never("wait", "region is not x and price > 2")]
    estimator = OptimalThresholdRule(constraints=rules)
    with pytest.warns(UserWarning, match="'x'"):
        refused(lambda: estimator.fit(PEOPLE, COSTS), "wait", error=InfeasibleError)
    assert not hasattr(estimator, "policy_")
