"""How often regret exceeds the certificate with confidence, at any of 40 moments of a run.

    python scripts/checks/confidence.py [learner ...] [--runs 1000] [--rounds 1000] [--confidence 0.95]
    python scripts/checks/confidence.py [learner ...] --planted 10000 --runs 5

Costs of four kinds: of one law; reacting, where the action that was likeliest on this context when it was last shown
pays most; vanishing, where an action that was unlikely then costs nothing; and mirror, costs written down beforehand to
the harm of epsilon-greedy. Costs know all rounds before, and nothing of the action of their own round.

Prints, for each learner and kind, in how many runs regret was ever above its certificate, and the means at the end;
ends with 1 where that is more often than one minus the confidence by two standard errors.

With --planted, plays that many rounds of the environment "planted" instead, with trees of depth 2 on its 12 features,
and prints the means of regret and of both certificates, and the microseconds of a round: the figures of
milpcb/theory/confidence.md.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import cache, partial
from typing import Any

import numpy as np

from milpcb import FinitePool, open_oracle
from milpcb.environments.mirror import Mirror
from milpcb.environments.planted import Planted
from milpcb.learners import BistroPlus, ContextualFTPL, EpsilonGreedy, Exp4
from milpcb.rng import child, draw_action
from policies import DecisionTrees

K, FEATURES, CONTEXTS, MOMENTS = 3, 6, 64, 40
TREES = DecisionTrees(n_actions=K, depth=1, thresholds=[[0.5]] * FEATURES)

LEARNERS: dict[str, Callable[[Any, int, int], Any]] = {
    "exp4": lambda oracle, _seed, _T: Exp4(oracle),
    "exp4, optimistic": lambda oracle, _seed, T: Exp4(oracle, horizon=T, rate="certified", estimates="optimistic"),
    "exp4, optimistic, no horizon": lambda oracle, _seed, _T: Exp4(oracle, estimates="optimistic"),
    "epsilon-greedy": lambda oracle, _seed, T: EpsilonGreedy(oracle, horizon=T),
    "adaptive leader": lambda oracle, seed, _T: ContextualFTPL(oracle, seed=seed, epsilon="adaptive", noise="columns"),
    "signed noise": lambda oracle, seed, T: BistroPlus(
        oracle, FinitePool(oracle.contexts), horizon=T, seed=seed, noise="signed", queries="profile"
    ),
}

Costs = Callable[[int, int, Any], Any]  # of a round, its row and the last q (K,) there: costs (K,)


def one_law(contexts: Any, rng: Any) -> Costs:
    """Return costs that are least where a tree of depth 1 is followed."""
    right = np.where(contexts[:, 0] > 0.5, 1, 2)
    return lambda _t, row, _q: (rng.random(K) < np.where(np.arange(K) == right[row], 0.3, 0.6)).astype(float)


def reacting(_contexts: Any, rng: Any) -> Costs:
    """Return costs of which the action that was likeliest has the highest."""
    return lambda _t, _row, q: (rng.random(K) < np.where(np.arange(K) == q.argmax(), 0.8, 0.3)).astype(float)


def vanishing(_contexts: Any, rng: Any) -> Costs:
    """Return costs that are nothing where an action was unlikely."""
    return lambda _t, _row, q: (rng.random(K) < np.where(q < 0.2, 0.0, 0.5)).astype(float)


DRAWN = {"one law": one_law, "reacting": reacting, "vanishing": vanishing}
KINDS = (*DRAWN, "mirror")


@cache
def mirrored(seed: int, rounds: int) -> tuple[Any, Any, Any]:
    """Return contexts, rows and costs (T, K) that were fixed beforehand."""
    stream = Mirror(copies=2, n_actions=K, n_contexts=CONTEXTS, n_features=FEATURES).open(TREES, rounds, seed)
    return (
        np.asarray(stream.contexts),
        [stream.reveal(t) for t in range(rounds)],
        np.array([stream.costs(t) for t in range(rounds)], dtype=float),
    )


def world(kind: str, rounds: int, seed: int, rng: Any) -> tuple[Any, Any, Costs]:
    """Return contexts, the row of each round, and costs."""
    if kind == "mirror":
        contexts, rows, costs = mirrored(seed % 20, rounds)
        return contexts, rows, lambda t, _row, _q: costs[t]
    contexts = child(0, "contexts").integers(0, 2, (CONTEXTS, FEATURES)).astype(float)
    return contexts, rng.integers(CONTEXTS, size=rounds).tolist(), DRAWN[kind](contexts, rng)


def run(name: str, kind: str, rounds: int, confidence: float, seed: int) -> tuple[bool, float, float]:
    """Play once; return whether regret was ever above its certificate, and both at the end."""
    rng = child(seed, "coverage", kind)
    contexts, rows, costs = world(kind, rounds, seed, rng)
    oracle = open_oracle(TREES, contexts, kind="search")
    learner = LEARNERS[name](oracle, seed, rounds)
    totals, paid, above = np.zeros((CONTEXTS, K)), 0.0, False
    last = np.full((CONTEXTS, K), 1 / K)
    for t, row in enumerate(rows):
        shown = costs(t, row, last[row])
        last[row] = q = learner.act(row)
        action = int(rng.choice(K, p=q / q.sum()))
        learner.learn(row, action, float(shown[action]), float(q[action]))
        totals[row] += shown
        paid += shown[action]
        if (t + 1) % max(1, rounds // MOMENTS) == 0:
            above |= paid - oracle.value(totals) > learner.certificate(confidence=confidence)
    return bool(above), paid - oracle.value(totals), learner.certificate(confidence=confidence)


def planted(name: str, rounds: int, confidence: float, seed: int) -> tuple[float, float, float, float]:
    """Play "planted" once; return regret, certificate, the one with confidence, and microseconds of a round."""
    trees = DecisionTrees(n_actions=K, depth=2)
    stream = Planted(n_actions=K).open(trees, rounds, seed)
    oracle = open_oracle(trees, stream.contexts, kind="search")
    learner, rng = LEARNERS[name](oracle, seed, rounds), child(seed, "coverage", "planted")
    totals, paid, seconds = np.zeros((oracle.n_contexts, K)), 0.0, 0.0
    for t in range(rounds):
        row, costs = stream.reveal(t), np.asarray(stream.costs(t), dtype=float)
        start = time.perf_counter()
        q = learner.act(row)
        action = draw_action(q, rng)
        learner.learn(row, action, float(costs[action]), float(q[action]))
        seconds += time.perf_counter() - start
        totals[row] += costs
        paid += costs[action]
    regret = paid - oracle.value(totals)
    return regret, learner.certificate(), learner.certificate(confidence=confidence), 1e6 * seconds / rounds


def print_planted(arguments: argparse.Namespace) -> None:
    """Print the means of each learner."""
    print(f"{'learner':30s} {'regret':>8s} {'certificate':>12s} {'confident':>10s} {'us a round':>11s}")
    for name in arguments.learners or LEARNERS:
        found = [planted(name, arguments.planted, arguments.confidence, seed) for seed in range(arguments.runs)]
        regret, certificate, confident, round_time = np.mean(found, axis=0)
        print(f"{name:30s} {regret:8.0f} {certificate:12.0f} {confident:10.0f} {round_time:11.0f}", flush=True)


def cells(arguments: argparse.Namespace) -> Iterator[tuple[str, str]]:
    """Yield each learner with each kind of costs."""
    for name in arguments.learners or LEARNERS:
        for kind in KINDS:
            yield name, kind


def main() -> int:
    """Play all runs, print a line for each learner and kind of costs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("learners", nargs="*", metavar="learner", help=f"of {', '.join(LEARNERS)}; all by default")
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=1000)
    parser.add_argument("--confidence", type=float, default=0.95)
    parser.add_argument("--planted", type=int, metavar="T")
    arguments = parser.parse_args()
    unknown = set(arguments.learners) - set(LEARNERS)
    if unknown:
        parser.error(f"no learner '{min(unknown)}'; there are {', '.join(LEARNERS)}")
    if arguments.planted:
        print_planted(arguments)
        return 0
    delta, failed = 1 - arguments.confidence, False
    most = delta + 2 * np.sqrt(delta * (1 - delta) / arguments.runs)
    print(f"{'learner':30s} {'costs':10s} {'above':>12s} {'regret':>8s} {'certificate':>12s}")
    with ProcessPoolExecutor() as pool:
        for name, kind in cells(arguments):
            play = partial(run, name, kind, arguments.rounds, arguments.confidence)
            above, regret, certificate = zip(*pool.map(play, range(arguments.runs), chunksize=10), strict=True)
            bad = bool(np.mean(above) > most)
            failed |= bad
            counted = f"{sum(above)} of {arguments.runs}"
            means = f"{np.mean(regret):8.0f} {np.mean(certificate):12.0f}"
            print(f"{name:30s} {kind:10s} {counted:>12s} {means}{'   TOO OFTEN' * bad}", flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
