"""Searches that hand over to a solver: the same answers, said by ``explain``."""

import numpy as np
import pytest

from milpcb import open_oracle
from policies import LinearRules
from policies.linear import policy_class

RNG = np.random.default_rng(4)
INTEGERS = RNG.integers(0, 12, (24, 4)).astype(float)[RNG.integers(0, 24, 30)]  # rows repeat
COSTS = RNG.integers(0, 4, (30, 2)).astype(float)


@pytest.mark.parametrize("steps", [0.0, 3e3, np.inf])
def test_integer_columns_are_answered_alike_whoever_answers(steps: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Value, policy and profile are the same by branch and bound, by a solver after some steps, and by a solver."""
    rules = LinearRules(2, max_weight=2)
    expected = open_oracle(rules, INTEGERS, "milp")
    monkeypatch.setattr(policy_class, "BRIEF", steps)
    oracle = open_oracle(rules, INTEGERS, "search")
    answer = oracle.minimise(COSTS)
    assert answer.value == oracle.value(COSTS) == expected.value(COSTS)
    assert COSTS[np.arange(30), answer.policy.predict(INTEGERS)].sum() == answer.value
    assert oracle.profile(COSTS, 7).tolist() == expected.profile(COSTS, 7).tolist()


def test_a_solver_is_asked_only_once_the_search_gives_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Columns of 0 and 1, and guard-rails, stay with branch and bound, however long it takes."""
    monkeypatch.setattr(policy_class, "BRIEF", 0.0)
    binary = RNG.integers(0, 2, (60, 10)).astype(float)
    routes = [
        "\n".join(open_oracle(LinearRules(2, max_weight=5), contexts, "search").route())
        for contexts in (binary, np.repeat(INTEGERS, 2, axis=1) * np.arange(1, 9))
    ]
    assert ["then: a solver" in route for route in routes] == [False, True]
    assert all("branch and bound" in route for route in routes)
    assert "solver highs" in routes[1]
