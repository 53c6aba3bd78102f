"""Time of one query to the tree oracle, against the published way and against a peer.

    python scripts/benchmarks/oracles.py [--json FILE] [--figure FILE] [--quick]

The question is the learner's: which decision tree has the least total cost on this fresh cost matrix? Costs are drawn
as BISTRO+ draws them, sums of random signs. Every contender gets the same matrices and must give the same optimum, or
the script stops:

FlowOCT             the published mixed-integer program (flow_oct.py), built in PuLP and solved by HiGHS each time
STreeD              pystreed's cost-sensitive tree, ``pip install pystreed``; left out when it is not there
HiGHS kept open     kind "milp": one linear program in HiGHS, a new objective for every query
search              kind "search": the exact search over trees

Times are CPU times of one core after a warm-up; each contender gets the contexts as drawn, and may merge equal ones
(ours does: 300 become about 260). FlowOCT at 300 contexts is asked once, which takes about a minute; ``--quick`` leaves
that out. Queries under side constraints are in constraints.py.
"""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import bench
import numpy as np
from flow_oct import flow_oct
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter
from rich.console import Console

from milpcb import open_oracle
from milpcb.core.decimals import spaced
from milpcb.experiments.results.figures.drawing import FORMATS, render
from milpcb.types import Floats
from policies import DecisionTrees

SEED = 0
WARM_UP = 3
PEER = "pystreed"
FLOW, STREED, KEPT, SEARCH = "FlowOCT, PuLP + HiGHS", "STreeD", "ours, HiGHS kept open", "ours, search"
# Bars of the picture: light for others, dark for ours, distinct in greyscale too.
SHADES = {FLOW: "#E69F00", STREED: "#56B4E9", KEPT: "#0072B2", SEARCH: "#00324F"}
SECOND = 1e3
MEDIAN, FASTER = "median ms", "times as fast as the first"


@dataclass(frozen=True)
class Problem:
    """A class of trees on m contexts with p binary literals and K actions."""

    m: int
    p: int
    n_actions: int
    depth: int

    def __str__(self) -> str:
        return f"{self.m} contexts, {self.p} literals, K = {self.n_actions}, depth {self.depth}"

    def contexts(self, rng: np.random.Generator) -> Floats:
        """Return contexts (m, p)."""
        return (rng.random((self.m, self.p)) < 0.5).astype(float)

    def noise(self, rng: np.random.Generator) -> Floats:
        """Return costs (m, K): twice the sum of five random signs each."""
        ups = rng.binomial(5, 0.5, (self.m, self.n_actions))
        return np.asarray(2.0 * (2.0 * ups - 5.0))

    def oracle(self, contexts: Floats, kind: str) -> Callable[[Floats], float]:
        """Return our function that asks for a value."""
        return open_oracle(DecisionTrees(self.n_actions, depth=self.depth), contexts, kind=kind).value


SMALL, MIDDLE, LARGE = Problem(60, 5, 3, depth=2), Problem(300, 10, 3, depth=2), Problem(1000, 30, 3, depth=2)
RACES = {  # contenders, slowest first
    SMALL: [FLOW, STREED, KEPT, SEARCH],
    MIDDLE: [FLOW, STREED, KEPT, SEARCH],
    LARGE: [STREED, KEPT, SEARCH],
    Problem(300, 10, 3, depth=3): [STREED, KEPT, SEARCH],
    Problem(1000, 30, 3, depth=3): [STREED, SEARCH],
}


def main() -> None:
    parser = bench.options(__doc__, quick="the one query that takes a minute")
    parser.add_argument("--figure", type=Path, help="also draw them to this .png or .svg file")
    arguments = parser.parse_args()
    if arguments.figure and arguments.figure.suffix[1:] not in FORMATS:
        parser.error(f"--figure must end in .{' or .'.join(FORMATS)}")
    peer = find_spec(PEER) is not None
    with Console(stderr=True).status("asking"):
        races = []
        for problem, names in RACES.items():
            left_out = {FLOW: arguments.quick and problem != SMALL, STREED: not peer}
            races.append(race(problem, [name for name in names if not left_out.get(name)]))
    bench.report({"One query, CPU time": [row for rows in races for row in rows]}, arguments.json)
    print("Every optimum above was the same for all contenders of its problem.")
    if arguments.figure:
        arguments.figure.write_bytes(render(figure(races))[arguments.figure.suffix[1:]])


