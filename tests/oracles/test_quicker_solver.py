"""Kind "search" asks a solver where it is quicker: the same answers as those of the search, named by ``explain``."""

from __future__ import annotations

import numpy as np
import pytest

from milpcb import open_oracle, share_at_most
from policies import LinearRules
from policies.linear.policy_class import OpenedLinear

RNG = np.random.default_rng(4)
INTEGERS = RNG.integers(0, 12, (24, 4)).astype(float)[RNG.integers(0, 24, 30)]  # rows repeat
COSTS = RNG.integers(0, 4, (30, 2)).astype(float)
RULES = LinearRules(2, max_weight=2)


@pytest.mark.parametrize("by_solver", [False, True])
def test_integer_columns_are_answered_alike_whoever_answers(by_solver: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Value, policy and profile are the same by branch and bound and by a solver."""
    expected = open_oracle(RULES, INTEGERS, "milp")
    monkeypatch.setattr(OpenedLinear, "solver_is_quicker", by_solver)
    oracle = open_oracle(RULES, INTEGERS, "search")
    assert ("solver highs" in oracle.explain()) == by_solver
    answer = oracle.minimise(COSTS)
    assert answer.value == oracle.value(COSTS) == expected.value(COSTS)
    assert COSTS[np.arange(30), answer.policy.predict(INTEGERS)].sum() == answer.value
    assert oracle.profile(COSTS, 7).tolist() == expected.profile(COSTS, 7).tolist()


def test_a_solver_is_asked_where_columns_have_many_values() -> None:
    """Columns of 0 and 1 stay with branch and bound, however long it takes."""
    binary = RNG.integers(0, 2, (60, 10)).astype(float)
    routes = [
        "\n".join(open_oracle(LinearRules(2, max_weight=5), contexts, "search").route())
        for contexts in (binary, np.repeat(INTEGERS, 2, axis=1) * np.arange(1, 9))
    ]
    assert ["route: a solver" in route for route in routes] == [False, True]
    assert all("branch and bound" in route for route in routes)
    assert "solver highs" in routes[1]


def test_guard_rails_stay_with_the_search() -> None:
    """A rule that forbids an action everywhere leaves constants, which branch and bound finds."""
    oracle = open_oracle(RULES, INTEGERS, "search", constraints=[share_at_most(1, 0.0)])
    assert "a solver" not in oracle.explain()
    assert oracle.value(COSTS) == COSTS[:, 0].sum()
