"""Time of a round through the public API, where the time goes, and whether it grows with the number of contexts.

BISTRO+: 200 contexts, 12 binary features, K = 3, depth-2 trees, T = 1e5. Learners that keep tables: 20 binary features,
T = 1e4, 200 contexts and 100 000 of them in turn, environment and loop included. Every figure is the least of several;
processes with the code of another checkout take turns with ours, so that ratios are of one run.

    python scripts/benchmarks/rounds.py [--against CHECKOUT] [--rounds 10000] [--repeats 5] [--json FILE]
"""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import bench
import numpy as np

from milpcb import FinitePool, learners, open_oracle
from milpcb.environments.planted import Planted
from milpcb.experiments.run.player import Tally, play
from policies import DecisionTrees

ROOT = Path(__file__).parents[2]
HORIZON = 100_000
ROUTES: dict[str, dict[str, Any]] = {
    "search, one profile": {"oracle": {"kind": "search"}, "queries": "profile"},
    "HiGHS, K + 1 values": {"oracle": {"kind": "milp", "solver": "highs"}, "queries": "all"},
}
SOLVED = 10  # times fewer rounds where a solver is asked
PLAYED, ALTERNATED = 10_000, 5
SIZES = (200, 100_000)
KEEPING = ("Exp4", "EpsilonGreedy", "ExploreThenCommit", "EpochGreedy")


class Timed:
    """Passes calls of one method on and adds up their seconds."""

    def __init__(self, owner: Any, method: str) -> None:
        self.seconds, self._call = 0.0, getattr(owner, method)
        setattr(owner, method, self)

    def __call__(self, *arguments: Any) -> Any:
        """Call, timed."""
        start = perf_counter()
        result = self._call(*arguments)
        self.seconds += perf_counter() - start
        return result


def bistro(route: str, rounds: int) -> dict[str, float]:
    """Return microseconds a round: in all, for the oracle, for the noise, for the rest of the learner."""
    options = ROUTES[route]
    trees = DecisionTrees(n_actions=3, depth=2)
    stream = Planted().open(trees, HORIZON, seed=0)
    oracle = open_oracle(trees, stream.contexts, **options["oracle"])
    learner = learners.BistroPlus(
        oracle, FinitePool(stream.contexts), horizon=HORIZON, seed=0, queries=options["queries"]
    )
    play(learner, stream, Tally(), 10, np.random.default_rng(0))  # compiles or loads what a round needs
    oracle.seconds, noise, tally = 0.0, Timed(learner, "_draw_totals"), Tally(10)
    rounds = rounds if options["queries"] == "profile" else rounds // SOLVED
    play(learner, stream, tally, 10 + rounds, np.random.default_rng(0))
    micro = 1e6 / rounds
    parts = {"oracle": oracle.seconds * micro, "noise": noise.seconds * micro}
    return {"round": tally.seconds * micro, **parts, "rest": tally.seconds * micro - sum(parts.values())}


def keeping(name: str) -> dict[str, float]:
    """Return microseconds a round, environment and loop included, for each number of contexts."""
    trees = DecisionTrees(n_actions=3, depth=2)
    streams = {m: Planted(n_contexts=m, n_features=20).open(trees, PLAYED, seed=0) for m in SIZES}
    oracles = {m: open_oracle(trees, stream.contexts, kind="search") for m, stream in streams.items()}
    seconds = dict.fromkeys(SIZES, np.inf)
    for _ in range(ALTERNATED):
        for m in SIZES:
            learner = getattr(learners, name)(oracles[m], horizon=PLAYED)
            start = process_time()
            play(learner, streams[m], Tally(), PLAYED, np.random.default_rng(0))
            seconds[m] = min(seconds[m], process_time() - start)
    return {str(m): seconds[m] * 1e6 / PLAYED for m in SIZES}


def measured(what: str, checkout: Path, rounds: int) -> dict[str, float]:
    """Return what a process of its own measures with the code of a checkout."""
    environ = os.environ | {"PYTHONPATH": str(checkout)}
    command = [sys.executable, __file__, "--measure", what, "--rounds", str(rounds)]
    done = subprocess.run(command, env=environ, capture_output=True, text=True, check=True)
    parts: dict[str, float] = json.loads(done.stdout)
    return parts


def least(what: str, checkouts: list[Path], rounds: int, repeats: int) -> list[dict[str, float]]:
    """Return the least of each figure for each of the checkouts, which take turns."""
    taken = [[measured(what, checkout, rounds) for checkout in checkouts] for _ in range(repeats)]
    return [{key: min(parts[key] for parts in of) for key in of[0]} for of in zip(*taken, strict=True)]


def beside(found: dict[str, list[dict[str, float]]]) -> list[bench.Row]:
    """Return the rows of a table: our figures, and those of the other checkout with ratios where there is one."""
    rows = []
    for name, (ours, *others) in found.items():
        first = next(iter(ours))
        old = {"before": others[0][first], "ratio": ours[first] / others[0][first]} if others else {}
        rows.append({"us a round": name, **ours, **old})
    return rows


def main() -> None:
    parser = bench.options(__doc__)
    parser.add_argument("--rounds", type=int, default=10_000)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--against", type=Path, help="another checkout of this project, to compare with")
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.measure:
        found = bistro(asked.measure, asked.rounds) if asked.measure in ROUTES else keeping(asked.measure)
        sys.stdout.write(json.dumps(found))
        return
    checkouts = [ROOT, *([asked.against] if asked.against else [])]
    played = {route: least(route, checkouts, asked.rounds, asked.repeats) for route in ROUTES}
    kept = {name: least(name, [ROOT], asked.rounds, asked.repeats) for name in KEEPING}
    for (found,) in kept.values():
        found["times"] = found[str(SIZES[1])] / found[str(SIZES[0])]
    bench.report({"BISTRO+": beside(played), "by the number of contexts": beside(kept)}, asked.json)


if __name__ == "__main__":
    main()
