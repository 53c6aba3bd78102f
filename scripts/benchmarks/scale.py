"""How time and memory grow with the number of rows: ours with 9, 31, 255 and all cuts, and what people use today.

    python scripts/benchmarks/scale.py [--json FILE] [--figure FILE] [--from FILE] [--quick]

Trees of depth 2 (3 where named), K = 3, standard normal features, noise costs in which the action of a planted
tree is 0.5 cheaper. Every contender runs in a process of its own, on one core:

ours             kind "search": opening the oracle, then the first value; kernels are compiled beforehand
products of literals  ours with 9 cuts by the kernel for few cuts, whatever the counted work is
STreeD, scikit-learn, econml  as in peers.py

Contenders that are not installed are left out. ``saving`` is the mean saving of the tree that was found against no
rule; the more the better. ``--from FILE`` draws the figures that an earlier run wrote by ``--json``.
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

import bench
import numpy as np
from cuts import N_ACTIONS, costs_on
from peers import Chooses, econml, scikit_learn, streed

from milpcb import open_oracle
from milpcb.types import Floats
from policies import DecisionTrees
from policies.trees import policy_class
from policies.trees.routes import Route

SEED = 0
SIZES = (1000, 10_000, 100_000)
DRAWN = ("ours, 9 cuts", "ours, 31 cuts", "ours, all cuts", "STreeD, 9 cuts", "scikit-learn, greedy")
# Contender, rows, features, depth.
RUNS = [
    *((who, n, d, 2) for d in (10, 30) for who in DRAWN for n in SIZES),
    *((who, 1_000_000, 10, 2) for who in ("ours, 9 cuts", "scikit-learn, greedy")),
    ("ours, 255 cuts", 1_000_000, 30, 2),
    *(("products of literals, 9 cuts", n, 10, 2) for n in SIZES),
    *(("econml, greedy", n, 10, 2) for n in SIZES),
    ("ours, 9 cuts", 10_000, 10, 3),
    ("STreeD, 9 cuts", 10_000, 10, 3),
]
QUICK = 10_000
PACKAGES = {"STreeD": "pystreed", "scikit-learn": "sklearn", "econml": "econml"}
COLORS = dict(zip(DRAWN, ("#56B4E9", "#0072B2", "#00324F", "#D55E00", "#009E73"), strict=True))
MARKS = dict(zip(DRAWN, "osD^v", strict=True))


def main() -> None:
    parser = bench.options(__doc__, quick="more than 10 000 rows")
    parser.add_argument("--figure", type=Path, help="also draw time against rows to this .png or .svg file")
    parser.add_argument("--from", dest="earlier", type=Path, help="take the figures of this file, and run nothing")
    parser.add_argument("--one", nargs=4, metavar=("WHO", "ROWS", "FEATURES", "DEPTH"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        who, *sizes = arguments.one
        print(json.dumps(measure(who, *map(int, sizes))))
        return
    rows = json.loads(arguments.earlier.read_text()) if arguments.earlier else list(measured(quick=arguments.quick))
    bench.show("CPU time and memory, one core", rows)
    bench.write(arguments.json, rows)
    if arguments.figure:
        draw(rows, arguments.figure)


def measured(*, quick: bool) -> Iterator[bench.Row]:
    for who, n, d, depth in RUNS:
        package = PACKAGES.get(who.split(",")[0])
        if (package is None or find_spec(package)) and (n <= QUICK or not quick):
            yield in_a_process(__file__, who, n, d, depth)


def in_a_process(script: str, *one: object) -> bench.Row:
    """Return what ``script --one ...`` prints: what a contender takes, measured in a process of its own."""
    command = [sys.executable, script, "--one", *map(str, one)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return dict(json.loads(done.stdout))


def measure(who: str, n: int, d: int, depth: int) -> bench.Row:
    """Return seconds, memory and saving of one contender, after a small query that compiles and imports."""
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
    if name in ("ours", "products of literals"):
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
                if (row["contender"], row["features"], row["depth"]) == (who, d, 2)
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
