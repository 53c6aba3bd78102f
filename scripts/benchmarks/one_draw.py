"""One draw of the future beside fresh draws: queries, rule changes and CPU seconds of a run, and of a quiet round.

200 contexts, 12 binary features, K = 3, depth-2 trees, half noise, a planted tree. A run with fresh draws is measured
over a few rounds, K + 1 values or one minimiser each, and multiplied: at T = 1e6 a solver would take an hour and more.
Harms are what a query at each of them would take; then come queries without a look ahead, those of a run, and how many
of these were about ties. --spread measures means and standard deviations of regret over seeds, by noise and number of
futures; a difference from fresh draws is that of the means, in its standard errors over pairs of equal seeds. It takes
10 s a seed, and goes on with the seeds that FILE has, which is written after each. --counts
replays the changes of a run over the list of all trees: queries at each harm; where harms exceed the gap to the second
best; where the least of the n best no longer is below all others; and those of the run, which looks ahead. --programs
plays classes of slow programs by HiGHS; T = 10 000 takes minutes with one of them.

    python scripts/benchmarks/one_draw.py [--horizons 10000 100000] [--oracles search highs] [--fresh 200] [--json FILE]
        [--spread 200] [--counts] [--programs]
"""

import json
from pathlib import Path
from time import process_time
from typing import Any
from unittest.mock import patch

import bench
import numpy as np

from milpcb import FinitePool, open_oracle
from milpcb.constraints import Constraint, parity, share_at_most
from milpcb.core.decimals import spaced
from milpcb.environments.planted import Planted
from milpcb.learners import BistroPlus
from milpcb.learners import kept_minimiser as kept
from milpcb.protocols import PolicyClass
from milpcb.types import Floats
from policies import DecisionTrees, Halfspaces, LinearRules

QUIET, QUIET_HORIZON = 20_000, 10**6  # calls of act and learn, of so many
SPREAD = 5_000  # rounds
WORLD, FRESH = Planted(), 1_000  # rounds of fresh draws where nothing changes
NOISES = ("paper", "half", "coordinate", "signed")
FUTURES = [*((noise, n) for noise in NOISES for n in (0, 1)), ("half", 4), ("half", 16)]  # 0 for fresh draws
TREES = DecisionTrees(2, depth=2)
PROGRAMS: dict[str, tuple[PolicyClass, int, int, bool, list[Constraint]]] = {  # contexts, features, whether 0 and 1
    "trees, action 1 on at most a third": (TREES, 200, 12, True, [share_at_most(1, 1 / 3)]),
    "trees, parity": (TREES, 200, 12, True, [parity(1, 0, 0.1)]),
    "halfspaces": (Halfspaces(), 60, 3, False, []),
    'linear rules, scores="each"': (LinearRules(2, max_features=2, scores="each"), 100, 8, True, []),
    "linear rules, weights to 5": (LinearRules(2), 100, 8, True, []),
}
KNOWN = {"harms": 0, "gap": 1, "4 best": 4, "24 best": 24, "200 best": 200}  # policies listed by a query
Rows = dict[str, dict[str, float]]  # of a table, by name: its figures by column


class Run:
    """A run on a planted tree, with everything drawn beforehand."""

    def __init__(self, horizon: int, kind: str, seed: int) -> None:
        self.horizon = horizon
        trees, rng = DecisionTrees(n_actions=3, depth=2), np.random.default_rng(seed)
        stream = WORLD.open(trees, horizon, seed)
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
        """Return a learner, with half noise unless another one is named."""
        pool = FinitePool(self.oracle.contexts)
        return BistroPlus(self.oracle, pool, horizon=self.horizon, **{"noise": "half", "seed": self.seed} | options)

    def play(self, learner: BistroPlus, rounds: int) -> tuple[float, float]:
        """Return CPU seconds and regret of the first rounds."""
        costs, paid, start = self.costs.tolist(), 0.0, process_time()
        for t in range(rounds):
            row = self.rows[t]
            q = learner.act(row).tolist()
            action, left = 0, self.uniform[t] - q[0]
            while left > 0.0 and action < len(q) - 1:
                action += 1
                left -= q[action]
            paid += costs[t][action]
            learner.learn(row, action, costs[t][action], q[action])
        seconds, totals = process_time() - start, np.zeros((self.oracle.n_contexts, self.oracle.n_actions))
        np.add.at(totals, self.rows[:rounds], self.costs[:rounds])
        return seconds, paid - self.reference.value(totals)


