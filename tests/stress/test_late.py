"""Regret of Exp4 where costs come late, beside its certificate and its guarantee (statement L1).

Planted costs, K = 3, trees of depth 2 on 12 yes/no features; delays of three laws, in rounds: always 100; geometric
with mean 100; 10 for nine tenths, and 1 000 for one. The fixed rate is made for T rounds and for what the delays add up
to. Beside it "certified", which knows neither, and has no such guarantee.
"""

from collections import defaultdict
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from milpcb import open_oracle
from milpcb.environments.planted import Planted
from milpcb.learners import Exp4
from milpcb.rng import child, draw_action
from milpcb.types import Ints
from policies import DecisionTrees

ROUNDS, FEW = 10_000, 2_000  # a few rounds where there is one run
TREES = DecisionTrees(3, depth=2, thresholds=[[0.5]] * 12)
LAWS: dict[str, Callable[[np.random.Generator, int], Ints]] = {
    "none": lambda _rng, n: np.zeros(n, dtype=np.int64),
    "always 100": lambda _rng, n: np.full(n, 100),
    "geometric": lambda rng, n: rng.geometric(1 / 101, size=n) - 1,
    "10, or 1 000": lambda rng, n: np.where(rng.random(n) < 0.1, 1_000, 10),
}


def play(learner: Exp4, stream: Any, oracle: Any, delays: Ints, seed: int) -> float:
    """Return the mean regret of a run, over the coins of its actions; what is left comes in at the end."""
    rng, paid, totals = child(seed, "late"), 0.0, np.zeros((oracle.n_contexts, 3))
    due: dict[int, list[Any]] = defaultdict(list)
    for t, delay in enumerate(delays.tolist()):
        row, costs = int(stream.reveal(t)), np.asarray(stream.costs(t), dtype=float)
        q = learner.act(row)
        action = draw_action(q, rng)
        due[min(t + delay, len(delays) - 1)].append((learner.set_aside(), action, float(costs[action])))
        for aside, played, cost in due.pop(t, ()):
            learner.take_up(aside)
            learner.learn(aside.row, played, cost, aside.q[played])
        paid += float(q @ costs)
        totals[row] += costs
    return paid - float(oracle.value(totals))


@pytest.mark.cases(1)
@pytest.mark.parametrize("rate", ["fixed", "certified"])
@pytest.mark.parametrize("law", LAWS)
def test_regret_stays_below_the_guarantee(law: str, rate: Any, runs: int, record_property: Any) -> None:
    """On average; and each certificate below the bound of its run."""
    found, rounds = [], ROUNDS if runs > 1 else FEW
    for seed in range(runs):
        delays = np.minimum(LAWS[law](child(seed, "delays"), rounds), rounds - 1 - np.arange(rounds))
        stream = Planted().open(TREES, rounds, seed)
        oracle = open_oracle(TREES, np.asarray(stream.contexts), kind="search")
        late = {"delays": float(delays.sum())} if rate == "fixed" else {}
        learner = Exp4(oracle, horizon=rounds, rate=rate, **late)
        regret = play(learner, stream, oracle, delays, seed)
        stated = learner.guarantee() if rate == "fixed" or law == "none" else np.inf
        found.append([regret, learner.certificate(), learner.bound(), stated])
    assert all(certificate <= bound + 1e-6 for _, certificate, bound, _ in found)
    regret, certificate, bound, stated = np.mean(found, axis=0)
    line = f"regret {regret:.0f}, certificate {certificate:.0f}, bound {bound:.0f}, guarantee {stated:.0f}"
    record_property("figure", line)
    assert regret <= stated
