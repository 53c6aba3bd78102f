"""Time of a query for linear rules: support tables, branch and bound, big-M rows, and cutting planes.

    python scripts/benchmarks/linear.py [--queries 20] [--quick] [--json FILE] [--fasterrisk PYTHON]

Features are 0 or 1. Costs: integers, cheap where a planted rule is right, some labels flipped (half of them: noise),
drawn afresh for every query. Times are CPU seconds of one core. Beside queries from a table of costs are those
from totals that are kept, where each query follows one more cost; both hold the same costs, and must answer alike.

Where FasterRisk is installed (for the Python of --fasterrisk: 0.1.10 does not run with numpy 2.3) it learns scoring
systems from the same rows, with as many features and weights of the same size. It minimises the logistic loss and not
the number of mistakes, so its mistakes are counted twice: where its score is positive, as it means it, and from the
best cut of its score on. The best of all its systems, some 50, counts.
"""

import json
import subprocess
import sys
from time import process_time
from typing import Any

import bench
import numpy as np

from milpcb import open_oracle
from policies import Halfspaces, LinearRules

REAL = Halfspaces()
# route, class, oracle kind, contexts, features, share of flipped labels
TABLES = [
    (f"support tables, {limit} weights", LinearRules(2, max_features=limit), "search", 1000, d, flipped)
    for limit, d in ((3, 10), (3, 20), (4, 20), (5, 10), (5, 20), (5, 30), (4, 50))
    for flipped in (0.1, 0.5)
]
CASES = [
    *TABLES,
    ("three actions, 3 weights", LinearRules(3, max_features=3), "search", 1000, 20, 0.1),
    ("table rows as a program, HiGHS", LinearRules(2, max_features=3), "milp", 200, 10, 0.1),
    ("branch and bound, all weights", LinearRules(2), "search", 1000, 10, 0.1),
    ("big-M rows, all weights, HiGHS", LinearRules(2), "milp", 32, 5, 0.1),
    ("cuts, real weights, HiGHS", REAL, "milp", 64, 10, 0.03),
    ("cuts, real weights, HiGHS", REAL, "milp", 64, 10, 0.05),
    ("cuts, real weights, HiGHS", REAL, "milp", 64, 10, 0.1),
]
BESIDE = [(limit, 20, flipped) for limit in (3, 5) for flipped in (0.1, 0.3)]  # features with a weight, of, flipped


def measure(
    rules: LinearRules | Halfspaces, kind: str, m: int, d: int, flipped: float, queries: int
) -> dict[str, float]:
    """Return milliseconds: opening with the first query, median and worst of later ones, kept totals, Exp4's sums.

    What is not there, such as sums that take too long, is left out.
    """
    rng = np.random.default_rng(0)
    contexts = rng.integers(0, 2, (m, d)).astype(float)
    scores = contexts @ np.where(np.arange(d) < (getattr(rules, "max_features", None) or d), rng.normal(size=d), 0.0)
    planted = (scores[:, None] >= np.quantile(scores, np.arange(1, rules.n_actions) / rules.n_actions)).sum(axis=1)
    every = []
    for _ in range(queries + 1):
        labels = np.where(rng.random(m) < flipped, rules.n_actions - 1 - planted, planted)
        every.append(np.where(np.eye(rules.n_actions)[labels] == 1, -1.0, 1.0) * rng.integers(1, 4, (m, 1)))
    start = process_time()
    oracle = open_oracle(rules, contexts, kind=kind)
    oracle.value(every[0])
    opening = 1e3 * (process_time() - start)
    times = [1e3 * bench.timed(oracle.value, costs)[0] for costs in every]
    found = {"opening": opening, "median": float(np.median(times)), "worst": max(times)}
    if kind == "search" and "columns" in oracle.capabilities:
        found["kept"] = _kept(oracle, every[-1], queries)
    if "action_weights" in oracle.capabilities:
        found["weights"] = 1e3 * bench.timed(oracle.action_weights, every[-1], 0, 0.01, turns=2)[0]
    return found


