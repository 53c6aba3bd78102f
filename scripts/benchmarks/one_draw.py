"""One draw of the future beside fresh draws: queries, rule changes and CPU seconds of a run, and of a quiet round.

200 contexts, 12 binary features, K = 3, depth-2 trees, half noise, a planted tree. A run with fresh draws is measured
over a few rounds, K + 1 values or one minimiser each, and multiplied: at T = 1e6 a solver would take an hour and more.

    python scripts/benchmarks/one_draw.py [--horizons 10000 100000] [--oracles search highs] [--fresh 200] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path
from time import process_time
from typing import Any

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import numpy as np  # noqa: E402 - after the threads are set
from rich.console import Console  # noqa: E402 - see above
from rich.table import Table  # noqa: E402 - see above

from milpcb import FinitePool, open_oracle  # noqa: E402 - see above
from milpcb.environments.planted import Planted  # noqa: E402 - see above
from milpcb.learners import BistroPlus  # noqa: E402 - see above
from policies import DecisionTrees  # noqa: E402 - see above

QUIET = 20_000  # calls of act and learn
COLUMNS = ("queries", "rule changes", "regret", "guarantee", "seconds", "of oracle", "fresh argmin", "fresh K + 1")


class Run:
    """A run on a planted tree, with everything drawn beforehand."""

    def __init__(self, horizon: int, kind: str, seed: int) -> None:
        self.horizon = horizon
        trees, rng = DecisionTrees(n_actions=3, depth=2), np.random.default_rng(seed)
        stream = Planted().open(trees, horizon, seed)
        own = {"kind": kind} if kind in {"search", "enumeration"} else {"kind": "milp", "solver": kind}
        self.oracle = open_oracle(trees, stream.contexts, **own)
        self.reference = open_oracle(trees, stream.contexts, kind="search")
        for oracle in (self.oracle, self.reference):
            oracle.minimise(np.zeros((oracle.n_contexts, 3)))  # compiles or loads
        self.rows = [stream.reveal(t) for t in range(horizon)]
        self.costs = np.array([stream.costs(t) for t in range(horizon)])
        self.uniform = rng.random(horizon).tolist()
        self.seed = seed

    def learner(self, **options: Any) -> BistroPlus:
        """Return a learner with half noise."""
        pool = FinitePool(self.oracle.contexts)
        return BistroPlus(self.oracle, pool, horizon=self.horizon, noise="half", seed=self.seed, **options)

    def play(self, learner: BistroPlus, rounds: int) -> tuple[float, float]:
        """Return CPU seconds and regret of the first rounds."""
        costs, paid, start = self.costs.tolist(), 0.0, process_time()
        for t in range(rounds):
            row = self.rows[t]
            q = learner.act(row).tolist()
            action, left = 0, self.uniform[t] - q[0]
            while left > 0.0 and action < 2:
                action += 1
                left -= q[action]
            paid += costs[t][action]
            learner.learn(row, action, costs[t][action], q[action])
        seconds, totals = process_time() - start, np.zeros((self.oracle.n_contexts, 3))
        np.add.at(totals, self.rows[:rounds], self.costs[:rounds])
        return seconds, paid - self.reference.value(totals)


def measured(horizon: int, kind: str, fresh: int) -> dict[str, float]:
    """Return the figures of one run; of fresh draws seconds for the whole horizon."""
    run = Run(horizon, kind, 0)
    learner, before = run.learner(future="once"), run.oracle.seconds
    seconds, regret = run.play(learner, horizon)
    found = {"queries": learner.queries, "rule changes": learner.rule_changes or 0, "regret": regret}
    found |= {"guarantee": learner.guarantee(), "seconds": seconds, "of oracle": run.oracle.seconds - before}
    for name, queries in (("fresh argmin", "argmin"), ("fresh K + 1", "all")):
        found[name] = run.play(run.learner(queries=queries), fresh)[0] / fresh * horizon
    return found


def quiet() -> dict[str, float]:
    """Return microseconds of act and learn where nothing changes: at cost 0, and beside it a fresh draw by search."""
    run = Run(10**6, "search", 0)
    kept = run.learner(future="once", scale=1e6)  # hardly any noise
    run.costs[:] = 0.0
    run.play(kept, 100)
    kept, asked = run.learner(future="once", scale=1e6), run.learner(queries="argmin")
    return {
        "once": 1e6 / QUIET * run.play(kept, QUIET)[0],
        "fresh argmin": 1e6 / 1_000 * run.play(asked, 1_000)[0],
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--horizons", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--oracles", nargs="+", default=["search", "highs"])
    parser.add_argument("--fresh", type=int, default=200)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    table, found = Table("T", "oracle", *COLUMNS, title="half noise, one draw"), {}
    for horizon in options.horizons:
        for kind in options.oracles:
            row = found[f"{kind}, {horizon}"] = measured(horizon, kind, options.fresh)
            table.add_row(f"{horizon:,}", kind, *(f"{row[name]:,.4g}" for name in COLUMNS))
    found["a quiet round"] = quiet()
    console = Console()
    console.print(table)
    console.print("a quiet round, microseconds:", ", ".join(f"{k} {v:.3g}" for k, v in found["a quiet round"].items()))
    if options.json:
        options.json.write_text(json.dumps(found, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
