"""How often intervals hold on logs of learners, for the one policy that was found on other rows.

Trees of depth 2 on four kinds of people, where two actions differ not at all, by little, or by much; the policy is the
best tree by the first half of the log, and is evaluated on the second.
"""

from functools import partial
from typing import Any

import numpy as np
import pytest

from milpcb import open_oracle
from milpcb.learners import EpsilonGreedy, Exp4
from milpcb.offline import evaluate, read_log, scores
from milpcb.rng import child, draw_action
from policies import DecisionTrees
from tests.stress.known_truths import least, most

ROUNDS = 1_000
PEOPLE = np.array([[i & 1, i >> 1] for i in range(4)], dtype=float)
TREES = DecisionTrees(2, depth=2, thresholds=[[0.5], [0.5]])
MEANS = {
    "not at all": np.full((4, 2), 0.5),
    "by little": np.array([[0.5, 0.45], [0.45, 0.5], [0.5, 0.45], [0.5, 0.5]]),
    "by much": np.array([[0.3, 0.6], [0.6, 0.3], [0.3, 0.6], [0.6, 0.3]]),
}
# By default epsilon-greedy explores so much in short logs that any interval holds
LEARNERS: dict[str, Any] = {"exp4": Exp4, "epsilon_greedy": partial(EpsilonGreedy, scale=0.5)}
KINDS = ("ips", "snips", "adaptive")


def held(learner: str, means: str, rounds: int, seed: int) -> list[float]:
    """Return whether each interval holds in one log, and the widths of the last two."""
    oracle, truth, rng = open_oracle(TREES, PEOPLE, kind="search"), MEANS[means], child(seed, "adaptive", means)
    player = LEARNERS[learner](oracle)
    rows, law, action, cost = rng.integers(4, size=rounds), np.empty((rounds, 2)), [], []
    for t, row in enumerate(rows.tolist()):
        law[t] = player.act(row)
        action.append(draw_action(law[t], rng))
        cost.append(float(rng.random() < truth[row, action[-1]]))
        player.learn(row, action[-1], cost[-1], float(law[t, action[-1]]))
    law /= law.sum(axis=1, keepdims=True)
    half = rounds // 2
    first, rest = np.arange(half), np.arange(half, rounds)
    log = read_log(PEOPLE[rows], action, cost=cost, propensity=law, actions=[0, 1])
    table = np.zeros((4, 2))
    np.add.at(table, rows[first], scores(log.take(first), method="ips", min_propensity=0.0).table)
    policy = oracle.minimise(table).policy
    worth = float(truth[np.arange(4), policy.predict(PEOPLE)].mean())
    found = []
    for kind in KINDS:
        made = scores(log.take(rest), method="snips" if kind == "snips" else "ips", min_propensity=0.0)
        found.append(evaluate(made, policy, interval="adaptive" if kind == "adaptive" else "normal").value)
    return [*(float(each.lower <= worth <= each.upper) for each in found), *(e.upper - e.lower for e in found[1:])]


@pytest.mark.cases(12)
@pytest.mark.parametrize("means", MEANS)
@pytest.mark.parametrize("learner", LEARNERS)
def test_adaptive_intervals_hold(learner: str, means: str, runs: int, record_property: Any) -> None:
    """In 95 of 100 logs, by two standard errors on either side."""
    table = np.array([held(learner, means, ROUNDS, seed) for seed in range(runs)])
    ips, snips, adaptive = table[:, :3].mean(axis=0)
    usual, width = np.median(table[:, 3:], axis=0)
    line = f"ips {ips:.1%}, snips {snips:.1%}, adaptive {adaptive:.1%}, {width / usual:.2f} times as wide as snips"
    record_property("figure", line)
    assert least(0.95, runs) <= adaptive <= most(0.95, runs)
