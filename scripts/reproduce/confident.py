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
    "adaptive leader": lambda oracle, seed, _T: leader(oracle, seed),
    "adaptive leader, optimistic": lambda oracle, seed, T: leader(oracle, seed, horizon=T, estimates="optimistic"),
    "signed noise": lambda oracle, seed, T: BistroPlus(
        oracle, FinitePool(oracle.contexts), horizon=T, seed=seed, noise="signed", queries="profile"
    ),
}


def leader(oracle: Any, seed: int, **options: Any) -> ContextualFTPL:
    return ContextualFTPL(oracle, seed=seed, epsilon="adaptive", noise_on="columns", **options)


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


def slope(runs: dict[int, list[Played]], field: str) -> str:
    fit = fit_slope({rounds: [getattr(run, field) for run in played] for rounds, played in runs.items()})
    return f"{fit.slope:.2f} ({fit.low:.2f} to {fit.high:.2f})" if fit.fitted else fit.note


def main() -> None:
    """Play all runs and print the means."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("learners", nargs="*", metavar="learner", help=f"of {', '.join(LEARNERS)}; all by default")
    parser.add_argument("--rounds", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--runs", type=int, default=5)
    arguments = parser.parse_args()
    unknown = set(arguments.learners) - set(LEARNERS)
    if unknown:
        parser.error(f"no learner '{min(unknown)}'; there are {', '.join(LEARNERS)}")
    print(f"{'learner':30s} {'T':>9s} {'regret':>8s} {'certificate':>12s} {'confident':>10s} {'us a round':>11s}")
    with ProcessPoolExecutor() as pool:
        for name in arguments.learners or LEARNERS:
            runs: dict[int, list[Played]] = {}
            for rounds in arguments.rounds:
                runs[rounds] = list(pool.map(partial(play, name, rounds), range(arguments.runs)))
                regret, certificate, confident, spent = np.mean(runs[rounds], axis=0)
                means = f"{regret:8,.0f} {certificate:12,.0f} {confident:10,.0f} {spent:11.0f}"
                print(f"{name:30s} {rounds:9,d} {means}", flush=True)
            print(f"slopes: regret {slope(runs, 'regret')}, confident certificate {slope(runs, 'confident')}")


if __name__ == "__main__":
    main()
