"""Explore-then-commit: unbiased estimates, one question, the regret of its guarantee, and what a switch does to it."""

from typing import Any

import numpy as np
import pytest

from milpcb import open_oracle
from milpcb.errors import OracleInexact
from milpcb.learners import ExploreThenCommit
from milpcb.types import Floats
from policies import DecisionTrees, FiniteClass

LABELINGS = np.array([[1, 1, 1, 1], [0, 1, 0, 1], [0, 0, 0, 0], [1, 0, 1, 1]])
ROWS = np.arange(4)


def etc(horizon: int, labelings: Any = LABELINGS, n_actions: int = 2, **options: Any) -> Any:
    """Return the learner on a list of labelings."""
    contexts = np.arange(float(np.shape(labelings)[1]))[:, None]
    return ExploreThenCommit(
        open_oracle(FiniteClass(labelings, n_actions), contexts, kind="search"), horizon=horizon, **options
    )


def play(learner: Any, mean: Floats, seed: int, switch: int = 0, labelings: Any = LABELINGS) -> tuple[list[Any], float]:
    """Play Bernoulli costs of mean (m, K), the actions reversed before ``switch``; every round, and expected regret."""
    rng, rounds = np.random.default_rng(seed), []
    suffered, totals = 0.0, np.zeros(len(labelings))
    for t in range(learner.horizon):
        row = int(rng.integers(len(mean)))
        costs = (rng.random() < (mean[row, ::-1] if t < switch else mean[row])).astype(float)
        q = learner.act(row)
        action = int(rng.choice(len(q), p=q))
        learner.learn(row, action, float(costs[action]), float(q[action]))
        rounds.append((row, action, float(costs[action]), float(q[action])))
        suffered += float(q @ costs)
        totals += costs[labelings[:, row]]
    return rounds, suffered - float(totals.min())


GOOD = np.where(np.arange(2) == LABELINGS[1][:, None], 0.1, 0.9)  # the policy [0, 1, 0, 1] is right


def test_with_n_equal_to_the_horizon_it_is_uniform_and_asks_nothing() -> None:
    """All rounds explore; the oracle is never called."""
    learner = etc(200, rounds=200)
    rounds, _ = play(learner, GOOD, 0)
    assert {q for *_, q in rounds} == {0.5}
    assert learner.oracle.calls == 0


@pytest.mark.parametrize("seed", range(5))
def test_it_commits_to_the_least_estimated_cost_with_one_question(seed: int) -> None:
    """After n rounds it plays, for ever, the labeling that minimises the sum of K c over the rounds where it agrees."""
    mean = np.random.default_rng(seed).random((4, 2))
    learner = etc(400, rounds=60)
    rounds, _ = play(learner, mean, seed)
    totals = np.zeros((4, 2))
    for row, action, cost, q in rounds[:60]:
        assert q == 0.5
        totals[row, action] += 2 * cost
    best = LABELINGS[totals[ROWS, LABELINGS].sum(axis=1).argmin()]
    assert {(row, action) for row, action, *_ in rounds[60:]} == set(zip(ROWS.tolist(), best.tolist(), strict=True))
    assert {q for *_, q in rounds[60:]} == {1.0}
    assert learner.oracle.calls == 1
    assert learner.estimates().tolist() == totals.tolist()  # the n-th round counts, no later one does


def test_estimates_are_unbiased_exactly() -> None:
    """The mean over y of what learn adds, with the weights of q, is the cost vector itself."""
    costs = np.array([0.3, 1.0, 0.0])
    added = np.zeros((2, 3))
    for action in range(3):
        learner = etc(10, [[0, 1], [2, 1]], 3)
        q = learner.act(1)
        learner.learn(1, action, costs[action], q[action])
        added += q[action] * learner.estimates()
    assert added == pytest.approx(np.array([[0, 0, 0], costs]), abs=1e-15)


