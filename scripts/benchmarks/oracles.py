"""Time of one query to the tree oracle, against the published way and against a peer.

    python scripts/benchmarks/oracles.py [--json FILE] [--figure FILE] [--quick]

The question is the learner's: which decision tree has the least total cost on this fresh cost matrix? Costs are drawn
as BISTRO+ draws them, sums of random signs. Every contender gets the same matrices and must give the same optimum, or
the script stops:

FlowOCT             the published mixed-integer program (flow_oct.py), built in PuLP and solved by HiGHS each time
STreeD              pystreed's cost-sensitive tree, ``pip install pystreed``; left out when it is not there
HiGHS kept open     kind "milp": one linear program in HiGHS, a new objective for every query
search              kind "search": the exact search over trees

A second table adds a side constraint, at most 20 % of the contexts may get the last action: on contexts and costs as
above, and on harder ones, where literals hold at 10 to 90 % of the contexts and the last action is cheap, so that the
limit binds. Kind "milp" is asked beside the search. Times are CPU times of one core after
a warm-up; each contender gets the contexts as drawn, and may merge equal ones (ours does: 300 become about 260).
FlowOCT at 300 contexts is asked once, which takes about a minute; ``--quick`` leaves that out.
"""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import bench
import numpy as np
from flow_oct import flow_oct
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter
from rich.console import Console

from milpcb import open_oracle
from milpcb.constraints import share_at_most
from milpcb.core.decimals import spaced
from milpcb.experiments.results.figures.drawing import FORMATS, render
from milpcb.types import Floats
from policies import DecisionTrees

SEED = 0
WARM_UP = 3
SHARE = 0.2
BUDGET_QUERIES = 10
PEER = "pystreed"
FLOW, STREED, KEPT, SEARCH = "FlowOCT, PuLP + HiGHS", "STreeD", "ours, HiGHS kept open", "ours, search"
ROW = "ours, HiGHS, one more row"
SEARCH_ROW = "ours, search, one more row"
# Bars of the picture: light for others, dark for ours, told apart in greyscale.
SHADES = {FLOW: "#E69F00", STREED: "#56B4E9", KEPT: "#0072B2", SEARCH: "#00324F"}
SECOND = 1e3


@dataclass(frozen=True)
class Problem:
    """A class of trees on m contexts with p binary literals and K actions."""

    m: int
    p: int
    n_actions: int
    depth: int

    def __str__(self) -> str:
        return f"{self.m} contexts, {self.p} literals, K = {self.n_actions}, depth {self.depth}"

    @property
    def trees(self) -> DecisionTrees:
        """The policy class."""
        return DecisionTrees(self.n_actions, depth=self.depth)

    def contexts(self, rng: np.random.Generator, *, rare: bool = False) -> Floats:
        """Return contexts (m, p); ``rare`` makes literals hold at 10 to 90 % of them instead of at half."""
        share = rng.uniform(0.1, 0.9, self.p) if rare else np.full(self.p, 0.5)
        return (rng.random((self.m, self.p)) < share).astype(float)

    def noise(self, rng: np.random.Generator) -> Floats:
        """Return costs (m, K): twice the sum of five random signs each."""
        ups = rng.binomial(5, 0.5, (self.m, self.n_actions))
        return np.asarray(2.0 * (2.0 * ups - 5.0))


SMALL = Problem(60, 5, 3, depth=2)
MIDDLE, LARGE = Problem(300, 10, 3, depth=2), Problem(1000, 30, 3, depth=2)
MIDDLE_3, LARGE_3 = Problem(300, 10, 3, depth=3), Problem(1000, 30, 3, depth=3)


@dataclass(frozen=True)
class Contender:
    """Who answers a cost matrix (m, K) with the least total cost, and how often it is asked."""

    name: str
    ask: Callable[[Floats], float]
    queries: int
    warm_up: int = WARM_UP


@dataclass(frozen=True)
class Line:
    """Median and worst milliseconds of CPU time a query; ``faster``: the first line's median divided by this one."""

    problem: str
    contender: str
    queries: int
    ms: float
    worst_ms: float
    faster: float = 1.0


