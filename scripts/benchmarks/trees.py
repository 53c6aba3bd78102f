"""How fast is the exact search over decision trees? Ratios to bare arithmetic, to a MILP solver, and one BISTRO+ round.

    python scripts/benchmarks/trees.py [--json FILE] [--quick]

Bare arithmetic is the better of (a) the BLAS product X' diag(c_a) X for all actions a, in single or double precision,
and (b) a compiled loop over the literals that hold at each context; both only fill the pair histogram and find no tree.
STreeD takes part if it is installed, ``pip install pystreed scikit-survival``.
Times are CPU times of one core. The contenders of one row take turns and the best of their rounds counts, so that a
busy machine changes ratios little.
"""

import argparse
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import bench
import numpy as np
from numba import njit
from peers import streed

from milpcb import FinitePool, open_oracle
from milpcb.learners import BistroPlus
from milpcb.oracles.growing import GrowingOracle
from milpcb.protocols import Opened
from milpcb.types import Floats
from policies import DecisionTrees

DEPTH_2 = [(200, 12, 3), (300, 10, 3), (1000, 30, 3), (1000, 60, 5), (10000, 30, 3), (10000, 100, 3)]
DEPTH_3 = [(300, 10, 3), (1000, 30, 3), (10000, 30, 3)]
DEEP = [(m, p, depth) for m, p in [(300, 10), (1000, 30), (10_000, 30)] for depth in (3, 4, 5) if m + depth < 10_005]
LIMITED = [(300, 10, 3, 2), (1000, 30, 3, 2), (300, 10, 3, 3), (1000, 30, 3, 3)]
CUTS_LIMITED: list[tuple[int, int, int | str, int]] = [
    (10_000, 10, 31, 2),
    (10_000, 10, 9, 3),
    (1000, 30, "all", 2),
    (10_000, 30, "all", 2),
]
KEPT = [(200, 12, 3), (3000, 12, 3)]
AGAINST_LP = [(300, 10, 3), (1000, 30, 3)]
ROUNDS = 15
FEW_ROUNDS = 3  # of contenders that take long


def main() -> None:
    parser = argparse.ArgumentParser(description="Time the exact search over decision trees.")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    parser.add_argument("--quick", action="store_true", help="small sizes only")
    arguments = parser.parse_args()
    largest = 1000 if arguments.quick else 10_000
    rows: dict[str, list[dict[str, Any]]] = {
        "first call (compiled, or read from the cache)": [first_call()],
        "depth 2": [depth_2(*size) for size in DEPTH_2 if size[0] <= largest],
        "depth 3": [depth_3(*size) for size in DEPTH_3 if size[0] <= largest],
        "depths 3, 4 and 5, K = 3, beside STreeD": [deep(*size) for size in DEEP if size[0] <= largest],
        "value under structure limits, and its ratio to the value without": [limited(*size) for size in LIMITED],
        "the same with many cuts of normal features": [
            limited_cuts(*size) for size in CUTS_LIMITED if size[0] <= largest
        ],
        "HiGHS, hot LP at depth 2": [against_lp(*size) for size in AGAINST_LP],
        "kept tables, depth 2, with noise, against the search on all costs": [kept(*size) for size in KEPT],
        "BISTRO+, 200 contexts, 12 literals, K = 3": [bistro_round(horizon) for horizon in (100_000, 1_000_000)],
    }
    for title, table in rows.items():
        bench.show(title, table)
    bench.write(arguments.json, {**bench.MACHINE, "times": "ms", **rows})


def first_call() -> dict[str, Any]:
    """Return the seconds of the first whole, real and weighted queries of the process."""
    contexts, costs = instance(20, 5, 3)
    search = DecisionTrees(3).on(contexts).search()
    return {
        "value, whole costs, s": bench.timed(search.value, costs)[0],
        "value, real costs, s": bench.timed(search.value, costs / 3)[0],
        "weights, s": bench.timed(search.log_weights, costs, 0, 0.1)[0],
    }


def depth_2(m: int, p: int, n_actions: int) -> dict[str, Any]:
    """Return one row: the bare products and loops, and what the search takes."""
    contexts, costs = instance(m, p, n_actions)
    search = DecisionTrees(n_actions).on(contexts).search()
    bare = {
        "BLAS single": blas(contexts, costs, np.float32),
        "BLAS double": blas(contexts, costs, np.float64),
        "bit loop": bit_loop(contexts, costs),
    }
    asked = {
        "value": lambda: search.value(costs),
        "profile": lambda: search.profile(costs, 3),
        "value, real": lambda: search.value(costs / 3),
        "weights": lambda: search.log_weights(costs, 3, 0.01),
        "minimise": lambda: search.minimise(costs),
    }
    times = bench.compete(bare | asked, rounds=ROUNDS)
    ratios = {
        "value / bare": times["value"] / min(times[name] for name in bare),
        "minimise / value": times["minimise"] / times["value"],
    }
    return {"contexts, literals, K": f"{m}, {p}, {n_actions}", **times, **ratios}


