"""Policies from logs, ours and those of other packages: what they are truly worth, time and memory.

    python scripts/benchmarks/policies_from_logs.py [--json FILE] [--quick]

A log has 10 standard normal features, of which one (x3) moves every reward alike, and 3 actions in random order,
each with probability 1/3. The action that a planted tree of depth 2 chooses (that of scale.py) earns 0.3 more; the
noise has standard deviation 1. ``true value`` is the mean over 50 000 fresh rows of what a policy earns of that 0.3.

Trees of depth 2, learnt

from scores   all packages get the same DR scores, those of milpcb.offline.scores: OptimalPolicyTree with 31 and with
              all cuts, and the peers of peers.py; ``learning`` is the time without the scores
from the log  with scores of their own: LoggedPolicyTree, and econml's DRPolicyTree, which knows that actions were
              randomised and else keeps its defaults

Every contender runs on one core in a process of its own, after a small log that compiles and imports; times are CPU
times, the least of the logs of that size, values are means over these logs. Packages that are not installed are named
and left out. policytree, a package of R, is not run: its published times are printed as what they are.
"""

import argparse
import json
from collections.abc import Callable
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from time import process_time
from typing import cast

import bench
import numpy as np
from peers import Chooses, econml, scikit_learn, streed
from scale import N_ACTIONS, best_actions, in_a_process, peak_memory

from milpcb.estimators import LoggedPolicyTree, OptimalPolicyTree
from milpcb.offline import read_log, scores
from milpcb.types import Floats, Ints

SEED = 0
FEATURES = 10
GAIN = 0.3
FRESH = 50_000
LOGS = {1000: 10, 10_000: 5, 100_000: 3}  # rows: how many logs
QUICK = 10_000
MOST = {"econml DRPolicyTree": 10_000}  # rows: with ten times as many it takes minutes a log
PUBLISHED = {10_000: 3 * 3600.0, 100_000: 50 * 3600.0}  # rows and seconds that policytree's authors give
PACKAGES = {"STreeD": "pystreed", "scikit-learn": "sklearn", "econml": "econml"}


def main() -> None:
    parser = bench.options(__doc__, quick="more than 10 000 rows")
    parser.add_argument("--one", nargs=2, metavar=("WHO", "ROWS"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        who, n = arguments.one
        print(json.dumps(measure(who, int(n))))
        return
    missing = [name for name, module in PACKAGES.items() if not find_spec(module)]
    if missing:
        print(f"left out, as they are not installed: {', '.join(missing)}")
    present = [who for who in (*FROM_SCORES, *FROM_LOGS) if not who.startswith(tuple(missing))]
    sizes = [n for n in LOGS if n <= QUICK or not arguments.quick]
    rows = [in_a_process(__file__, who, n) for n in sizes for who in present if n <= MOST.get(who, n)]
    title = f"Trees of depth 2 from logs with {FEATURES} features: true value of at most {GAIN}, CPU time, memory"
    bench.report({title: rows}, arguments.json)
    for n, seconds in PUBLISHED.items():
        print(f"policytree, as published (20 actions, 30 features, another machine): {n} rows, {seconds / 3600:.0f} h")


def measure(who: str, n: int) -> bench.Row:
    """Return what a contender takes, and what its policies are worth."""
    play(who, 500, SEED)
    plays = [play(who, n, seed) for seed in range(SEED, SEED + LOGS[n])]
    learning, everything, value = zip(*plays, strict=True)
    return {
        "contender": who,
        "rows": n,
        "true value": float(np.mean(value)),
        "least": min(value),
        "learning, s": min(learning) if who in FROM_SCORES else "",
        "with scores, s": min(everything),
        "peak memory, MB": peak_memory(),
    }


def play(who: str, n: int, seed: int) -> tuple[float, float, float]:
    """Return the seconds of learning, the seconds with the scores, and the true value of the policy of one log."""
    rng = np.random.default_rng(seed)
    contexts, action = rng.normal(size=(n, FEATURES)), rng.integers(N_ACTIONS, size=n)
    reward = contexts[:, 3] + GAIN * (action == best_actions(contexts)) + rng.normal(size=n)
    fresh = rng.normal(size=(FRESH, FEATURES))
    start = scored = process_time()
    if who in FROM_LOGS:
        chooses = FROM_LOGS[who](contexts, action, reward)
    else:
        table = scores(read_log(contexts, action, reward=reward, propensity="randomised")).table
        scored = process_time()
        chooses = FROM_SCORES[who](contexts, -table, 2)
    stop = process_time()
    return stop - scored, stop - start, GAIN * float(np.mean(chooses(fresh) == best_actions(fresh)))


def ours(thresholds: int | str, contexts: Floats, costs: Floats, depth: int) -> Chooses:
    tree = OptimalPolicyTree(max_depth=depth, thresholds=thresholds).fit(contexts, costs)
    return cast("Chooses", tree.predict)


def ours_from_logs(thresholds: int | str, contexts: Floats, action: Ints, reward: Floats) -> Chooses:
    """Return the optimal tree by a log, its scores among what is learnt."""
    tree = LoggedPolicyTree(max_depth=2, thresholds=thresholds)
    return cast("Chooses", tree.fit(contexts, action, reward=reward, propensity="randomised").predict)


def econml_from_logs(contexts: Floats, action: Ints, reward: Floats) -> Chooses:
    """Return econml's honest tree, its nuisance models chosen by econml, propensities by the shares of actions."""
    shares = import_module("sklearn.dummy").DummyClassifier()
    tree = import_module("econml.policy").DRPolicyTree(model_propensity=shares, max_depth=2, random_state=SEED)
    tree.fit(reward, action, X=contexts)
    return lambda rows: cast("Ints", tree.predict(rows).astype(int).ravel())


FROM_SCORES: dict[str, Callable[[Floats, Floats, int], Chooses]] = {
    "OptimalPolicyTree, all cuts": partial(ours, "all"),
    "OptimalPolicyTree, 31 cuts": partial(ours, 31),
    "STreeD, 31 cuts": partial(streed, cuts=31),
    "STreeD, 9 cuts": streed,
    "scikit-learn, weighted tree": scikit_learn,
    "econml PolicyTree": econml,
}
FROM_LOGS: dict[str, Callable[[Floats, Ints, Floats], Chooses]] = {
    "LoggedPolicyTree, all cuts": partial(ours_from_logs, "all"),
    "LoggedPolicyTree, 31 cuts": partial(ours_from_logs, 31),
    "econml DRPolicyTree": econml_from_logs,
}


if __name__ == "__main__":
    main()
