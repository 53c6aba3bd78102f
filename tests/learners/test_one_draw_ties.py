"""Of equally cheap policies: a program that branches follows any, and asks nothing about them."""

import numpy as np

from milpcb import FinitePool, open_oracle
from milpcb.learners import BistroPlus
from policies import DecisionTrees, Halfspaces


def test_a_program_that_branches_is_not_asked_about_ties() -> None:
    """Its leader is a cheapest policy all the same; a tree's program is asked about them."""
    rng, horizon = np.random.default_rng(0), 40
    contexts = rng.integers(0, 4, (8, 3)).astype(float)
    ties = []
    for policies in (Halfspaces(), DecisionTrees(2, depth=2)):
        oracle = open_oracle(policies, contexts, kind="milp")
        learner = BistroPlus(oracle, FinitePool(contexts), horizon=horizon, noise="half", scale=6.0, future="once")
        for t in range(horizon):
            row = int(rng.integers(8))
            q = learner.act(row)
            table = learner.totals()
            actions = learner.rule().policy.predict(contexts)
            assert table[np.arange(8), actions].sum() == oracle.value(table)
            learner.learn(row, t % 2, float(rng.random() < 0.5), float(q[t % 2]))
        assert learner.one_draw is not None
        assert learner.one_draw.queries - learner.one_draw.ties <= 1 + learner.one_draw.harms
        ties.append(learner.one_draw.ties)
    assert ties[0] == 0 < ties[1]
