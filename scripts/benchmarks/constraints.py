"""Time of side constraints in the search over trees: against its own free queries, and for solvers.

    python scripts/benchmarks/constraints.py [--json FILE] [--quick]

Trees of depth 2, in two tables of depth 3, and K = 3 actions. The rules: at most 20 % of the contexts get the last
action (one row); rates of action 0 in two groups that differ by at most 0.1 (one row, two-sided); both (two rows).
Costs are sums of random signs as BISTRO+ draws them; on top the last action is cheap everywhere, and action 0 in one of
the groups, so that all rules bind. Literals hold at 10 to 90 % of the contexts. Times are CPU times of one core,
through the public oracle. Contenders of a row take turns on the same matrices, and the best of their rounds counts;
HiGHS has a minute for one matrix at depth 3. Where two answer the same query, different optima stop the script.

One table asks kind "milp": of several rules, classes and solvers, those that are installed and whose licence allows the
program.

``--quick`` leaves out what takes minutes: the larger problems of HiGHS, and other solvers. A learner under the budget
is played by scripts/reproduce/constraint.toml.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import bench
import numpy as np

from milpcb import open_oracle
from milpcb.constraints import Constraint, parity, share_at_most
from milpcb.oracles.base import Oracle
from milpcb.protocols import PolicyClass
from milpcb.solvers import describe_all
from milpcb.types import Floats
from policies import DecisionTrees, RuleLists

SIZES = [(300, 10), (1000, 30), (1000, 60)]
N_ACTIONS, SHARE, DELTA = 3, 0.2, 0.1
MATRICES = 20
BY_SOLVER, WARM_UP = 12, 2
VENDORS = ["gurobi", "xpress", "copt", "scip"]
TREES = {depth: DecisionTrees(N_ACTIONS, depth=depth) for depth in (2, 3)}
CLASSES: dict[str, PolicyClass] = {"trees": TREES[2], "lists of two rules": RuleLists(N_ACTIONS, max_rules=2)}
SECONDS_OF_HIGHS = 60.0


def main() -> None:
    arguments = bench.options(__doc__, quick="what takes minutes").parse_args()
    problems = [Problem(m, p) for m, p in SIZES]
    rows: dict[str, list[bench.Row]] = {
        "one value, ms, and how many times a free one it takes": [
            against_free(problem, "value") for problem in problems
        ],
        "action weights, ms": [against_free(problem, "weights") for problem in problems],
        "depth 3 under the budget, ms, and how many times a free query it takes": [
            row for problem in problems[:2] for row in deep(problem)
        ],
        "depth 3 under the budget: HiGHS with the row": [] if arguments.quick else [deep_highs(problems[0])],
        "two rows: budget and parity, ms": [two_rows(problem) for problem in problems],
        "solvers, ms": [
            by_solver(problem, *case) for problem in problems[:2] for case in cases(problem, quick=arguments.quick)
        ],
    }
    bench.report(rows, arguments.json)


class Problem:
    """Contexts (m, p) of 0 and 1, rules on them, and cost matrices that make the rules bind."""

    def __init__(self, m: int, p: int) -> None:
        self.m, self.p = m, p
        self._rng = np.random.default_rng(0)
        self.contexts = (self._rng.random((m, p)) < self._rng.uniform(0.1, 0.9, p)).astype(float)
        self.group = self.contexts[:, 0]
        self.budget = [share_at_most(N_ACTIONS - 1, SHARE)]
        self.parity = [parity(0, self.group, DELTA)]

    @property
    def size(self) -> dict[str, str]:
        """Title of a row."""
        return {"contexts, literals": f"{self.m}, {self.p}"}

    def costs(self) -> Floats:
        """Return a new matrix (m, K)."""
        costs = 2.0 * (2.0 * self._rng.binomial(5, 0.5, (self.m, N_ACTIONS)) - 5.0)
        costs[:, -1] -= 2.0
        costs[self.group == 1, 0] -= 2.0
        return np.asarray(costs)

    def oracle(self, rules: Sequence[Constraint] = (), kind: str = "search", depth: int = 2, **options: Any) -> Oracle:
        """Return an oracle under ``rules``."""
        return open_oracle(TREES[depth], self.contexts, kind=kind, constraints=rules, **options)


def against_free(problem: Problem, query: str) -> bench.Row:
    """Return one row: a value, or the action weights of Exp4, without a rule, under one row, under a two-sided one."""
    rules = {"free": [], "budget": problem.budget, "parity": problem.parity}
    costs, asked = problem.costs(), {}
    for name, rule in rules.items():
        oracle = problem.oracle(rule)
        weights = partial(oracle.action_weights, costs, 3, 0.01)
        asked[name] = partial(oracle.value, costs) if query == "value" else weights
    times = bench.compete(asked)
    return {**problem.size, **times, **{f"{name} / free": times[name] / times["free"] for name in ("budget", "parity")}}


def deep(problem: Problem) -> list[bench.Row]:
    """Return a row for each kind of query about trees of depth 3, and the seconds of opening under the budget."""
    free = problem.oracle(depth=3)
    free.value(problem.costs())
    opening, budget = bench.timed(lambda: problem.oracle(problem.budget, depth=3))
    costs = problem.costs()
    queries: dict[str, Callable[[Oracle], Any]] = {
        "value": lambda oracle: oracle.value(costs),
        "profile": lambda oracle: oracle.profile(costs, 3),
        "action weights": lambda oracle: oracle.action_weights(costs, 3, 0.01),
    }
    rows = []
    for name, ask in queries.items():
        times = bench.compete({"free": partial(ask, free), "budget": partial(ask, budget)})
        ratio = times["budget"] / times["free"]
        rows.append({**problem.size, "query": name, **times, "budget / free": ratio, "opening, s": opening})
    return rows


def deep_highs(problem: Problem) -> bench.Row:
    """Return one row: seconds of one value by HiGHS at depth 3, what it has proved by then, and the search's value."""
    costs = problem.costs()
    solver = problem.oracle(problem.budget, "milp", depth=3, time_limit=SECONDS_OF_HIGHS)
    seconds, answer = bench.timed(solver.minimise, costs)
    value = problem.oracle(problem.budget, depth=3).value(costs)
    if not answer.lower <= value <= answer.upper:
        raise SystemExit("the oracles disagree")
    proved = {"least proved": answer.lower, "best found": answer.upper}
    return {**problem.size, "HiGHS, s": seconds, **proved, "search": value}


