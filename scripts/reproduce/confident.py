"""Proofs of learners on one run with 95 % confidence: regret, both certificates and their growth, on "planted".

    python scripts/reproduce/confident.py [learner ...] [--rounds 10000 100000] [--runs 5]

Plays the environment "planted" (K = 3) with trees of depth 2 on its 12 features, and prints for each learner the means
over seeds of regret, of ``certificate()`` and of ``certificate(confidence=0.95)``, and the CPU time of a round; then
the slopes of regret and of the confident certificate on logarithmic axes, with 95 % intervals. The figures of
milpcb/theory/confidence.md.
"""

import argparse
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import study

from milpcb import FinitePool, open_oracle
from milpcb.environments.planted import Planted
from milpcb.experiments.results.curves import fit_slope
from milpcb.learners import BistroPlus, ContextualFTPL, EpsilonGreedy, Exp4
from milpcb.rng import child, draw_action
from policies import DecisionTrees

K = 3
LEARNERS: dict[str, Callable[[Any, int, int], Any]] = {  # of an oracle, a seed and a horizon
    "exp4, no horizon": lambda oracle, _seed, _T: Exp4(oracle),
    "exp4, optimistic": lambda oracle, _seed, T: Exp4(oracle, horizon=T, rate="certified", estimates="optimistic"),
    "exp4, optimistic, no horizon": lambda oracle, _seed, _T: Exp4(oracle, estimates="optimistic"),
    "epsilon-greedy": lambda oracle, _seed, T: EpsilonGreedy(oracle, horizon=T),
    "adaptive leader": lambda oracle, seed, _T: ContextualFTPL(
        oracle, seed=seed, epsilon="adaptive", noise_on="columns"
    ),
    "signed noise": lambda oracle, seed, T: BistroPlus(
        oracle, FinitePool(oracle.contexts), horizon=T, seed=seed, noise="signed", queries="profile"
    ),
}


class Played(NamedTuple):
    """Figures at the end of one run, and the microseconds of CPU time of a round of the learner's."""

    regret: float
    certificate: float
    confident: float
    microseconds: float


def play(name: str, rounds: int, seed: int) -> Played:
    trees = DecisionTrees(n_actions=K, depth=2)
    stream = Planted(n_actions=K).open(trees, rounds, seed)
    oracle = open_oracle(trees, stream.contexts, kind="search")
    learner, rng = LEARNERS[name](oracle, seed, rounds), child(seed, "coverage", "planted")
    totals, seconds = np.zeros((oracle.n_contexts, K)), 0.0
    for t in range(rounds):
        row, costs = stream.reveal(t), np.asarray(stream.costs(t), dtype=float)
        start = time.process_time()
        q = learner.act(row)
        action = draw_action(q, rng)
        learner.learn(row, action, float(costs[action]), float(q[action]))
        seconds += time.process_time() - start
        totals[row] += costs
    regret = learner.ledger.cost - oracle.value(totals)
    confident = learner.certificate(confidence=0.95)
    return Played(regret, learner.certificate(), confident, 1e6 * seconds / rounds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("learners", nargs="*", metavar="learner", help=f"of {', '.join(LEARNERS)}; all by default")
    parser.add_argument("--rounds", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--runs", type=int, default=5)
    arguments = parser.parse_args()
    if unknown := set(arguments.learners) - set(LEARNERS):
        parser.error(f"no learner '{min(unknown)}'; there are {', '.join(LEARNERS)}")
    with ProcessPoolExecutor() as pool:
        for name in arguments.learners or LEARNERS:
            runs = {T: list(pool.map(partial(play, name, T), range(arguments.runs))) for T in arguments.rounds}
            means = {T: np.mean(played, axis=0) for T, played in runs.items()}
            rows = [dict(zip(Played._fields, (f"{mean:,.0f}" for mean in own), strict=True)) for own in means.values()]
            study.show(name, [{"T": f"{T:,}", **row} for T, row in zip(means, rows, strict=True)])
            for field, what in {"regret": "regret", "confident": "confident certificate"}.items():
                growth = fit_slope({T: [getattr(run, field) for run in played] for T, played in runs.items()})
                print(f"slope of the {what}: {study.in_words(growth)}", flush=True)


if __name__ == "__main__":
    main()
