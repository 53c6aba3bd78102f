"""How time and memory grow with the number of rows: ours with 9, 31, 255 and all cuts, and what people use today.

    python scripts/benchmarks/scale.py [--json FILE] [--figure FILE] [--quick]

Trees of depth 2 (3 where it says so), K = 3, standard normal features, noise costs in which the action of a planted
tree is 0.5 cheaper. Every contender runs in a process of its own, on one core:

ours             kind "search": opening the oracle, then the first value; kernels are compiled beforehand
pairs of literals  ours with 9 cuts by the kernel for few cuts, whatever the counted work says
STreeD, scikit-learn, econml  as in peers.py

Contenders that are not installed are left out. ``saving`` is the mean saving of the tree that was found against no
rule; the more the better. The figure also shows the times that the R package policytree publishes for its exact search
(K = 20, d = 30, another machine): 3 hours for 10 000 rows, 50 hours for 100 000 rows at every tenth cut.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from time import process_time
from typing import Any

# BLAS reads these when numpy is imported.
os.environ |= {"OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}

import numpy as np
from cuts import N_ACTIONS, costs_on
from peers import Chooses, econml, scikit_learn, streed
from rich.console import Console
from rich.table import Table

from milpcb import open_oracle
from milpcb.types import Floats
from policies import DecisionTrees
from policies.trees import policy_class
from policies.trees.routes import Route

SEED = 0
# Contender, rows, features, depth.
RUNS = [
    *(("ours, 9 cuts", n, 10, 2) for n in (1000, 10_000, 100_000, 1_000_000)),
    *(("ours, 31 cuts", n, 30, 2) for n in (1000, 10_000, 100_000)),
    ("ours, 255 cuts", 1_000_000, 30, 2),
    *(("ours, all cuts", n, 10, 2) for n in (1000, 10_000, 100_000)),
    *(("ours, all cuts", n, 30, 2) for n in (1000, 10_000)),
    *(("pairs of literals, 9 cuts", n, 10, 2) for n in (1000, 10_000, 100_000)),
    *(("STreeD, 9 cuts", n, 10, 2) for n in (1000, 10_000, 100_000)),
    *(("scikit-learn, greedy", n, 10, 2) for n in (1000, 10_000, 100_000, 1_000_000)),
    *(("econml, greedy", n, 10, 2) for n in (1000, 10_000, 100_000)),
    ("ours, 9 cuts", 10_000, 10, 3),
    ("STreeD, 9 cuts", 10_000, 10, 3),
]
QUICK = 10_000
PACKAGES = {"STreeD": "pystreed", "scikit-learn": "sklearn", "econml": "econml"}
# Rows and seconds that policytree's authors give.
PUBLISHED = {10_000: 3 * 3600.0, 100_000: 50 * 3600.0}
COLORS = {
    "ours, all cuts": "#00324F",
    "ours, 31 cuts": "#0072B2",
    "ours, 9 cuts": "#56B4E9",
    "pairs of literals, 9 cuts": "#999999",
    "STreeD, 9 cuts": "#E69F00",
    "scikit-learn, greedy": "#009E73",
    "econml, greedy": "#CC79A7",
}

Row = dict[str, Any]


def main() -> None:
    parser = argparse.ArgumentParser(description="Time and memory of tree searches by the number of rows.")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    parser.add_argument("--figure", type=Path, help="also draw time against rows to this .png or .svg file")
    parser.add_argument("--quick", action="store_true", help="up to 10 000 rows only")
    parser.add_argument("--one", nargs=4, metavar=("WHO", "ROWS", "FEATURES", "DEPTH"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        who, *sizes = arguments.one
        print(json.dumps(measure(who, *map(int, sizes))))
        return
    rows = []
    for who, n, d, depth in RUNS:
        package = PACKAGES.get(who.split(",")[0])
        if (package is None or find_spec(package)) and (n <= QUICK or not arguments.quick):
            rows.append(in_a_process(__file__, who, n, d, depth))
    show("CPU time and memory, one core", rows)
    if arguments.json:
        arguments.json.write_text(json.dumps(rows, indent=1) + "\n")
    if arguments.figure:
        draw(rows, arguments.figure)


def in_a_process(script: str, *one: object) -> Row:
    """Return what ``script --one ...`` prints: what a contender takes, measured in a process of its own."""
    command = [sys.executable, script, "--one", *map(str, one)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return dict(json.loads(done.stdout))


def measure(who: str, n: int, d: int, depth: int) -> Row:
    """Return seconds, memory and saving of one contender, after a small question that compiles and imports."""
    ask = contender(who, depth)
    rng = np.random.default_rng(SEED)
    small = rng.normal(size=(60, 2))
    for planted in (False, True):
        ask(small, costs_on(np.pad(small, ((0, 0), (0, 1))), rng, planted=planted))
    contexts = rng.normal(size=(n, d))
    costs = costs_on(contexts, rng, planted=True)
    start = process_time()
    opened, stop, value = ask(contexts, costs)
    return {
        "contender": who,
        "rows": n,
        "features": d,
        "depth": depth,
        "opening, s": opened - start,
        "value, s": stop - opened,
        "all, s": stop - start,
        "peak memory, MB": peak_memory(),
        "saving": -value / n,
    }


def peak_memory() -> float:
    """Return the most memory that this process held, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def contender(who: str, depth: int) -> Callable[[Floats, Floats], tuple[float, float, float]]:
    """Return what asks a contender, given contexts (n, d) and costs (n, K): when it was open, when done, the value."""
    name, _, cuts = who.partition(", ")
    if name in ("ours", "pairs of literals"):
        count = cuts.partition(" ")[0]
        trees = DecisionTrees(N_ACTIONS, depth=depth, thresholds="all" if count == "all" else int(count))
        return lambda contexts, costs: ours(trees, contexts, costs, None if name == "ours" else Route.LITERALS)
    learn = {"STreeD": streed, "scikit-learn": scikit_learn, "econml": econml}[name]
    return lambda contexts, costs: theirs(learn, contexts, costs, depth)