def main() -> None:
    parser = bench.options(__doc__, quick="the one query that takes a minute")
    parser.add_argument("--figure", type=Path, help="also draw them to this .png or .svg file")
    arguments = parser.parse_args()
    if arguments.figure and arguments.figure.suffix[1:] not in FORMATS:
        parser.error(f"--figure must end in .{' or .'.join(FORMATS)}")
    console = Console(width=140)
    peer = find_spec(PEER) is not None
    if not peer:
        console.print(f"STreeD is left out: pip install {PEER} to compare with it")
    with console.status("asking"):
        races = [race(problem, names) for problem, names in line_up(peer=peer, quick=arguments.quick)]
        budgets = [budget(problem, hard=hard) for problem in (MIDDLE, LARGE) for hard in (False, True)]
        note = peer_on_negative_costs() if peer else ""
    show("One query, CPU time", races)
    show("One query, at most 20 % of the contexts get the last action, CPU time", budgets)
    console.print(f"Every optimum above was the same for all contenders of its problem.\n{note}")
    packages = ["numpy", "numba", "highspy", "pulp", *([PEER] if peer else [])]
    figures = {"races": races, "budgets": budgets}
    written = {name: [asdict(line) for lines in groups for line in lines] for name, groups in figures.items()}
    versions = {package: version(package) for package in packages}
    bench.write(arguments.json, {**bench.MACHINE, "versions": versions, "seed": SEED, **written})
    if arguments.figure:
        arguments.figure.write_bytes(render(figure(races))[arguments.figure.suffix[1:]])


# --------------------------------------------------------------------------- the contenders


def line_up(*, peer: bool, quick: bool) -> list[tuple[Problem, list[str]]]:
    """Return the problems and who is asked about each, slowest first."""
    streed = [STREED] if peer else []
    return [
        (SMALL, [FLOW, *streed, KEPT, SEARCH]),
        (MIDDLE, [*([] if quick else [FLOW]), *streed, KEPT, SEARCH]),
        (LARGE, [*streed, KEPT, SEARCH]),
        (MIDDLE_3, [*streed, KEPT, SEARCH]),
        (LARGE_3, [*streed, SEARCH]),
    ]


def contender(name: str, problem: Problem, contexts: Floats) -> Contender:
    """Open a contender on the contexts."""
    if name == FLOW:
        queries = 5 if problem == SMALL else 1
        return Contender(name, lambda costs: flow_oct(contexts, costs, problem.depth), queries, warm_up=0)
    if name == STREED:
        return Contender(name, streed(contexts, problem.depth), queries=20)
    oracle = open_oracle(problem.trees, contexts, kind="milp" if name == KEPT else "search")
    return Contender(name, oracle.value, queries=200 if problem.depth == 2 else 50)


def streed(contexts: Floats, depth: int) -> Callable[[Floats], float]:
    """Return a function that asks STreeD: a fit on costs whose rows are shifted to begin at 0."""
    tree = import_module(PEER).STreeDInstanceCostSensitiveClassifier
    bits = contexts.astype(np.intc)

    def ask(costs: Floats) -> float:
        least = costs.min(axis=1, keepdims=True)
        return float(tree(max_depth=depth).fit(bits, costs - least).fit_result.score() + least.sum())

    return ask


def race(problem: Problem, names: list[str]) -> list[Line]:
    """Return a line for each contender; all answer the same matrices, none seen before."""
    rng = np.random.default_rng(SEED)
    contexts = problem.contexts(rng)
    contenders = [contender(name, problem, contexts) for name in names]
    matrices = [problem.noise(rng) for _ in range(WARM_UP + max(c.queries for c in contenders))]
    lines: list[Line] = []
    for c in contenders:
        for costs in matrices[WARM_UP - c.warm_up : WARM_UP]:
            c.ask(costs)
        asked = matrices[WARM_UP : WARM_UP + c.queries]
        milliseconds, answers = answered(c.ask, asked)
        bench.check_same(f"{c.name}, {problem}", answers, [contenders[-1].ask(costs) for costs in asked])
        lines.append(summary(str(problem), c.name, milliseconds, lines))
    return lines


def summary(problem: str, name: str, milliseconds: list[float], earlier: list[Line]) -> Line:
    """Return the line of a contender, given the earlier lines of its problem."""
    median = float(np.median(milliseconds))
    faster = earlier[0].ms / median if earlier else 1.0
    return Line(problem, name, len(milliseconds), median, max(milliseconds), faster)


def answered(ask: Callable[[Floats], float], matrices: list[Floats]) -> tuple[list[float], list[float]]:
    """Return milliseconds of CPU time and the answer of each query."""
    seconds, answers = zip(*(bench.timed(ask, costs) for costs in matrices), strict=True)
    return [SECOND * each for each in seconds], list(answers)


# --------------------------------------------------------------------------- optima


