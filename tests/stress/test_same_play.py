"""BISTRO+ with one draw of the future over the search and over solvers: every round is compared bit for bit."""

from typing import Any

import numpy as np
import pytest

from milpcb import FinitePool, open_oracle
from milpcb.environments.planted import Planted
from milpcb.learners import BistroPlus
from milpcb.rng import draw_action
from policies import DecisionTrees

WORLD = Planted(n_actions=2, n_contexts=32, n_features=5)
TREES = DecisionTrees(n_actions=2, depth=2)
SEED = 0


def with_one_draw(rounds: int, **kind: Any) -> list[list[float]]:
    """Return each q."""
    stream, coins = WORLD.open(TREES, rounds, seed=SEED), np.random.default_rng(SEED)
    oracle = open_oracle(TREES, stream.contexts, **kind)
    learner = BistroPlus(oracle, FinitePool(stream.contexts), horizon=rounds, seed=SEED, noise="half", future="once")
    played = []
    for t in range(rounds):
        row = stream.reveal(t)
        q = learner.act(row)
        action = draw_action(q, coins)
        learner.learn(row, action, float(stream.costs(t)[action]), float(q[action]))
        played.append(q.tolist())
    assert learner.rule_changes
    return played


@pytest.mark.cases(200)
@pytest.mark.parametrize("solver", ["highs", "scip", "scipy", "pulp:PULP_CBC_CMD"])
def test_one_draw_plays_alike_over_every_solver(solver: str, runs: int) -> None:
    """In every round, to the last bit: the leader of equal policies is the first in an order that is drawn."""
    assert with_one_draw(runs, kind="milp", solver=solver) == with_one_draw(runs, kind="search")
