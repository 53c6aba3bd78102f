"""Time of a round through the public API, where the time goes, and whether it grows with the number of contexts.

BISTRO+: 200 contexts, 12 binary features, K = 3, depth-2 trees, T = 1e5. Learners that keep tables: 20 binary features,
T = 1e4, 200 contexts and 100 000 of them in turn, environment and loop included. Every figure is the least of several;
``against.py CHECKOUT --scripts rounds`` has another version take turns with ours.

    python scripts/benchmarks/rounds.py [--rounds 10000] [--repeats 5] [--quick] [--json FILE]
"""

from collections.abc import Callable
from functools import cache
from time import perf_counter, process_time
from typing import Any

import bench
import numpy as np

from milpcb import FinitePool, learners, open_oracle
from milpcb.environments.planted import Planted
from milpcb.experiments.run.player import Tally, play
from policies import DecisionTrees

HORIZON = 100_000
ROUTES: dict[str, dict[str, Any]] = {
    "search, one profile": {"oracle": {"kind": "search"}, "queries": "profile"},
    "HiGHS, K + 1 values": {"oracle": {"kind": "milp", "solver": "highs"}, "queries": "all"},
}
SOLVED = 10  # times fewer rounds where a solver is asked
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


@cache
def streams(rounds: int) -> dict[int, tuple[Any, Any]]:
    """Return a stream and an oracle for each number of contexts."""
    trees = DecisionTrees(n_actions=3, depth=2)
    opened = {m: Planted(n_contexts=m, n_features=20).open(trees, rounds, seed=0) for m in SIZES}
    return {m: (stream, open_oracle(trees, stream.contexts, kind="search")) for m, stream in opened.items()}


def keeping(name: str, rounds: int) -> dict[str, float]:
    """Return microseconds a round, environment and loop included, for each number of contexts, which take turns."""
    found = {}
    for m, (stream, oracle) in streams(rounds).items():
        learner, start = getattr(learners, name)(oracle, horizon=rounds), process_time()
        play(learner, stream, Tally(), rounds, np.random.default_rng(0))
        found[str(m)] = (process_time() - start) * 1e6 / rounds
    return found


def least(measure: Callable[[str, int], dict[str, float]], what: str, rounds: int, repeats: int) -> bench.Row:
    """Return the least of each figure."""
    taken = [measure(what, rounds) for _ in range(repeats)]
    return {"us a round": what, **{key: min(parts[key] for parts in taken) for key in taken[0]}}


def main() -> None:
    parser = bench.options(__doc__, quick="nine tenths of the rounds")
    parser.add_argument("--rounds", type=int, default=10_000)
    parser.add_argument("--repeats", type=int, default=5)
    asked = parser.parse_args()
    rounds = asked.rounds // 10 if asked.quick else asked.rounds
    kept = [least(keeping, name, rounds, asked.repeats) for name in KEEPING]
    tables = {
        "BISTRO+": [least(bistro, route, rounds, asked.repeats) for route in ROUTES],
        "by the number of contexts": [row | {"times": row[str(SIZES[1])] / row[str(SIZES[0])]} for row in kept],
    }
    bench.report(tables, asked.json)


if __name__ == "__main__":
    main()
