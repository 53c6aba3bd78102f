"""Epoch-Greedy: its epochs, what it learns in them, and the regret of its guarantee."""

from itertools import product
from typing import Any

import numpy as np
import pytest

from milpcb import open_oracle
from milpcb.learners import EpochGreedy
from policies import FiniteClass

from .rounds import LABELINGS, play

GOOD = np.where(np.arange(2) == LABELINGS[1][:, None], 0.1, 0.9)  # the policy [0, 1, 0, 1] is right
ROWS = np.arange(4)
UNIT = 2 * 2 * np.log(4)  # 2 K log N


def epochs(horizon: int | None = None, labelings: Any = LABELINGS, n_actions: int = 2) -> Any:
    """Return the learner on a list of labelings."""
    contexts = np.arange(float(np.shape(labelings)[1]))[:, None]
    return EpochGreedy(open_oracle(FiniteClass(labelings, n_actions), contexts, kind="search"), horizon=horizon)


def explores(T: int, unit: float) -> list[bool]:
    """Return whether each of T rounds is the uniform one of its epoch, by the definition of s_l."""
    rounds: list[bool] = []
    epoch = 0
    while len(rounds) < T:
        epoch += 1
        eps = min(1.0, np.sqrt(unit / epoch))
        rounds += [True, *[False] * int(np.floor(1 / eps + 1e-12))]
    return rounds[:T]


def test_each_epoch_explores_once_and_is_greedy_while_its_data_answer_for_it() -> None:
    """Round by round, q is uniform exactly where the definition of the epochs says, and else all on one action."""
    rounds, _ = play(epochs(), 1500, GOOD, 0)
    assert [q.max() == 0.5 for *_, q in rounds] == explores(1500, UNIT)
    assert {q.max() for *_, q in rounds} == {0.5, 1.0}


@pytest.mark.parametrize("seed", range(5))
def test_it_follows_the_best_policy_on_its_uniform_rounds(seed: int) -> None:
    """Greedy rounds play the labeling with least sum of K c over uniform rounds that agree; one question an epoch."""
    learner = epochs()
    rounds, _ = play(learner, 300, np.random.default_rng(seed).random((4, 2)), seed)
    totals = np.zeros((4, 2))
    for row, action, cost, q in rounds:
        if q.max() == 0.5:
            totals[row, action] += 2 * cost
        else:
            assert q.argmax() == LABELINGS[totals[ROWS, LABELINGS].sum(axis=1).argmin()][row]
    assert learner.oracle.calls == sum(explores(300, UNIT)) == learner.state()["epoch"]


def test_estimates_are_unbiased_exactly() -> None:
    """The mean over y of what a uniform round adds is the cost vector; a greedy round adds nothing."""
    costs, added = np.array([0.3, 1.0, 0.0]), np.zeros((2, 3))
    for action in range(3):
        learner = epochs(labelings=[[0, 1], [2, 1]], n_actions=3)
        q = learner.act(1)
        learner.learn(1, action, costs[action], q[action])
        added += q[action] * learner.estimates()
        before = learner.estimates().tolist()
        q = learner.act(0)
        learner.learn(0, int(q.argmax()), 1.0, q.max())
        assert learner.estimates().tolist() == before
    assert added == pytest.approx(np.array([[0, 0, 0], costs]), abs=1e-15)


def test_while_every_epoch_has_one_greedy_round_regret_is_half_of_uniform() -> None:
    """Too large a class explores in every other round: against a policy it guesses, T / 2 of uniform's regret."""
    everything = np.array(list(product((0, 1), repeat=8)))  # 2 K log N > 22, and the first policy listed plays 0
    costs = np.tile([0.0, 1.0], (8, 1))
    rounds, regret = play(epochs(labelings=everything), 44, costs, 0, everything)
    assert [q.max() == 0.5 for *_, q in rounds] == [True, False] * 22
    assert regret == 44 / 2 * 0.5


@pytest.mark.parametrize("T", [1, 2, 10, 11, 100, 5000, 50_000])
def test_guarantee_is_twice_the_epochs(T: int) -> None:
    """The closed form is no less than 2 L(T), epochs counted one by one, and hardly more."""
    exact = 2 * sum(explores(T, UNIT))
    bound = epochs(T).guarantee() - np.sqrt(T * np.log(4) / 2)
    assert exact <= bound <= 1.4 * exact + 4


@pytest.mark.parametrize("T", [400, 2000, 20_000])
def test_guarantee_counts_the_epochs_that_fit_at_1_over_eps_rounds_each(T: int) -> None:
    """It is 2 (L + 1) for the L where the sum of 1 / eps_l reaches T, within an epoch, also for large 2 K log N."""
    unit = 4 * 8 * np.log(2)
    rounds = np.maximum(1.0, np.sqrt(np.arange(1, T) / unit)).cumsum()
    L = int((rounds <= T).sum())
    bound = epochs(T, list(product((0, 1), repeat=8))).guarantee() - np.sqrt(T * 8 * np.log(2) / 2)
    assert 2 * (min(L, T / 2) + 1) <= bound <= 2 * (min(L, T / 2) + 2.1)


def test_guarantee_has_the_constant_that_the_docstring_says() -> None:
    """To leading order 2 (3/2)^(2/3) 2^(1/3) = 3.30 T^(2/3) (K log N)^(1/3); none without a horizon."""
    T = 10**15
    constant = epochs(T).guarantee() / (T ** (2 / 3) * (2 * np.log(4)) ** (1 / 3))
    assert constant == pytest.approx(2 * 1.5 ** (2 / 3) * 2 ** (1 / 3), rel=0.01)
    assert epochs().guarantee() == np.inf


def test_regret_is_within_the_guarantee_on_iid_games() -> None:
    """Expected regret over seeded games is within a bound that uniform play would break."""
    T = 8000
    regrets = [play(epochs(T), T, GOOD, seed)[1] for seed in range(4)]
    assert np.mean(regrets) <= epochs(T).guarantee() < 0.4 * T


def test_a_class_of_one_policy_is_played() -> None:
    """One policy is followed in ever longer epochs, with a finite guarantee."""
    learner = epochs(1000, [[1, 0]])
    assert learner.guarantee() < np.inf
    rounds, _ = play(learner, 1000, GOOD[:2], 0, np.array([[1, 0]]))
    assert {int(q.argmax()) for row, _, _, q in rounds if q.max() == 1.0 and row == 0} == {1}
