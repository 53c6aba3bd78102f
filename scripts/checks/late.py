"""What Exp4 pays where costs come late, beside its certificate and its guarantee (statement L1).

    python scripts/checks/late.py [--rounds 10000] [--seeds 3]

Planted costs, K = 3, trees of depth 2 on 12 yes/no features; delays of three laws, in rounds: always 100; geometric
with mean 100; 10 for nine tenths, and 1 000 for one. The fixed rate is made for T rounds and for what the delays add up
to. Beside it "certified", which knows neither, and has no such guarantee. Ends with 1 where mean regret is above the
guarantee, or a certificate above the bound of its run.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from collections.abc import Callable
from typing import Any

import numpy as np

from milpcb import open_oracle
from milpcb.environments.planted import Planted
from milpcb.learners import Exp4
from milpcb.rng import child, draw_action
from milpcb.types import Ints
from policies import DecisionTrees

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


def main() -> int:
    """Print a line for each law."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=10_000)
    parser.add_argument("--seeds", type=int, default=3)
    asked, good = parser.parse_args(), True
    T = asked.rounds
    print("delays          D          rate        regret  certificate   bound  guarantee")
    for law, draw in LAWS.items():
        found: dict[str, list[list[float]]] = {"fixed": [], "certified": []}
        for seed in range(asked.seeds):
            delays = np.minimum(draw(child(seed, "delays"), T), T - 1 - np.arange(T))
            stream = Planted().open(TREES, T, seed)
            oracle = open_oracle(TREES, np.asarray(stream.contexts), kind="search")
            D = float(delays.sum())
            for rate, own in found.items():
                late: dict[str, Any] = {"delays": D} if rate == "fixed" else {}
                learner = Exp4(oracle, horizon=T, rate=rate, **late)  # type: ignore[arg-type]
                regret = play(learner, stream, oracle, delays, seed)
                stated = learner.guarantee() if rate == "fixed" or not D else np.nan
                own.append([D, regret, learner.certificate(), learner.bound(), stated])
                good &= learner.certificate() <= learner.bound() + 1e-6
        for rate, own in found.items():
            D, regret, certificate, bound, stated = np.mean(own, axis=0)
            good &= not regret > stated
            numbers = f"{regret:7.0f} {certificate:12.0f} {bound:7.0f} {stated:10.0f}"
            print(f"{law:13s} {D:10.0f}  {rate:10s} {numbers}".replace("nan", "  -"), flush=True)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