def two_rows(problem: Problem) -> bench.Row:
    """Return one row: median and worst milliseconds of a value over many matrices, each of them asked twice."""
    oracle = problem.oracle([*problem.budget, *problem.parity])
    drawn = [problem.costs() for _ in range(MATRICES)]
    times = [min(timed(oracle, costs)[0] for _ in range(2)) for costs in drawn]
    return {**problem.size, "matrices": MATRICES, "median": float(np.median(times)), "worst": max(times)}


def cases(problem: Problem, *, quick: bool) -> list[tuple[str, str, str]]:
    """Return (class, rule, solver) of the measurements of solvers; the larger problem is for HiGHS alone."""
    if problem.m > SIZES[0][0]:
        return [] if quick else [("trees", "budget", "highs"), ("trees", "parity", "highs")]
    every = [(name, rule, "highs") for name in CLASSES for rule in ("budget", "parity", "both")]
    here = [info.name for info in describe_all() if info.name in VENDORS and not info.missing and not quick]
    return every + [("trees", rule, solver) for solver in here for rule in ("budget", "both")]


def by_solver(problem: Problem, name: str, rule: str, solver: str) -> bench.Row:
    """Return one row: median and worst milliseconds of a value."""
    rules = {"budget": problem.budget, "parity": problem.parity, "both": [*problem.budget, *problem.parity]}[rule]
    oracle = open_oracle(CLASSES[name], problem.contexts, solver=solver, constraints=rules)
    found = [timed(oracle, problem.costs())[0] for _ in range(WARM_UP + BY_SOLVER)][WARM_UP:]
    asked = {"class": name, "rules": rule, "solver": solver}
    return {**problem.size, **asked, "median": float(np.median(found)), "worst": max(found)}


def timed(oracle: Oracle, costs: Floats) -> tuple[float, float]:
    seconds, value = bench.timed(oracle.value, costs)
    return 1e3 * seconds, value


if __name__ == "__main__":
    main()