# --------------------------------------------------------------------------- the contenders


def contender(name: str, problem: Problem, contexts: Floats) -> tuple[Callable[[Floats], float], int]:
    """Return a function that asks a contender, and how often it is asked."""
    if name == FLOW:
        return lambda costs: flow_oct(contexts, costs, problem.depth), 5 if problem == SMALL else 1
    if name == STREED:
        return streed(contexts, problem.depth), 20
    ask = problem.oracle(contexts, "milp" if name == KEPT else "search")
    return ask, 200 if problem.depth == 2 else 50


def streed(contexts: Floats, depth: int) -> Callable[[Floats], float]:
    """Return a function that asks STreeD: a fit on costs whose rows are shifted to begin at 0."""
    tree = import_module(PEER).STreeDInstanceCostSensitiveClassifier
    bits = contexts.astype(np.intc)

    def ask(costs: Floats) -> float:
        least = costs.min(axis=1, keepdims=True)
        return float(tree(max_depth=depth).fit(bits, costs - least).fit_result.score() + least.sum())

    return ask


def race(problem: Problem, names: list[str]) -> list[bench.Row]:
    """Return median and worst milliseconds of each contender; all answer the same matrices, none seen before."""
    rng = np.random.default_rng(SEED)
    contexts = problem.contexts(rng)
    contenders = {name: contender(name, problem, contexts) for name in names}
    matrices = [problem.noise(rng) for _ in range(WARM_UP + max(queries for _, queries in contenders.values()))]
    rows: list[bench.Row] = []
    for name, (ask, queries) in contenders.items():
        for costs in matrices[: 0 if name == FLOW else WARM_UP]:
            ask(costs)
        asked = matrices[WARM_UP : WARM_UP + queries]
        seconds, answers = zip(*(bench.timed(ask, costs) for costs in asked), strict=True)
        bench.check_same(f"{name}, {problem}", answers, [contenders[names[-1]][0](costs) for costs in asked])
        median = SECOND * float(np.median(seconds))
        row = {"problem": str(problem), "contender": name, "queries": queries, MEDIAN: median}
        rows.append({**row, "worst ms": SECOND * max(seconds), FASTER: rows[0][MEDIAN] / median if rows else 1.0})
    return rows


# --------------------------------------------------------------------------- the picture


def figure(races: list[list[bench.Row]]) -> Figure:
    """Return the picture: a bar for each contender on a log scale, with its speed as a multiple of FlowOCT's."""
    groups = [lines for lines in races if lines[0]["problem"] != str(SMALL)]
    picture = Figure(figsize=(8, 0.29 * sum(len(lines) + 1.4 for lines in groups) + 0.6), layout="constrained")
    axes = picture.add_subplot()
    y = 0.0
    ticks: dict[float, str] = {}
    for lines in groups:
        axes.annotate(
            lines[0]["problem"], (0, y), xycoords=("axes fraction", "data"), va="center", fontsize=9, weight="bold"
        )
        for line in lines:
            y -= 1.0
            ticks[y] = line["contender"]
            axes.barh(y, line[MEDIAN] / SECOND, color=SHADES[line["contender"]], height=0.8)
            label = EngFormatter("s")(rounded(line[MEDIAN] / SECOND))
            if line is not lines[0]:
                other = lines[0]["contender"].partition(",")[0]
                label += f", {spaced(rounded(line[FASTER]), '.10g')} times as fast as {other}"
            axes.annotate(
                label, (line[MEDIAN] / SECOND, y), xytext=(4, 0), textcoords="offset points", va="center", fontsize=8
            )
        y -= 1.4
    axes.set_yticks([*ticks], [*ticks.values()], fontsize=9)
    axes.set_xscale("log")
    axes.set_xlim(5e-6, 8e2)
    axes.set_ylim(y + 0.8, 0.8)
    axes.xaxis.set_major_formatter(EngFormatter("s"))
    axes.set_xlabel("CPU time of one core for one query, median (log scale)")
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(axis="y", length=0)
    return picture


def rounded(value: float) -> float:
    """Return a number with two significant digits."""
    return float(f"{value:.2g}")


if __name__ == "__main__":
    main()