def _kept(oracle: Any, costs: Any, queries: int) -> float:
    """Return the milliseconds of a profile of totals that are kept, with the addition before it: the median."""
    table, rng, times = oracle.table("columns"), np.random.default_rng(1), []
    rows, actions = np.indices(costs.shape)
    table.add_all(rows.ravel().tolist(), actions.ravel().tolist(), costs.ravel().tolist())
    for row in rng.integers(len(costs), size=queries).tolist():
        table.profile(row)  # the place of the context is found
        start = process_time()
        table.add(row, 0, 1.0)
        profile = table.profile(row)
        times.append(1e3 * (process_time() - start))
        costs[row, 0] += 1.0
        if (profile != oracle.profile(costs, row)).any():
            raise SystemExit(f"kept totals answer {profile}, costs {oracle.profile(costs, row)}")
    return float(np.median(times))


# Run by the Python that has FasterRisk: reads contexts and labels, writes weights, bases, CPU seconds and its version.
FASTERRISK = """
import importlib.metadata, json, sys, time
import numpy as np
from fasterrisk.fasterrisk import RiskScoreOptimizer
asked = json.load(sys.stdin)
model = RiskScoreOptimizer(np.array(asked["contexts"]), np.array(asked["labels"]), k=asked["limit"], lb=-5, ub=5)
start = time.process_time()
model.optimize()
seconds = time.process_time() - start
_, bases, weights = (np.asarray(each).tolist() for each in model.get_models())
version = importlib.metadata.version("fasterrisk")
print(json.dumps({"bases": bases, "weights": weights, "seconds": seconds, "version": version}))
"""


def beside(m: int, d: int, limit: int, flipped: float, python: str) -> bench.Row:
    """Return mistakes and CPU milliseconds of the exact search and of FasterRisk; nothing where that is missing."""
    rng = np.random.default_rng(0)
    contexts = rng.integers(0, 2, (m, d)).astype(float)
    scores = contexts[:, :limit] @ rng.normal(size=limit)
    labels = (scores >= np.median(scores)) ^ (rng.random(m) < flipped)
    asked = {"contexts": contexts.tolist(), "labels": np.where(labels, 1.0, -1.0).tolist(), "limit": limit}
    command = [python, "-c", FASTERRISK]
    done = subprocess.run(command, input=json.dumps(asked), capture_output=True, text=True, check=False)
    if done.returncode:
        print(f"FasterRisk: not installed for {python}, or it fails there: {done.stderr.strip().splitlines()[-1]}")
        return {}
    theirs = json.loads(done.stdout)
    oracle = open_oracle(LinearRules(2, max_features=limit), contexts, kind="search")
    costs = np.column_stack([labels, ~labels]).astype(float)
    oracle.value(costs)  # the table is built
    seconds, answer = bench.timed(oracle.minimise, costs)
    own = contexts @ np.array(theirs["weights"]).T
    as_meant = int(((own + np.array(theirs["bases"]) > 0) != labels[:, None]).sum(axis=0).min())
    best_cut = min(int(((own >= cut) != labels[:, None]).sum(axis=0).min()) for cut in np.unique(own))
    return {
        "features": limit,
        "of": d,
        "flipped": flipped,
        "mistakes": answer.value,
        "ms": 1e3 * seconds,
        "FasterRisk, as meant": as_meant,
        "best cut": best_cut,
        "its ms": 1e3 * theirs["seconds"],
        "version": theirs["version"],
    }


def main() -> None:
    parser = bench.options(__doc__, quick="what takes long")
    parser.add_argument("--queries", type=int, default=20)
    parser.add_argument("--fasterrisk", default=sys.executable, help="the Python that has it [default: this one]")
    arguments = parser.parse_args()
    rows: list[bench.Row] = [
        {"route": route, "contexts": m, "features": d, "flipped": flipped}
        | measure(rules, kind, m, d, flipped, arguments.queries)
        for route, rules, kind, m, d, flipped in CASES
        if d <= 20 or not arguments.quick
    ]
    compared = BESIDE[: 1 if arguments.quick else None]
    others = [beside(1000, d, limit, flipped, arguments.fasterrisk) for limit, d, flipped in compared]
    bench.report({"CPU milliseconds": rows, "beside FasterRisk": [row for row in others if row]}, arguments.json)


if __name__ == "__main__":
    main()
