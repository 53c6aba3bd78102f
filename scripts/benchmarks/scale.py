"""How time and memory grow with the number of rows: ours with 9, 31, 255 and all cuts, and what people use today.

    python scripts/benchmarks/scale.py [--json FILE] [--figure FILE] [--from FILE] [--quick]

Trees of depth 2 (3 where named), K = 3, standard normal features. Costs are normal noise, the hardest case for bounds;
in *planted* ones the action that a tree of depth 2 chooses is 0.5 cheaper. Every contender runs in a process of its
own, on one core:

ours             kind "search": opening the oracle, then the first value; kernels are compiled beforehand
STreeD, scikit-learn, econml  as in peers.py

Contenders that are not installed are left out. ``saving`` is the mean saving of the tree that was found against no
rule, on the rows learned from; in planted costs ``fresh`` is that on 100 000 other rows, at most 0.5. ``--from FILE``
draws the figures that an earlier run wrote by ``--json``.
"""

import argparse
import json
import resource
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from time import process_time
from typing import cast

import bench
import numpy as np
from peers import Chooses, econml, scikit_learn, streed

from milpcb import open_oracle
from milpcb.types import Floats, Ints
from policies import DecisionTrees

SEED = 0
N_ACTIONS, GAIN = 3, 0.5
SIZES, FRESH = (1000, 10_000, 100_000), 100_000
EVERY = "ours, all cuts"
DRAWN = ("ours, 9 cuts", "ours, 31 cuts", EVERY, "STreeD, 9 cuts", "scikit-learn, greedy")
# Contender, rows, features, depth, costs.
RUNS = [
    *((who, n, d, 2, "planted") for d in (10, 30) for who in DRAWN for n in SIZES),
    *((who, 1_000_000, 10, 2, "planted") for who in ("ours, 9 cuts", "scikit-learn, greedy")),
    ("ours, 255 cuts", 1_000_000, 30, 2, "planted"),
    ("ours, 3 cuts", 100_000, 10, 2, "planted"),
    *(("econml, greedy", n, 10, 2, "planted") for n in SIZES),
    *((who, 10_000, 10, 3, "planted") for who in ("ours, 9 cuts", "STreeD, 9 cuts")),
    *((EVERY, n, d, 2, "noise") for n, d in ((1000, 10), (2000, 10), (10_000, 10), (10_000, 30), (100_000, 30))),
    *((EVERY, n, d, 3, costs) for n, d in ((500, 5), (2000, 10)) for costs in ("noise", "planted")),
]
QUICK = 10_000
PACKAGES = {"STreeD": "pystreed", "scikit-learn": "sklearn", "econml": "econml"}
COLORS = dict(zip(DRAWN, ("#56B4E9", "#0072B2", "#00324F", "#D55E00", "#009E73"), strict=True))
MARKS = dict(zip(DRAWN, "osD^v", strict=True))


