"""What a query costs for linear rules: support tables, branch and bound, big-M rows, and cuts on the label polytope.

    python scripts/benchmarks/linear.py [--queries 20] [--json FILE]

Costs: integers, cheap where a planted rule is right, some labels flipped, drawn afresh for every query.
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
from rich.console import Console  # noqa: E402 - see above
from rich.table import Table  # noqa: E402 - see above

from milpcb import open_oracle  # noqa: E402 - see above
from policies import LinearRules  # noqa: E402 - see above

SPARSE = LinearRules(2, max_features=3)
REAL = LinearRules(2, max_weight=None)
# route, class, oracle kind, contexts, features, share of flipped labels
CASES = [
    ("support tables, 3 weights", SPARSE, "search", 200, 10, 0.1),
    ("support tables, 3 weights", SPARSE, "search", 1000, 10, 0.1),
    ("support tables, 3 weights", SPARSE, "search", 1000, 20, 0.1),
    ("table rows as a program, HiGHS", SPARSE, "milp", 200, 10, 0.1),
    ("branch and bound, all weights", LinearRules(2), "search", 1000, 10, 0.1),
    ("big-M rows, all weights, HiGHS", LinearRules(2), "milp", 32, 5, 0.1),
    ("cuts, real weights, HiGHS", REAL, "milp", 64, 10, 0.03),
    ("cuts, real weights, HiGHS", REAL, "milp", 64, 10, 0.05),
    ("cuts, real weights, HiGHS", REAL, "milp", 64, 10, 0.1),
]


def measure(rules: LinearRules, kind: str, m: int, d: int, flipped: float, queries: int) -> dict[str, float]:
    """Return milliseconds: the first query with all it builds or compiles, the median and worst of the later ones."""
    rng = np.random.default_rng(0)
    contexts = rng.integers(0, 2, (m, d)).astype(float)
    scores = contexts @ rng.normal(size=d)
    planted = (scores >= np.median(scores)).astype(int)
    oracle = open_oracle(rules, contexts, kind=kind)
    times = []
    for _ in range(queries + 1):
        labels = np.where(rng.random(m) < flipped, 1 - planted, planted)
        costs = np.where(np.eye(2)[labels] == 1, -1.0, 1.0) * rng.integers(1, 4, (m, 1))
        start = perf_counter()
        oracle.value(costs)
        times.append(1e3 * (perf_counter() - start))
    return {"first": times[0], "median": float(np.median(times[1:])), "worst": max(times[1:])}


def main() -> None:
    """Measure every case and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--queries", type=int, default=20)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    table = Table("route", "contexts", "features", "flipped", "first ms", "median ms", "worst ms")
    results: list[dict[str, Any]] = []
    for route, rules, kind, m, d, flipped in CASES:
        found = measure(rules, kind, m, d, flipped, arguments.queries)
        results.append({"route": route, "contexts": m, "features": d, "flipped": flipped, **found})
        table.add_row(route, str(m), str(d), f"{flipped:g}", *(f"{found[k]:.3g}" for k in ("first", "median", "worst")))
    Console().print(table)
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