@pytest.mark.parametrize("seed", range(10))
def test_training_is_weighted_classification(seed: int) -> None:
    """For K = 2 its policy minimises the weights K c of the rounds where it errs on the label 1 - y.

    Over all y together, weighted by q, least sum of K c on agreement is also most sum of K (1 - c) on agreement; on one
    sample it is not, as policies agree with different numbers of rounds.
    """
    learner = etc(80, rounds=40)
    rounds, _ = play(learner, np.random.default_rng(seed).random((4, 2)), seed)
    errors = sum(2 * cost * (LABELINGS[:, row] != 1 - action) for row, action, cost, _ in rounds[:40])
    assert learner.state()["log"]["labels"] == LABELINGS[int(np.argmin(errors))].tolist()
    costs = np.random.default_rng(seed).random((4, 2))
    every_y = [(row, y) for row in ROWS for y in (0, 1)]
    paid = sum(2 * costs[row, y] * (LABELINGS[:, row] == y) for row, y in every_y)
    earned = sum(2 * (1 - costs[row, y]) * (LABELINGS[:, row] == y) for row, y in every_y)
    assert paid + earned == pytest.approx(np.full(4, 8.0))
    assert np.argmin(paid) == np.argmax(earned)


def test_guarantee_is_the_bound_and_n_is_tuned() -> None:
    """It is n + (T - n) sqrt(2 K log N / n) + sqrt(T log N / 2), nearly least over n; to leading order 2.381 (...)."""
    T, price = 10_000, 2 * np.log(4)
    learner = etc(T)
    n = learner.rounds
    assert n == int(np.ceil((T**2 * price / 2) ** (1 / 3)))
    expected = n + (T - n) * np.sqrt(2 * price / n) + np.sqrt(T * np.log(4) / 2)
    assert learner.guarantee() == pytest.approx(expected)
    assert min(etc(T, rounds=n // 2).guarantee(), etc(T, rounds=2 * n).guarantee()) > expected
    far = etc(10**15)
    assert far.guarantee() / (1e10 * price ** (1 / 3)) == pytest.approx(3 / 2 ** (1 / 3), rel=0.01)
    assert etc(3).rounds == 3


def test_regret_is_within_the_guarantee_on_iid_games() -> None:
    """Expected regret over seeded games is within a bound that uniform play would break."""
    T = 6000
    regrets = [play(etc(T), GOOD, seed)[1] for seed in range(4)]
    uniform = play(etc(T, rounds=T), GOOD, 0)[1]
    assert np.mean(regrets) <= etc(T).guarantee() < uniform


def test_a_switch_after_the_exploration_costs_it_the_whole_game() -> None:
    """Costs that turn over after round n break the i.i.d. bound, and regret grows linearly with T."""
    regrets = {}
    for T in (4000, 8000):
        learner = etc(T)
        certain = np.where(np.arange(2) == LABELINGS[1][:, None], 0.0, 1.0)
        _, regrets[T] = play(
            learner, certain, 0, switch=learner.rounds, labelings=np.array([[0, 1, 0, 1], [1, 0, 1, 0]])
        )
        assert regrets[T] > 0.3 * T
    assert regrets[8000] > etc(8000).guarantee()
    assert regrets[8000] > 1.8 * regrets[4000]


def test_a_minimiser_that_is_not_proved_is_refused() -> None:
    """Nothing is committed to."""
    contexts = np.random.default_rng(0).random((20, 3))
    hurried = ExploreThenCommit(
        open_oracle(DecisionTrees(2, 2, thresholds=3), contexts, time_limit=0.0), horizon=10, rounds=1
    )
    with pytest.raises(OracleInexact):
        hurried.learn(0, 0, 1.0, float(hurried.act(0)[0]))
    assert hurried.played == 0
    assert hurried.act(1).tolist() == [0.5, 0.5]


def test_a_class_of_one_policy_is_played() -> None:
    """One policy is found as any other, with a finite guarantee."""
    learner = etc(50, [[1, 0]])
    assert 1 <= learner.rounds < 50
    assert learner.guarantee() < np.inf