class ProgramRun(Run):
    """A run by HiGHS on a class and contexts: of two actions one costs 1 less often, by a linear score."""

    def __init__(self, horizon: int, policies: PolicyClass, contexts: Floats, limits: list[Constraint]) -> None:
        rng, self.horizon, self.seed = np.random.default_rng(1), horizon, 0
        m, scores = len(contexts), contexts @ rng.normal(size=contexts.shape[1])
        self.oracle = self.reference = open_oracle(policies, contexts, kind="milp", constraints=limits)
        self.rows = rng.integers(m, size=horizon).tolist()
        right = (scores > np.median(scores)).astype(int)
        chances = np.where(np.eye(2)[right] == 1, 0.3, 0.6)
        self.costs = (rng.random((horizon, 2)) < chances[self.rows]).astype(float)
        self.uniform = rng.random(horizon).tolist()


def programs(horizon: int) -> Rows:
    """Return queries, rule changes and CPU seconds of runs by programs that take long."""
    found = {}
    for name, (policies, m, d, binary, limits) in PROGRAMS.items():
        rng = np.random.default_rng(0)
        contexts = rng.integers(0, 2, (m, d)).astype(float) if binary else rng.normal(size=(m, d))
        run = ProgramRun(horizon, policies, contexts, limits)
        found[f"{name}, {m} x {d}"] = figures(run, run.learner(future="once"))
    return found


def figures(run: Run, learner: BistroPlus) -> dict[str, float]:
    seconds, regret = run.play(learner, run.horizon)
    once: Any = learner.one_draw
    return {
        "harms": once.harms,
        "queries": once.queries,
        "of ties": once.ties,
        "rule changes": once.changes,
        "regret": regret,
        "guarantee": learner.guarantee(),
        "seconds": seconds,
    }


def measured(horizon: int, kind: str, fresh: int) -> dict[str, float]:
    """Return the figures of one run; of fresh draws seconds for the whole horizon."""
    run = Run(horizon, kind, 0)
    found = figures(run, run.learner(future="once"))
    with patch.object(kept, "FARTHEST", 0):
        near = run.learner(future="once")
        run.play(near, horizon)
    found["no look ahead"] = near.queries
    for name, queries in (("fresh argmin", "argmin"), ("fresh K + 1", "all")):
        found[name] = run.play(run.learner(queries=queries), fresh)[0] / fresh * horizon
    return found


def quiet() -> dict[str, float]:
    """Return microseconds of act and learn where nothing changes: at cost 0, and beside it a fresh draw by search."""
    run = Run(QUIET_HORIZON, "search", 0)
    kept = run.learner(future="once", scale=1e6)  # hardly any noise
    run.costs[:] = 0.0
    run.play(kept, 100)
    kept, asked = run.learner(future="once", scale=1e6), run.learner(queries="argmin")
    return {
        "once": 1e6 / QUIET * run.play(kept, QUIET)[0],
        "fresh argmin": 1e6 / FRESH * run.play(asked, FRESH)[0],
    }


def regrets(seed: int) -> list[list[float]]:
    """Return regret, queries and rule changes of one seed for each of FUTURES."""
    run, found = Run(SPREAD, "search", seed), []
    for noise, futures in FUTURES:
        options = {"future": "once", "futures": futures} if futures else {"queries": "profile", "leftover": "leader"}
        learner = run.learner(noise=noise, **options)
        _, regret = run.play(learner, SPREAD)
        found.append([regret, learner.queries, learner.rule_changes or 0])
    return found


