"""How often intervals hold on logs of learners, for the one policy that was found on other rows.

    python scripts/checks/adaptive.py [--logs 500] [--rounds 1000] [--workers 1] [exp4] [epsilon_greedy]

Each log is played on four kinds of people, K = 2, by trees of depth 2, where the actions differ not at all, by little,
or by much. The policy is the best tree by the first half of the log, and is evaluated on the second. Prints in what
share of logs an interval of 95 % holds: today's, on inverse propensity scores and on self-normalised ones, and
"adaptive", and how wide that is beside the latter, by medians; ends with 1 where "adaptive" holds in fewer than 93 % or
more than 97 %.
"""

from __future__ import annotations

import argparse
import sys
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from typing import Any

import numpy as np

from milpcb import open_oracle
from milpcb.learners import EpsilonGreedy, Exp4
from milpcb.offline import evaluate, read_log, scores
from milpcb.rng import child, draw_action
from policies import DecisionTrees

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


def main() -> int:
    """Print a line for each learner and each difference of actions."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("learners", nargs="*", default=list(LEARNERS))
    parser.add_argument("--logs", type=int, default=500)
    parser.add_argument("--rounds", type=int, default=1_000)
    parser.add_argument("--workers", type=int, default=1)
    asked, good = parser.parse_args(), True
    print("learner          actions differ   ips    snips  adaptive  width, snips = 1")
    with ProcessPoolExecutor(asked.workers) as pool:
        for learner in asked.learners:
            for means in MEANS:
                one = partial(held, learner, means, asked.rounds)
                table = np.array(list((pool.map if asked.workers > 1 else map)(one, range(asked.logs))))
                ips, snips, adaptive = table[:, :3].mean(axis=0)
                usual, width = np.median(table[:, 3:], axis=0)
                good &= bool(0.93 <= adaptive <= 0.97)
                print(
                    f"{learner:16s} {means:15s} {ips:6.1%} {snips:6.1%} {adaptive:8.1%} {width / usual:9.2f}",
                    flush=True,
                )
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