def depth_3(m: int, p: int, n_actions: int) -> dict[str, Any]:
    """Return one row for trees of depth 3."""
    contexts, costs = instance(m, p, n_actions)
    search = DecisionTrees(n_actions, depth=3).on(contexts).search()
    asked = {
        "value": lambda: search.value(costs),
        "value, real": lambda: search.value(costs / 3),
        "minimise": lambda: search.minimise(costs),
    }
    times = bench.compete(asked, rounds=ROUNDS)
    ratio = {"minimise / value": times["minimise"] / times["value"]}
    return {"contexts, literals, K": f"{m}, {p}, {n_actions}", **times, **ratio}


def deep(m: int, p: int, depth: int) -> dict[str, Any]:
    """Return one row: a value on whole and on real costs, the weights of Exp4, and STreeD's tree, whose cost is it."""
    contexts, costs = instance(m, p, 3)
    search = DecisionTrees(3, depth=depth).on(contexts).search()
    asked = {
        "value": lambda: search.value(costs),
        "value, real": lambda: search.value(costs / 3),
        "weights": lambda: search.log_weights(costs, 3, 0.01),
    }
    if find_spec("pystreed"):
        chooses = streed(contexts, costs, depth, cuts=1)
        if costs[np.arange(m), chooses(contexts)].sum() != search.value(costs):
            raise SystemExit(f"STreeD disagrees on {m} contexts, {p} literals, depth {depth}")
        asked["STreeD"] = lambda: streed(contexts, costs, depth, cuts=1)
    times = bench.compete(asked, rounds=ROUNDS if m <= 1000 and depth < 5 else FEW_ROUNDS)
    ratio = {"STreeD / value": times["STreeD"] / times["value"]} if "STreeD" in times else {}
    return {"contexts, literals, depth": f"{m}, {p}, {depth}", **times, **ratio}


def limited(m: int, p: int, n_actions: int, depth: int) -> dict[str, Any]:
    """Return one row: a value without limits, and how many times as long one takes under each limit."""
    contexts, costs = instance(m, p, n_actions)
    return {
        "contexts, literals, K, depth": f"{m}, {p}, {n_actions}, {depth}",
        **under_limits(contexts, costs, depth, 3),
    }


def limited_cuts(m: int, d: int, thresholds: int | str, depth: int) -> dict[str, Any]:
    """Return one row: the same for real costs and features, which have many cuts."""
    rng = np.random.default_rng(0)
    contexts, costs = rng.normal(size=(m, d)), rng.normal(size=(m, 3))
    size = {"contexts, features, cuts, depth": f"{m}, {d}, {thresholds}, {depth}"}
    return size | under_limits(contexts, costs, depth, thresholds)