def theirs(learn: Callable[..., Chooses], contexts: Floats, costs: Floats, depth: int) -> tuple[float, float, float]:
    """Return the time before and after learning, and the total cost of what was learnt."""
    start = process_time()
    chooses = learn(contexts, costs, depth)
    return start, process_time(), float(costs[np.arange(len(costs)), chooses(contexts)].sum())


def ours(trees: DecisionTrees, contexts: Floats, costs: Floats, route: Route | None) -> tuple[float, float, float]:
    """Return when the oracle was open, when done, the least total cost; by ``route``, or that of least counted work."""
    counted = policy_class.route
    if route is not None:
        policy_class.route = lambda *_: route  # type: ignore[assignment]
    oracle = open_oracle(trees, contexts, "search")
    policy_class.route = counted
    opened, value = process_time(), oracle.value(costs)
    return opened, process_time(), value


def show(title: str, rows: list[Row]) -> None:
    """Print the table."""
    table = Table(title=title, title_justify="left")
    for name in rows[0]:
        table.add_column(name, justify="left" if name == "contender" else "right")
    for row in rows:
        table.add_row(*(f"{entry:.3g}" if isinstance(entry, float) else str(entry) for entry in row.values()))
    Console(width=140).print(table)


def draw(rows: list[Row], path: Path) -> None:
    """Draw time against rows, both on log scales."""
    from matplotlib.figure import Figure

    picture = Figure(figsize=(8, 4.5), layout="constrained")
    axes = picture.add_subplot()
    for who, color in COLORS.items():
        points = sorted(
            (row["rows"], row["all, s"], row["features"])
            for row in rows
            if row["contender"] == who and row["depth"] == 2
        )
        for d in sorted({d for *_, d in points}):
            line = [(n, seconds) for n, seconds, features in points if features == d]
            dashes = "-" if d == 10 else "--"
            axes.plot(*zip(*line, strict=True), dashes, marker="o", ms=4, color=color, label=f"{who}, d = {d}")
    style = {"ls": ":", "marker": "x", "color": "black", "label": "policytree, as published (K = 20, d = 30)"}
    axes.plot([*PUBLISHED], [*PUBLISHED.values()], **style)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("rows")
    axes.set_ylabel("CPU seconds, opening and one tree of depth 2")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(fontsize=8, frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
    picture.savefig(path, dpi=150)


if __name__ == "__main__":
    main()
