"""Actions that are not always there: what is played instead, what is learnt of it, what is then stated."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from milpcb import Bandit, rng
from milpcb.errors import UnknownNameError
from policies import DecisionTrees, FiniteClass
from tests.inside import learner_of, open_decisions
from tests.refused import refused

LABELINGS = np.array([[0, 0], [1, 1], [2, 2], [0, 2], [2, 1]])
CONTEXTS = [[0.0], [1.0]]
NAMES = ["0", "1", "2"]
NAMED = DecisionTrees(3, depth=1, thresholds=[[0.5]], action_names=["a", "b", "c"])
UNNAMED = DecisionTrees(2, depth=1, thresholds=[[0.5]])


def bandit(learner: str = "exp4", **options: Any) -> Bandit:
    """Return a bandit over five labelings of two contexts."""
    return Bandit(FiniteClass(LABELINGS, 3), learner, contexts=CONTEXTS, oracle="enumeration", **options)


def instead(action: int, available: list[int]) -> int:
    """Return what is played for an action, by the definition."""
    return action if action in available else min(available)


def draws(monkeypatch: pytest.MonkeyPatch, action: int) -> None:
    """Make the next draws end in one action."""
    monkeypatch.setattr(rng, "draw_action", lambda _q, _generator: action)


@pytest.mark.parametrize("available", [[0, 2], [1, 2], [2], [0, 1, 2]], ids=str)
def test_estimates_are_those_of_the_costs_with_replacement(
    available: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """By enumeration of the draws: the mean of what each policy is charged is what its replacement costs."""
    costs, means, chances = np.array([0.2, 0.9, 0.6]), np.zeros(3), np.zeros(3)
    for drawn in range(3):
        one = bandit()
        for action, paid in [(0, 0.3), (1, 0.8), (2, 0.1)]:
            draws(monkeypatch, action)
            one.learn(one.act([1.0]), cost=paid)
        before = learner_of(one).ledger.totals(2, 3)
        q = learner_of(one).act(1)
        learner_of(one).give_up()
        draws(monkeypatch, drawn)
        decision = one.act([1.0], available=available)
        played = int(decision.action)
        assert played == instead(drawn, available)
        assert decision.probabilities[played] == decision.probability
        one.learn(decision, cost=float(costs[played]))
        means += q[drawn] * (learner_of(one).ledger.totals(2, 3) - before)[1]
        chances[played] += q[drawn]
    assert means == pytest.approx([costs[instead(action, available)] for action in range(3)])
    assert chances == pytest.approx(decision.probabilities)
    assert not chances[[action for action in range(3) if action not in available]].any()


@pytest.mark.parametrize(
    ("learner", "options"),
    [
        ("exp4", {"estimates": "optimistic"}),
        ("ftpl", {"epsilon": "adaptive"}),
        ("epsilon_greedy", {}),
        ("bistro_plus", {"horizon": 400, "queries": "profile", "noise": "half"}),
        ("uniform", {}),
        ("exp4", {"baseline": 1, "loss": 0.5}),
    ],
)
def test_every_learner_states_what_holds_of_the_policies_with_replacement(
    learner: str, options: dict[str, Any]
) -> None:
    """Regret against them stays below the certificate with confidence, and nothing is played that is not there."""
    one, random = bandit(learner, **options), np.random.default_rng(5)
    totals, paid = np.zeros(len(LABELINGS)), 0.0
    for t in range(400):
        row, available = int(random.integers(2)), sorted(random.permutation(3)[: random.integers(1, 4)].tolist())
        costs = (random.random(3) < [[0.7, 0.2, 0.5], [0.6, 0.7, 0.2]][row]).astype(float)
        decision = one.act([float(row)], available=[NAMES[action] for action in available])
        assert int(decision.action) in available
        one.learn(decision, cost=float(costs[int(decision.action)]))
        paid += costs[int(decision.action)]
        totals += [costs[instead(label, available)] for label in LABELINGS[:, row]]
        if t % 50 == 49 and learner != "uniform":
            assert paid - totals.min() <= one.certificate(confidence=0.99)


@pytest.mark.parametrize("listed", [["c", "a"], ("a", "c"), {"c", "a"}, ["a", "c", "a"]], ids=range(4))
def test_the_actions_of_a_list_are_available(listed: Any) -> None:
    """By name, in any order; the other one has no chance."""
    law = Bandit(NAMED).act([0], available=listed).probabilities
    assert [chance > 0 for chance in law] == [True, False, True]
    assert Bandit(UNNAMED).act([0], available=[1, 0]).probabilities == (0.5, 0.5)


@pytest.mark.parametrize("policies", [NAMED, UNNAMED])
@pytest.mark.parametrize(
    "available",
    [
        *([True, False, True], [True, False], np.array([True, False, True]), {"a": True, "b": False, "c": True}),
        *(pd.Series({"a": True, "b": False}), pd.DataFrame({"a": [True], "b": [False]}), [["a"], ["b"]]),
        *([], np.array(1), "a", 3, [1.0, 0.0], [None]),
    ],
    ids=str,
)
def test_other_than_a_list_of_actions_is_refused(policies: Any, available: Any) -> None:
    """A mask, whatever its form, and numbers where actions have names; no decision is made."""
    one = Bandit(policies)
    refused(lambda: one.act([0], available=available), "available must be a list of actions, one at least")
    assert not open_decisions(one)


def test_numbers_are_no_names() -> None:
    """0 and 1 could be a mask."""
    refused(lambda: Bandit(NAMED).act([0], available=[1, 0, 1]), "available must be a list of actions")
    refused(lambda: Bandit(NAMED).act([0], available=["a", "walk"]), "'walk'", error=UnknownNameError)
