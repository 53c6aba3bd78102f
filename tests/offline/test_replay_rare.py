"""Replay where an action is rare: rounds that count have the law of rounds online whether or not it was logged."""

import numpy as np
import pytest

from milpcb.offline import LoggedRounds, read_log

RARE = np.array([0.05, 0.45, 0.5])


def logs(n_logs, n, propensity):
    """Yield logs of n rows in which action 0 is rare in half of them, and costs depend on that half."""
    for seed in range(n_logs):
        rng = np.random.default_rng(seed)
        half = rng.integers(0, 2, n)
        table = np.where(half[:, None] == 1, RARE, [0.3, 0.3, 0.4])
        action = (rng.random(n)[:, None] > table.cumsum(axis=1)).sum(axis=1)
        action[:3] = 0, 1, 2  # each is there
        given = table if propensity == "all" else table[np.arange(n), action]
        yield read_log(half[:, None].astype(float), action, cost=half.astype(float), propensity=given)


def test_the_mean_cost_is_the_one_online():
    """Half of the people cost 1 whatever is done, so every learner pays 0.5; by what was done only it was 0.4."""
    counted = []
    for log in logs(400, 24, "all"):
        rounds = LoggedRounds(log, seed=len(counted))
        for _ in range(24):
            rounds.context()
            counted.append(rounds.cost(2))
    costs = [cost for cost in counted if cost is not None]
    assert abs(np.mean(costs) - 0.5) <= 4 * 0.5 / np.sqrt(len(costs))


def test_of_two_actions_one_is_enough():
    """The other has the rest."""
    log = read_log([[0.0], [1.0]], [0, 1], cost=[0, 1], propensity=[0.9, 0.4])
    assert LoggedRounds(log).expected_rounds == pytest.approx(0.2)
