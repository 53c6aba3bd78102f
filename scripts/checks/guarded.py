"""What a guard costs a learner that does well, and what it saves one that does not.

    python scripts/checks/guarded.py [planted] [mirror] [late] [--runs 100] [--rounds 20000] [--workers 1] [--share 0.2]

Epsilon-greedy on planted costs and on its mirror, explore-then-commit on a late bloomer; K = 3, trees of depth 2 on 12
yes/no features. Prints mean regret with and without the guard, with standard errors, how often the safe learner went
on, and how often regret was above the guarantee; ends with 1 where the guard costs more than 5 % (and two standard
errors) on planted costs, regret is above the guarantee in any run, or a guard saves less than half elsewhere.
"""

from __future__ import annotations

import argparse
import sys
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from typing import Any

import numpy as np

from milpcb import open_oracle
from milpcb.environments.late_bloomer import LateBloomer
from milpcb.environments.mirror import Mirror
from milpcb.environments.planted import Planted
from milpcb.learners import EpsilonGreedy, ExploreThenCommit, Guarded
from milpcb.rng import child, draw_action
from policies import DecisionTrees

K, FEATURES = 3, 12
TREES = DecisionTrees(K, depth=2, thresholds=[[0.5]] * FEATURES)
KINDS: dict[str, tuple[Any, Any]] = {
    "planted": (Planted(), EpsilonGreedy),
    "mirror": (Mirror(copies=2), EpsilonGreedy),
    "late": (LateBloomer(), ExploreThenCommit),
}


def regret(learner: Any, stream: Any, oracle: Any, rounds: int, seed: int) -> float:
    """Return the mean regret of a run, over the coins of its actions."""
    rng, paid, totals = child(seed, "guarded"), 0.0, np.zeros((oracle.n_contexts, K))
    for t in range(rounds):
        row, costs = int(stream.reveal(t)), np.asarray(stream.costs(t), dtype=float)
        q = learner.act(row)
        action = draw_action(q, rng)
        learner.learn(row, action, float(costs[action]), float(q[action]))
        paid += float(q @ costs)
        totals[row] += costs
    return paid - float(oracle.value(totals))


def both(kind: str, rounds: int, share: float, seed: int) -> tuple[float, float, bool, float]:
    """Return regret without and with a guard, whether the safe learner went on, and the guarantee."""
    environment, inner = KINDS[kind]
    stream = environment.open(TREES, rounds, seed)
    oracle = open_oracle(TREES, np.asarray(stream.contexts), kind="search")
    alone = regret(inner(oracle, horizon=rounds), stream, oracle, rounds, seed)
    learner = Guarded(oracle, horizon=rounds, inner=inner(oracle, horizon=rounds), share=share, seed=seed)
    guarded = regret(learner, stream, oracle, rounds, seed)
    return alone, guarded, learner.changed is not None, learner.guarantee()


def main() -> int:
    """Run the kinds of costs that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kinds", nargs="*", default=list(KINDS))
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=20_000)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--share", type=float, default=0.2)
    asked = parser.parse_args()
    good = True
    with ProcessPoolExecutor(asked.workers) as pool:
        for kind in asked.kinds:
            play = partial(both, kind, asked.rounds, asked.share)
            found = list((pool.map if asked.workers > 1 else map)(play, range(asked.runs)))
            alone, guarded, changed, most = np.array(found, dtype=float).T
            error = (guarded - alone).std() / np.sqrt(asked.runs)
            above = int((guarded > most).sum())
            print(
                f"{kind:8s} alone {alone.mean():7.0f}, guarded {guarded.mean():6.0f} (difference +- {error:.0f}), "
                f"changed in {changed.mean():.0%}, above the guarantee of {most.mean():.0f} in {above} of {asked.runs}",
                flush=True,
            )
            wanted = 1.05 * alone.mean() + 2 * error if kind == "planted" else alone.mean() / 2
            good &= bool(not above and guarded.mean() <= wanted)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