def peer_on_negative_costs() -> str:
    """STreeD takes costs below 0 without a word, and calls optimal a tree that is not."""
    rng = np.random.default_rng(SEED)
    contexts = MIDDLE.contexts(rng)
    bits, rows = contexts.astype(np.intc), np.arange(MIDDLE.m)
    ours = open_oracle(MIDDLE.trees, contexts, kind="search")
    found = []
    for _ in range(6):
        costs = MIDDLE.noise(rng)
        fitted = import_module(PEER).STreeDInstanceCostSensitiveClassifier(max_depth=2).fit(bits, costs)
        total = costs[rows, fitted.predict(bits)].sum()
        found.append((fitted.fit_result.is_optimal(), fitted.fit_result.score(), total, ours.value(costs)))
    wrong = sum(bool(proved) and total > least for proved, _, total, least in found)
    proved, score, total, least = found[0]
    return (
        f"STreeD given the negative costs as they are ({MIDDLE}) calls a wrong tree optimal "
        f"on {wrong} of {len(found)} matrices; "
        f"on the first it claims {score:g} (optimal: {proved}), its tree costs {total:g}, the optimum is {least:g}"
    )


def budget(problem: Problem, *, hard: bool) -> list[Line]:
    """Return the lines of the oracle under a budget, of which each has the answers of the search."""
    rng = np.random.default_rng(SEED)
    contexts = problem.contexts(rng, rare=hard)
    last = np.arange(problem.n_actions) == problem.n_actions - 1
    matrices = [problem.noise(rng) - 2.0 * hard * last for _ in range(WARM_UP + BUDGET_QUERIES)]
    rule = share_at_most(problem.n_actions - 1, SHARE)
    asked = {ROW: open_oracle(problem.trees, contexts, constraints=[rule]).value}
    asked[SEARCH_ROW] = open_oracle(problem.trees, contexts, kind="search", constraints=[rule]).value
    name = f"{problem}, {'harder' if hard else 'as above'}"
    lines: list[Line] = []
    for who, ask in asked.items():
        answered(ask, matrices[:WARM_UP])
        milliseconds, answers = answered(ask, matrices[WARM_UP:])
        bench.check_same(f"{who}, {name}", answers, [asked[SEARCH_ROW](costs) for costs in matrices[WARM_UP:]])
        lines.append(summary(name, who, milliseconds, lines))
    return lines


# --------------------------------------------------------------------------- output


def show(title: str, groups: list[list[Line]]) -> None:
    """Print a table, in groups of one problem each."""
    rows = [
        {
            "problem": line.problem if line is lines[0] else "",
            "contender": line.contender,
            "queries": line.queries,
            "median ms": number(line.ms),
            "worst ms": number(line.worst_ms),
            "times as fast as the first": "" if line is lines[0] else number(line.faster),
        }
        for lines in groups
        for line in lines
    ]
    bench.show(title, rows)


def figure(races: list[list[Line]]) -> Figure:
    """Return the picture: a bar for each contender on a log scale, with its speed as a multiple of FlowOCT's."""
    groups = [lines for lines in races if lines[0].problem != str(SMALL)]
    picture = Figure(figsize=(8, 0.29 * sum(len(lines) + 1.4 for lines in groups) + 0.6), layout="constrained")
    axes = picture.add_subplot()
    y = 0.0
    ticks: dict[float, str] = {}
    for lines in groups:
        axes.annotate(
            lines[0].problem, (0, y), xycoords=("axes fraction", "data"), va="center", fontsize=9, weight="bold"
        )
        for line in lines:
            y -= 1.0
            ticks[y] = line.contender
            axes.barh(y, line.ms / SECOND, color=SHADES[line.contender], height=0.8)
            label = duration(line.ms) + ("" if line is lines[0] else f", {times(line.faster, lines[0].contender)}")
            axes.annotate(
                label, (line.ms / SECOND, y), xytext=(4, 0), textcoords="offset points", va="center", fontsize=8
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


def times(faster: float, other: str) -> str:
    """Return the ratio of the times of two contenders in words."""
    of = other.partition(",")[0]
    return (
        f"{number(faster, 2)} times as fast as {of}"
        if faster >= 1
        else f"{number(1 / faster, 2)} times as long as {of}"
    )


def duration(ms: float) -> str:
    """Return milliseconds in the unit that people would use."""
    factor, unit = (1 / SECOND, "s") if ms >= SECOND else (1.0, "ms") if ms >= 0.1 else (1e3, "µs")
    return f"{number(ms * factor, 2)} {unit}"


def number(value: float, digits: int = 3) -> str:
    """Return a number with so many significant digits and no exponent."""
    return spaced(float(f"{value:.{digits}g}"), ".10g")


if __name__ == "__main__":
    main()
