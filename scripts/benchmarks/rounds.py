"""What a round of BISTRO+ costs through the public API, and where the time goes.

200 contexts, 12 binary features, K = 3, depth-2 trees, T = 1e5. Run with one thread:

    python scripts/benchmarks/rounds.py [--rounds 100000] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path
from time import perf_counter
from typing import Any

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import numpy as np  # noqa: E402 - after the threads are set
from rich.console import Console  # noqa: E402
from rich.table import Table  # noqa: E402

from milpcb import FinitePool, open_oracle  # noqa: E402
from milpcb.environments.planted import Planted  # noqa: E402
from milpcb.experiments.run.loop import Tally, play  # noqa: E402
from milpcb.learners import BistroPlus  # noqa: E402
from policies import DecisionTrees  # noqa: E402

HORIZON = 100_000
ROUTES = {
    "search, one profile": {"oracle": {"kind": "search"}, "queries": "profile"},
    "HiGHS, K + 1 values": {"oracle": {"kind": "milp", "solver": "highs"}, "queries": "all"},
}


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


def measure(oracle: dict[str, str], queries: Any, rounds: int) -> dict[str, float]:
    """Return microseconds a round: in all, for the oracle, for the noise, for the rest of the learner."""
    trees = DecisionTrees(n_actions=3, depth=2)
    stream = Planted().open(trees, HORIZON, seed=0)
    opened = open_oracle(trees, stream.contexts, **oracle)
    opened.value(np.zeros((len(stream.contexts), 3)))  # compiles or loads what the first question needs
    opened.profile(np.zeros((len(stream.contexts), 3)), 0)
    opened.seconds = 0.0
    learner = BistroPlus(opened, FinitePool(stream.contexts), horizon=HORIZON, seed=0, queries=queries)
    noise = Timed(learner, "_draw_totals")
    tally = Tally()
    play(learner, stream, tally, rounds, np.random.default_rng(0))
    micro = 1e6 / rounds
    parts = {"oracle": opened.seconds * micro, "noise": noise.seconds * micro}
    return {"round": tally.seconds * micro, **parts, "rest": tally.seconds * micro - sum(parts.values())}


def main() -> None:
    """Measure both routes and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=HORIZON)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    results = {name: measure(rounds=arguments.rounds, **route) for name, route in ROUTES.items()}
    table = Table("route", "us a round", "oracle", "noise", "rest")
    for name, parts in results.items():
        table.add_row(name, *(f"{parts[key]:.1f}" for key in ("round", "oracle", "noise", "rest")))
    Console().print(table)
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