def under_limits(contexts: Floats, costs: Floats, depth: int, thresholds: int | str) -> dict[str, Any]:
    """Return the route, milliseconds without limits, and how many times as long a value takes under each limit."""
    m, n_actions = costs.shape
    logged = {"min_action_rows": m // 100, "logged_actions": np.arange(m) % n_actions}
    limits: dict[str, dict[str, Any]] = {
        "none": {},
        "min_leaf_size": {"min_leaf_size": m // 20},
        "min_action_rows": logged,
        "max_leaves": {"max_leaves": 2**depth - 1},
        "max_features": {"max_features": 2},
        "all": {"min_leaf_size": m // 20, "max_leaves": 2**depth - 1, "max_features": 2, **logged},
    }
    classes = {
        name: DecisionTrees(n_actions, depth=depth, thresholds=thresholds, **own) for name, own in limits.items()
    }
    opened = {name: trees.on(contexts) for name, trees in classes.items()}
    asked = {name: value_of(on, costs) for name, on in opened.items()}
    times = bench.compete(asked, rounds=ROUNDS if m <= 1000 else FEW_ROUNDS)
    ratios = {f"{name} / none": times[name] / times["none"] for name in limits if name != "none"}
    return {"route": str(opened["none"].route), "none": times["none"], **ratios}


def value_of(opened: Opened, costs: Floats) -> Callable[[], float]:
    """Return what asks for a value, of costs (m, K) added up by distinct context."""
    merged = np.zeros((len(opened.contexts), costs.shape[1]))
    np.add.at(merged, opened.group, costs)
    search = opened.search()
    return lambda: search.value(merged)


def against_lp(m: int, p: int, n_actions: int) -> dict[str, Any]:
    """Return one row: a value through the oracle, by the search and by a solver that goes on from its last basis."""
    contexts, _ = instance(m, p, n_actions)
    rng = np.random.default_rng(1)
    tables = [rng.integers(-20, 21, (m, n_actions)).astype(float) for _ in range(10)]
    oracles = {kind: open_oracle(DecisionTrees(n_actions), contexts, kind=kind) for kind in ("search", "milp")}
    for costs in tables:
        values = {kind: oracle.value(costs) for kind, oracle in oracles.items()}
        if len(set(values.values())) > 1:
            raise SystemExit(f"the oracles disagree: {values}")
    times = bench.compete(
        {kind: lambda oracle=oracle: [oracle.value(c) for c in tables] for kind, oracle in oracles.items()}
    )
    search, lp = times["search"] / len(tables), times["milp"] / len(tables)
    return {"contexts, literals, K": f"{m}, {p}, {n_actions}", "search": search, "LP": lp, "LP / search": lp / search}


def kept(m: int, p: int, n_actions: int) -> dict[str, Any]:
    """Return one row: a learner's queries to a table of totals, and today's, which hand over all contexts' costs."""
    contexts, costs = instance(m, p, n_actions)
    oracle = open_oracle(DecisionTrees(n_actions), contexts, kind="search")
    table = GrowingOracle(DecisionTrees(n_actions), contexts).table()
    rng = np.random.default_rng(1)
    noise, noisy_costs = rng.laplace(size=table.n_noisy), costs + rng.laplace(size=costs.shape)
    times = bench.compete(
        {
            "add": lambda: table.add(3, 1, 0.5),
            "profile": lambda: table.profile(3, noise),
            "profile, all costs": lambda: oracle.profile(noisy_costs, 3),
            "weights": lambda: table.action_weights(3, 0.01),
            "weights, all costs": lambda: oracle.action_weights(noisy_costs, 3, 0.01),
        },
        rounds=ROUNDS,
    )
    ratios = {f"{name}: all / kept": times[f"{name}, all costs"] / times[name] for name in ("profile", "weights")}
    return {"contexts, literals, K": f"{m}, {p}, {n_actions}", **times, **ratios}


def bistro_round(horizon: int) -> dict[str, Any]:
    """Return one row: act and learn, noise included, one profile a round."""
    contexts, _ = instance(200, 12, 3)
    oracle = open_oracle(DecisionTrees(3), contexts, kind="search")
    learner = BistroPlus(oracle, FinitePool(contexts), horizon=horizon, seed=0, queries="profile")

    def play() -> None:
        for row in range(200):
            q = learner.act(row)
            learner.learn(row, row % 3, 0.5, float(q[row % 3]))

    times = bench.compete({"round": play}, calls=1, rounds=ROUNDS)
    asked = bench.compete({"profile": lambda: oracle.profile(np.zeros((200, 3)), 3)}, rounds=ROUNDS)
    return {"horizon": horizon, "round": times["round"] / 200, "of which the oracle": asked["profile"]}


def instance(m: int, p: int, n_actions: int) -> tuple[Floats, Floats]:
    """Return m different contexts of p binary features, and whole costs of both signs."""
    rng = np.random.default_rng(0)
    contexts = rng.integers(0, 2, (m, p)) if p > 16 else (rng.permutation(2**p)[:m, None] >> np.arange(p)) & 1
    return contexts.astype(float), rng.integers(-20, 21, (m, n_actions)).astype(float)


def blas(contexts: Floats, costs: Floats, dtype: Any) -> Callable[[], Any]:
    """Return a call that fills H[f, a, g] as one matrix product, all arrays given."""
    (m, p), n_actions = contexts.shape, costs.shape[1]
    truth, table = (contexts == 0).astype(dtype), costs.astype(dtype)
    turned, wide, out = truth.T.copy(), np.empty((m, n_actions, p), dtype), np.empty((p, n_actions * p), dtype)

    def fill() -> Any:
        np.multiply(truth[:, None, :], table[:, :, None], out=wide)
        return np.matmul(turned, wide.reshape(m, -1), out=out)

    return fill


def bit_loop(contexts: Floats, costs: Floats) -> Callable[[], Any]:
    """Return a call that fills H[f, g, a], g >= f, from the literals that hold at each context."""
    row, literal = np.nonzero(contexts == 0)
    start = np.searchsorted(row, np.arange(len(contexts) + 1))
    totals = np.empty((contexts.shape[1], contexts.shape[1], costs.shape[1]))
    kernel = _three_actions if costs.shape[1] == 3 else _any_actions
    return lambda: kernel(literal, start, costs, totals)


@njit
def _any_actions(literal: Any, start: Any, costs: Any, totals: Any) -> None:
    totals[:] = 0.0
    for j in range(len(costs)):
        for u in range(start[j], start[j + 1]):
            for v in range(u, start[j + 1]):
                for a in range(costs.shape[1]):
                    totals[literal[u], literal[v], a] += costs[j, a]


@njit
def _three_actions(literal: Any, start: Any, costs: Any, totals: Any) -> None:
    """Do the same with the innermost loop written out, which is up to twice as fast as ``_any_actions``."""
    totals[:] = 0.0
    for j in range(len(costs)):
        c0, c1, c2 = costs[j, 0], costs[j, 1], costs[j, 2]
        for u in range(start[j], start[j + 1]):
            for v in range(u, start[j + 1]):
                totals[literal[u], literal[v], 0] += c0
                totals[literal[u], literal[v], 1] += c1
                totals[literal[u], literal[v], 2] += c2


if __name__ == "__main__":
    main()
