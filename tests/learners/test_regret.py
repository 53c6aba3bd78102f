"""Regret of learners that state a guarantee is below it, on costs of one law and, where it is for all costs, on others.

Each guarantee is below the regret of uniform play on costs of one law, and the learner has less than half of that.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from milpcb import FinitePool, learners

from .rounds import LABELINGS, listed, one_round

T, POOL = 8000, FinitePool(np.arange(4.0)[:, None])
OF_ONE_LAW: dict[str, Callable[[Any], Any]] = {
    "epsilon_greedy": lambda oracle: learners.EpsilonGreedy(oracle, horizon=T),
    "epoch_greedy": lambda oracle: learners.EpochGreedy(oracle, horizon=T),
    "explore_then_commit": lambda oracle: learners.ExploreThenCommit(oracle, horizon=T),
}
MADE = OF_ONE_LAW | {
    "bistro_plus": lambda oracle: learners.BistroPlus(oracle, POOL, horizon=T, seed=1, queries="profile"),
    "signed": lambda oracle: learners.BistroPlus(oracle, POOL, horizon=T, queries="profile", noise="signed"),
    "doubling": lambda oracle: learners.Doubling(oracle, POOL, horizon=T, inner="exp4"),
    "exp4": lambda oracle: learners.Exp4(oracle, horizon=T),
    "certified": lambda oracle: learners.Exp4(oracle, horizon=T, rate="certified", estimates="optimistic"),
    "exp4p": lambda oracle: learners.Exp4P(oracle, horizon=T),
    "fixed_share": lambda oracle: learners.FixedShare(oracle, horizon=T),
    "ftpl": lambda oracle: learners.ContextualFTPL(oracle, horizon=T),
    "separator": lambda oracle: learners.ContextualFTPL(oracle, horizon=T, separator=[0, 1, 3]),
    "adaptive": lambda oracle: learners.ContextualFTPL(oracle, horizon=T, epsilon="adaptive"),
    "hedge": lambda oracle: learners.Hedge(oracle, horizon=T),
}
GAMES = [*((name, 0) for name in MADE), *((name, T // 6) for name in MADE if name not in OF_ONE_LAW)]


@pytest.mark.parametrize(("name", "switch"), GAMES)
def test_regret_is_below_the_guarantee(name: str, switch: int) -> None:
    """Of the mean over the coins of actions; until the switch the other action is right."""
    oracle, rng = listed(LABELINGS, 2), np.random.default_rng(0)
    learner, paid, totals = MADE[name](oracle), 0.0, np.zeros((4, 2))
    for t in range(T):
        row = int(rng.integers(4))
        costs = (rng.random() < np.where(np.arange(2) == (row + (t < switch)) % 2, 0.1, 0.9)).astype(float)
        _, q = one_round(learner, row, costs, rng)
        if learner.full_information:
            learner.learn_all(row, costs)
        paid += float(q @ costs)
        totals[row] += costs
    regret = paid - oracle.value(totals)
    assert regret <= learner.guarantee() < 0.4 * T
    assert switch or regret < 0.2 * T
