"""Rates of many groups that are to be close: the same answers by every kind, in few rows, and bounded work."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from milpcb import open_oracle, parity, share_at_most
from milpcb.constraints import LabelConstraint, bind_to, conflict, linear
from milpcb.errors import SearchTooLargeError
from milpcb.estimators import OptimalPolicyTree
from milpcb.types import Floats
from policies import DecisionTrees
from policies.trees import constrained


def rates_of(groups: Any, actions: Any, action: int = 1) -> Floats:
    """Return the rate of an action in each group."""
    return np.array([(actions[groups == group] == action).mean() for group in np.unique(groups)])


@pytest.mark.parametrize("n_groups", [3, 4, 7])
def test_every_kind_keeps_the_rates_of_many_groups_close(n_groups: int) -> None:
    """Search, solver and list find the same optimum, and it keeps the definition."""
    rng = np.random.default_rng(0)
    contexts = rng.integers(0, 4, (60, 3)).astype(float)
    groups = np.arange(60) % n_groups
    rules = [parity(1, groups, 0.4)]
    costs = rng.integers(-9, 10, (60, 2)).astype(float)
    trees = DecisionTrees(2, depth=2, thresholds=2)
    answers = [open_oracle(trees, contexts, kind, constraints=rules).minimise(costs) for kind in ("search", "milp")]
    listed = open_oracle(trees, contexts, "enumeration", constraints=rules).value(costs)
    for answer in answers:
        rates = rates_of(groups, answer.policy.predict(contexts))
        assert np.ptp(rates) <= 0.4 + 1e-9
        assert answer.value == listed
    free = open_oracle(trees, contexts, "search").value(costs)
    assert free <= listed


def test_a_solver_gets_two_rows_a_rate() -> None:
    """G rates take 2 (G - 1) rows and one column, not G (G - 1) rows; the bounds of other constraints stay rows."""
    rng = np.random.default_rng(0)
    contexts, groups = rng.normal(size=(60, 2)), np.arange(60) % 10
    share, *rules = bind_to([share_at_most(1, 2 / 3), parity(1, groups, 0.5)], contexts, (), range(2))
    trees = DecisionTrees(2, depth=1, thresholds=3)
    programs = [open_oracle(trees, contexts, "milp", constraints=rows).program for rows in ([share], [share, *rules])]
    assert programs[1].n_rows - programs[0].n_rows == 18
    assert programs[1].n_columns - programs[0].n_columns == 1
    assert len(rules) == 90


def test_two_parities_of_one_action_are_two_families() -> None:
    """Groups that are given by rows have no name: a solver gets the rows of both parities, and a column for each."""
    rng = np.random.default_rng(0)
    contexts, both = rng.normal(size=(60, 2)), (np.arange(60) % 10, rng.permutation(np.arange(60) % 10))
    rules = [parity(1, groups, 0.5) for groups in both]
    trees = DecisionTrees(2, depth=1, thresholds=3)
    free, bound = (open_oracle(trees, contexts, "milp", constraints=rows) for rows in ([share_at_most(1, 1.0)], rules))
    assert bound.program.n_rows - free.program.n_rows == 2 * 18 - 1
    assert bound.program.n_columns - free.program.n_columns == 2


def test_where_the_best_policy_keeps_the_constraints_nothing_is_built_for_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """62 sites, where to treat everybody is best and has equal rates: the recursion under 3 782 rows is never made."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"age": rng.integers(18, 80, 300), "site": [f"s{i % 62}" for i in range(300)]})
    costs = pd.DataFrame({"none": np.ones(300), "drug": rng.random(300)})
    monkeypatch.setattr(constrained.usage, "usage_of", lambda *_: pytest.fail("built"))
    tree = OptimalPolicyTree(features=["age"], constraints=[parity("drug", group="site", delta=0.1)], kind="search")
    fitted = tree.fit(X, costs)
    assert str(fitted.policy_) == "play drug"
    assert fitted.optimal_
    assert fitted.policy_value_ == pytest.approx(costs["drug"].mean())


@pytest.mark.parametrize("more", [[], [share_at_most("0", 0.8), share_at_most("1", 0.8)]], ids=["free", "no constant"])
def test_too_many_weights_are_refused_before_they_are_sorted(more: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """The search says so where it is asked; an estimator of kind "auto" asks a solver then, for the same optimum."""
    rng = np.random.default_rng(3)
    X = pd.DataFrame({"age": rng.integers(18, 80, 80), "site": [f"s{i % 6}" for i in range(80)]})
    costs = np.column_stack([np.ones(80), rng.random(80) + (X.age > 50)])
    rules = [parity("1", group="site", delta=0.4), *more]
    tree = OptimalPolicyTree(features=["age"], thresholds=4, constraints=rules)
    found = tree.fit(X, costs).policy_value_
    monkeypatch.setattr(linear, "MOST_WEIGHED", 10)
    assert tree.fit(X, costs).policy_value_ == pytest.approx(found)
    with pytest.raises(SearchTooLargeError, match=r"sorts [\d ]+ parts of policies by \d+ weights"):
        tree.set_params(kind="search").fit(X, costs)


def test_a_conflict_among_thousands_takes_few_questions() -> None:
    """A smallest set that conflicts is found by bisection: of 4 000 constraints two, in some dozens of questions."""
    rules = [LabelConstraint([[0.0, 1.0]], 1.0, f"rule {i}") for i in range(4000)]
    asked = []

    def feasible(numbers: list[int]) -> bool:
        asked.append(numbers)
        return not {1234, 3210} <= set(numbers)

    assert conflict(rules, feasible).endswith("constraints 'rule 1234', 'rule 3210' together; loosen one of them")
    assert len(asked) < 30
