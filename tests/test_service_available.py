"""Actions that are not always there: masks, what is played instead, what is learnt of it, what is then stated."""

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
TRUE_OR_FALSE = DecisionTrees(2, depth=1, thresholds=[[0.5]], action_names=["True", "False"])


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


def test_all_actions_available_is_the_same_play() -> None:
    """Bit for bit; only what is missing changes anything."""
    plain, listed = bandit(seed=4), bandit(seed=4)
    for t in range(60):
        one, other = plain.act([float(t % 2)]), listed.act([float(t % 2)], available=[2, 1, 0])
        assert (one.action, one.probabilities) == (other.action, other.probabilities)
        plain.learn(one, cost=0.25 * one.action)
        listed.learn(other, cost=0.25 * other.action)
    assert plain.certificate() == listed.certificate()


def test_the_last_action_cannot_be_retired() -> None:
    """Nor one that there is not."""
    one = bandit()
    one.retire(0)
    one.retire(1)
    refused(lambda: one.retire(2), "'2' is the last action that there is")
    refused(lambda: one.retire("walk"), error=UnknownNameError)
    assert one.act([0.0]).probabilities == (0.0, 0.0, 1.0)
    refused(lambda: one.act([0.0], available=[0]), "no action is available: give at least one that is not retired")
    assert len(open_decisions(one)) == 1


# ------------------------------------------------------------------- masks


def there(bandit: Bandit, available: Any) -> list[bool]:
    """Return which actions a decision may take, by its law."""
    return [chance > 0 for chance in bandit.act([0], available=available).probabilities]


@pytest.mark.parametrize(
    "mask",
    [
        [True, False, True],
        (True, False, True),
        np.array([True, False, True]),
        [np.True_, np.False_, np.True_],
        np.array([True, False, True], dtype=object),
        pd.Series([True, False, True]),
        pd.Series({"c": True, "b": False, "a": True}),
        {"b": False, "a": True, "c": np.True_},
        ["c", "a"],
        pd.Series(["c", "a"]),
        {"c", "a"},
        [2, 0],
        iter(["a", "c"]),
    ],
    ids=lambda mask: type(mask).__name__,
)
def test_a_mask_leaves_the_actions_where_it_is_true(mask: Any) -> None:
    """By place or by name, as a list of these actions does; the forbidden one has no chance."""
    assert there(Bandit(NAMED), mask) == [True, False, True]


@pytest.mark.parametrize(
    ("policies", "available", "message"),
    [
        (NAMED, [True, False], "2 booleans for the 3 actions"),
        (NAMED, [True, "a", "b"], "a list of actions or a mask of booleans"),
        (NAMED, [1, 0, 1], "lists 'b' twice"),
        (NAMED, np.array([1.0, 0.0, 1.0]), "lists 'b' twice"),
        (TRUE_OR_FALSE, [1, 0], "can be read in two ways"),
        (TRUE_OR_FALSE, np.array([0, 1]), "can be read in two ways"),
        (NAMED, {"a": 1, "b": 0, "c": 1}, "a list of actions or a mask of booleans"),
        (NAMED, {"a": True, "b": False}, "2 booleans for the 3 actions"),
        (NAMED, {"a": True, "b": False, "d": True}, "'d'"),
        (NAMED, pd.DataFrame({"a": [1], "b": [0], "c": [1]}), "a list of actions or a mask of booleans"),
        (NAMED, [["a"], ["b"]], "unknown action"),
        (NAMED, [False, False, False], "no action is available"),
        *((NAMED, nothing, "available must be a list of actions") for nothing in (np.array(1), "a", 3)),
        (NAMED, [], "no action is available"),
        (NAMED, ["a", "walk"], "'walk'"),
        (TRUE_OR_FALSE, [True, False], "can be read in two ways"),
        (TRUE_OR_FALSE, {True, False}, "can be read in two ways"),
    ],
)
def test_what_can_be_read_in_two_ways_is_refused(policies: Any, available: Any, message: str) -> None:
    """In one line, and no decision is made."""
    one = Bandit(policies)
    refused(lambda: one.act([0], available=available), message)
    assert not open_decisions(one)


def test_a_mask_by_name_is_right_where_actions_are_called_true_and_false() -> None:
    """Names can be read in one way only."""
    assert there(Bandit(TRUE_OR_FALSE), {"True": False, "False": True}) == [False, True]
    assert there(Bandit(TRUE_OR_FALSE), ["False"]) == [False, True]
