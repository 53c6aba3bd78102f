"""Time of side constraints in the search over trees: against its own free queries, and for solvers.

    python scripts/benchmarks/constraints.py [--json FILE] [--quick]

K = 3 actions. The rules: at most 20 % of the contexts get the last action (one row); rates of action 0 in two groups
that differ by at most 0.1 (one row, two-sided); both. Costs are sums of random signs as BISTRO+ draws them; on top the
last action is cheap everywhere, and action 0 in one of the groups, so that all rules bind. Literals hold at 10 to 90 %
of the contexts. Times are CPU times of one core, through the public oracle. Contenders of a row take turns on the same
matrix, and the best of their rounds counts.

One table asks kind "milp": of several rules, classes and solvers, those that are installed and whose licence allows the
program. ``--quick`` leaves out what takes minutes: the larger problems of HiGHS, and other solvers. A learner under the
budget is played by scripts/reproduce/constraint.toml.
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
BY_SOLVER, WARM_UP = 12, 2
VENDORS = ["gurobi", "xpress", "copt", "scip"]
CLASSES: dict[str, PolicyClass] = {
    "trees": DecisionTrees(N_ACTIONS),
    "lists of two rules": RuleLists(N_ACTIONS, max_rules=2),
    "trees of depth 3": DecisionTrees(N_ACTIONS, depth=3),
}
QUERIES: dict[str, Callable[[Oracle, Floats], Any]] = {
    "value": lambda oracle, costs: oracle.value(costs),
    "profile": lambda oracle, costs: oracle.profile(costs, 3),
    "action weights": lambda oracle, costs: oracle.action_weights(costs, 3, 0.01),
}


def main() -> None:
    arguments = bench.options(__doc__, quick="what takes minutes").parse_args()
    problems = [Problem(m, p) for m, p in SIZES]
    searched = [("trees", problems, ("budget", "parity", "both")), ("trees of depth 3", problems[:2], ("budget",))]
    rows: dict[str, list[bench.Row]] = {
        "one query of the search, ms, and how many times a free one it takes": [
            against_free(problem, name, query, rules)
            for name, those, rules in searched
            for problem in those
            for query in QUERIES
        ],
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
        budget, rates = share_at_most(N_ACTIONS - 1, SHARE), parity(0, self.group, DELTA)
        self.rules: dict[str, list[Constraint]] = {
            "free": [],
            "budget": [budget],
            "parity": [rates],
            "both": [budget, rates],
        }

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


def against_free(problem: Problem, name: str, query: str, rules: Sequence[str]) -> bench.Row:
    """Return one row: a query without a rule, and under each of the rules."""
    costs, asked = problem.costs(), {}
    for rule in ("free", *rules):
        oracle = open_oracle(CLASSES[name], problem.contexts, kind="search", constraints=problem.rules[rule])
        asked[rule] = partial(QUERIES[query], oracle, costs)
    times = bench.compete(asked)
    ratios = {f"{rule} / free": times[rule] / times["free"] for rule in rules}
    return {**problem.size, "class": name, "query": query, **times, **ratios}


def cases(problem: Problem, *, quick: bool) -> list[tuple[str, str, str]]:
    """Return (class, rule, solver) of the measurements of solvers; the larger problem is for HiGHS alone."""
    if problem.m > SIZES[0][0]:
        return [] if quick else [("trees", "budget", "highs"), ("trees", "parity", "highs")]
    every = [(name, rule, "highs") for name in list(CLASSES)[:2] for rule in ("budget", "parity", "both")]
    every += [] if quick else [("trees of depth 3", "budget", "highs")]
    here = [info.name for info in describe_all() if info.name in VENDORS and not info.missing and not quick]
    return every + [("trees", rule, solver) for solver in here for rule in ("budget", "both")]


def by_solver(problem: Problem, name: str, rule: str, solver: str) -> bench.Row:
    """Return one row: median and worst milliseconds of a value."""
    oracle = open_oracle(CLASSES[name], problem.contexts, solver=solver, constraints=problem.rules[rule])
    every = [1e3 * bench.timed(oracle.value, problem.costs())[0] for _ in range(WARM_UP + BY_SOLVER)]
    found = every[WARM_UP:]
    asked = {"class": name, "rules": rule, "solver": solver}
    return {**problem.size, **asked, "median": float(np.median(found)), "worst": max(found)}


if __name__ == "__main__":
    main()
