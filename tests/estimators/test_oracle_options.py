"""Estimators and the options of their oracle: used, or refused in one line."""

from typing import Any

import numpy as np
import pytest

from milpcb.core import long_search
from milpcb.errors import InputError
from milpcb.estimators import OptimalPolicyTree, OptimalRuleList, share_at_most

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
def test_auto_is_a_kind_that_has_the_options(options: dict[str, Any], kind: str) -> None:
    """An option that only a solver has means a solver, which other kinds refuse; later questions have no time limit."""
    fitted = OptimalPolicyTree(max_depth=1, thresholds=3, **options).fit(X, COSTS)
    assert fitted.problem(X).kind == kind


def test_auto_asks_a_solver_where_the_search_does_not_end_at_a_time_limit() -> None:
    """Kind "search" refuses it, and names the kind that has it."""
    fitted = OptimalRuleList(max_rules=1, thresholds=3, time_limit=60.0).fit(X, COSTS)
    assert fitted.policy_value_ == OptimalRuleList(max_rules=1, thresholds=3).fit(X, COSTS).policy_value_
    with pytest.raises(InputError, match=r"no search that ends at a time_limit.*kind 'milp'"):
        OptimalRuleList(max_rules=1, thresholds=3, time_limit=60.0, kind="search").fit(X, COSTS)


def test_a_fit_ends_at_its_time_limit_with_a_tree_and_its_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tree is not called optimal, and no tree is better than the bound."""
    best = OptimalPolicyTree(max_depth=3, thresholds="all").fit(X, COSTS)
    seconds = iter(range(10**9))
    monkeypatch.setattr(long_search, "monotonic", lambda: float(next(seconds)))
    fitted = OptimalPolicyTree(max_depth=3, thresholds="all", time_limit=20.0).fit(X, COSTS)
    assert (best.optimal_, fitted.optimal_) == (True, False)
    assert fitted.lower_bound_ <= best.policy_value_ <= fitted.policy_value_
    assert fitted.policy_value_ == pytest.approx(COSTS[np.arange(60), fitted.predict(X)].mean())