def main() -> None:
    parser = bench.options(__doc__, quick="more than 10 000 rows")
    parser.add_argument("--figure", type=Path, help="also draw time against rows to this .png or .svg file")
    parser.add_argument("--from", dest="earlier", type=Path, help="take the figures of this file, and run nothing")
    parser.add_argument("--one", nargs=5, metavar=("WHO", "ROWS", "FEATURES", "DEPTH", "COSTS"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        who, *sizes, costs = arguments.one
        print(json.dumps(measure(who, *map(int, sizes), costs)))
        return
    rows = json.loads(arguments.earlier.read_text()) if arguments.earlier else list(measured(quick=arguments.quick))
    bench.show("CPU time and memory, one core", rows)
    bench.write(arguments.json, rows)
    if arguments.figure:
        draw(rows, arguments.figure)


def measured(*, quick: bool) -> Iterator[bench.Row]:
    for who, n, *more in RUNS:
        package = PACKAGES.get(who.split(",")[0])
        if (package is None or find_spec(package)) and (n <= QUICK or not quick):
            yield in_a_process(__file__, who, n, *more)


def in_a_process(script: str, *one: object) -> bench.Row:
    """Return what ``script --one ...`` prints: what a contender takes, measured in a process of its own."""
    command = [sys.executable, script, "--one", *map(str, one)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return dict(json.loads(done.stdout))


def best_actions(contexts: Floats) -> Ints:
    """Return the action (m,) that the planted tree chooses at each of ``contexts`` (m, d)."""
    first, second = np.where(contexts[:, 1] <= -0.2, 0, 1), np.where(contexts[:, 2] <= 0.5, 2, 0)
    return np.where(contexts[:, 0] <= 0.3, first, second)


def costs_on(contexts: Floats, rng: np.random.Generator, *, planted: bool) -> Floats:
    """Return costs (m, K): normal noise, less a gain at the planted tree's action."""
    costs = rng.normal(size=(len(contexts), N_ACTIONS))
    costs[np.arange(len(costs)), best_actions(contexts)] -= GAIN * planted
    return costs


def measure(who: str, n: int, d: int, depth: int, costs: str) -> bench.Row:
    """Return seconds, memory and saving of one contender, after a small query that compiles and imports."""
    ask = contender(who, depth)
    rng = np.random.default_rng(SEED)
    small = rng.normal(size=(60, 3))
    for planted in (False, True):
        ask(small, costs_on(small, rng, planted=planted))
    contexts, fresh = rng.normal(size=(n, d)), rng.normal(size=(FRESH, d))
    table = costs_on(contexts, rng, planted=costs == "planted")
    start = process_time()
    opened, stop, chooses = ask(contexts, table)
    return {
        "contender": who,
        "rows": n,
        "features": d,
        "depth": depth,
        "costs": costs,
        "opening, s": opened - start,
        "value, s": stop - opened,
        "all, s": stop - start,
        "peak memory, MB": peak_memory(),
        "saving": -float(table[np.arange(n), chooses(contexts)].mean()),
        "fresh": GAIN * float((chooses(fresh) == best_actions(fresh)).mean()),
    }


def peak_memory() -> float:
    """Return the most memory that this process held, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


Answer = tuple[float, float, Chooses]  # when a contender was open, when done, what its tree chooses


def contender(who: str, depth: int) -> Callable[[Floats, Floats], Answer]:
    """Return what asks a contender, given contexts (n, d) and costs (n, K)."""
    name, _, cuts = who.partition(", ")
    if name == "ours":
        count = cuts.partition(" ")[0]
        trees = DecisionTrees(N_ACTIONS, depth=depth, thresholds="all" if count == "all" else int(count))
        return lambda contexts, costs: ours(trees, contexts, costs)
    learn = {"STreeD": streed, "scikit-learn": scikit_learn, "econml": econml}[name]
    return lambda contexts, costs: theirs(learn, contexts, costs, depth)


def theirs(learn: Callable[..., Chooses], contexts: Floats, costs: Floats, depth: int) -> Answer:
    start = process_time()
    chooses = learn(contexts, costs, depth)
    return start, process_time(), chooses


def ours(trees: DecisionTrees, contexts: Floats, costs: Floats) -> Answer:
    oracle = open_oracle(trees, contexts, "search")
    opened, answer = process_time(), oracle.minimise(costs)
    return opened, process_time(), cast("Chooses", answer.policy.predict)  # type: ignore[union-attr]


def draw(rows: list[bench.Row], path: Path) -> None:
    """Draw time against rows, both on log scales: a panel for 10 features and one for 30, the same learners in both."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import EngFormatter, FuncFormatter

    picture = Figure(figsize=(8.5, 4), layout="constrained")
    panels = picture.subplots(1, 2, sharex=True, sharey=True)
    for axes, d in zip(panels, (10, 30), strict=True):
        for who in DRAWN:
            line = sorted(
                (row["rows"], row["all, s"])
                for row in rows
                if (row["contender"], row["features"], row["depth"], row["costs"]) == (who, d, 2, "planted")
            )
            exact = "greedy" not in who
            if line:
                axes.plot(
                    *zip(*line, strict=True), MARKS[who], ls="-", ms=5, color=COLORS[who], alpha=1.0 if exact else 0.45,
                    label=f"{who} (exact)" if exact else who,
                )  # fmt: skip
        axes.set(xscale="log", yscale="log", title=f"{d} features", xlabel="rows (log scale)")
        axes.xaxis.set_major_formatter(FuncFormatter(lambda n, _: f"{n:,.0f}".replace(",", " ")))
        axes.grid(which="major", alpha=0.25)
        axes.spines[["top", "right"]].set_visible(False)
    panels[0].yaxis.set_major_formatter(EngFormatter("s"))
    panels[0].set_ylabel("CPU time (log scale)")
    handles, labels = panels[0].get_legend_handles_labels()
    picture.legend(handles, labels, fontsize=8, frameon=False, loc="outside lower center", ncols=3)
    picture.savefig(path, dpi=150)


if __name__ == "__main__":
    main()