def spread(seeds: int, file: Path | None) -> Rows:
    """Return means and standard deviations over seeds."""
    found = json.loads(file.read_text(encoding="utf-8")) if file and file.exists() else []
    for seed in range(len(found), seeds):
        found.append(regrets(seed))
        if file:
            file.write_text(json.dumps(found), encoding="utf-8")
    figures, rows = np.array(found), {}
    for i, (noise, futures) in enumerate(FUTURES):
        regret, queries, changes = figures[:, i].T
        apart = regret - figures[:, FUTURES.index((noise, 0)), 0]
        rows[f"{noise}, {futures or 'fresh'}"] = {
            "mean": regret.mean(),
            "sd": regret.std(ddof=1),
            "difference": apart.mean(),
            "its standard error": apart.std(ddof=1) / np.sqrt(len(found)),
            "queries": queries.mean(),
            "rule changes": changes.mean(),
        }
    return rows


def counts(horizon: int) -> dict[str, float]:
    """Return how many queries a run asks, and would ask if it knew the gap, or the n best, from each query."""
    run, changes = Run(horizon, "search", 0), []
    plain = kept.KeptMinimiser.change

    def recorded(self: kept.KeptMinimiser, row: int, change: Floats) -> None:
        changes.append((row, change.copy()))
        plain(self, row, change)

    learner = run.learner(future="once")
    start = learner.totals()
    with patch.object(kept.KeptMinimiser, "change", recorded):
        run.play(learner, horizon)
    once: Any = learner.one_draw
    asked = {"changes": len(changes), "the run": once.queries - once.ties}
    trees: Any = open_oracle(DecisionTrees(n_actions=3, depth=2), run.oracle.contexts, kind="enumeration")
    labels = trees.labelings.T.copy()
    totals = start[np.arange(len(labels))[:, None], labels].sum(axis=0)
    leader, known = int(totals.argmin()), {name: _Known(n) for name, n in KNOWN.items()}
    for row, change in changes:
        totals += change[labels[row]]
        harm, least = float(change[labels[row, leader]] - change.min()), float(change.min())
        if totals[leader] > totals.min():
            leader = int(totals.argmin())
        for each in known.values():
            each.change(totals, harm, least)
    return asked | {name: each.queries for name, each in known.items()}


class _Known:
    """How often a query is asked that lists the ``n`` best policies and what all others cost at least."""

    def __init__(self, n: int) -> None:
        self._n, self._best = n, np.zeros(0, dtype=np.int64)
        self._others, self.queries = -np.inf, 0

    def change(self, totals: Floats, harm: float, least: float) -> None:
        """Take in a change; ask where the best of the list may no longer be the best of all."""
        self._others += least
        if not (harm if self._n == 0 else totals[self._best].min(initial=np.inf) > self._others):
            return
        self.queries += 1
        if self._n:
            order = totals.argpartition(self._n)
            self._best, self._others = order[: self._n], float(totals[order[self._n]])


def named(rows: Rows) -> list[bench.Row]:
    return [{"": name, **{heading: float(figure) for heading, figure in row.items()}} for name, row in rows.items()]


def main() -> None:
    parser = bench.options(__doc__)
    parser.add_argument("--horizons", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--oracles", nargs="+", default=["search", "highs"])
    parser.add_argument("--fresh", type=int, default=200)
    parser.add_argument("--spread", type=int, help="seeds")
    parser.add_argument("--counts", action="store_true")
    parser.add_argument("--programs", action="store_true")
    options = parser.parse_args()
    horizons = {f"T = {spaced(horizon)}": horizon for horizon in options.horizons}
    if options.spread:
        bench.show(f"regret, T = {SPREAD:,}, {options.spread} seeds", named(spread(options.spread, options.json)))
        return
    if options.counts:
        tables = {"queries, none of them about ties": {name: counts(horizon) for name, horizon in horizons.items()}}
    elif options.programs:
        tables = {f"half noise, one draw, HiGHS, {name}": programs(horizon) for name, horizon in horizons.items()}
    else:
        cases = {f"{name}, {kind}": (T, kind) for name, T in horizons.items() for kind in options.oracles}
        tables = {
            "half noise, one draw": {name: measured(*case, options.fresh) for name, case in cases.items()},
            "a quiet round": {"microseconds": quiet()},
        }
    bench.report({title: named(rows) for title, rows in tables.items()}, options.json)


if __name__ == "__main__":
    main()
