"""Costs of a guard for a learner that does well, and savings for one that does not.

Epsilon-greedy on planted costs and on its mirror, explore-then-commit on a late bloomer; K = 3, trees of depth 2 on 12
yes/no features. Reported are mean regret with and without the guard, with standard errors, how often the safe learner
went on, and the guarantee.
"""

from typing import Any

import numpy as np
import pytest

from milpcb import open_oracle
from milpcb.environments.mirror import Mirror
from milpcb.environments.planted import LateBloomer, Planted
from milpcb.learners import EpsilonGreedy, ExploreThenCommit, Guarded
from milpcb.rng import child
from policies import DecisionTrees
from tests.learners.rounds import one_round

K, FEATURES, ROUNDS, SHARE = 3, 12, 20_000, 0.2
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
        _, q = one_round(learner, row, costs, rng)
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


@pytest.mark.cases(1)
@pytest.mark.parametrize("kind", KINDS)
def test_a_guard_costs_little_or_saves_half(kind: str, runs: int, record_property: Any) -> None:
    """At most 5 % where the learner does well; and regret is never above the guarantee."""
    found = [both(kind, ROUNDS, SHARE, seed) for seed in range(runs)]
    alone, guarded, changed, most = np.array(found, dtype=float).T
    error = float((guarded - alone).std() / np.sqrt(runs))
    line = f"alone {alone.mean():.0f}, guarded {guarded.mean():.0f}, difference +- {error:.0f}"
    record_property("figure", f"{line}, changed {changed.mean():.0%}, guarantee {most.mean():.0f}")
    assert (guarded <= most).all()
    assert guarded.mean() <= (1.05 * alone.mean() + 2 * error if kind == "planted" else alone.mean() / 2)
