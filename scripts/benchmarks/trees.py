"""How fast is the exact search over decision trees? By depth beside STreeD, and under limits.

    python scripts/benchmarks/trees.py [--json FILE] [--quick]

STreeD takes part if it is installed, ``pip install pystreed scikit-survival``; its tree has to cost what ours does.
Times are CPU times of one core. The contenders of one row take turns and the best of their rounds counts, so that a
busy machine changes ratios little.
"""

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import bench
import numpy as np
from peers import streed

from milpcb.protocols import Opened
from milpcb.types import Floats
from policies import DecisionTrees

SIZES = [(200, 12, 3), (300, 10, 3), (1000, 30, 3), (1000, 60, 5), (10_000, 30, 3), (10_000, 100, 3)]
DEEP = [(m, p, 3, depth) for m, p in [(300, 10), (1000, 30), (10_000, 30)] for depth in (3, 4, 5) if m + depth < 10_005]
LIMITED = [(300, 10, 3, 2), (1000, 30, 3, 2), (300, 10, 3, 3), (1000, 30, 3, 3)]
CUTS_LIMITED: list[tuple[int, int, int | str, int]] = [
    (10_000, 10, 31, 2),
    (10_000, 10, 9, 3),
    (1000, 30, "all", 2),
    (10_000, 30, "all", 2),
]
ROUNDS = 15
FEW_ROUNDS = 3  # of contenders that take long


def main() -> None:
    arguments = bench.options(__doc__, quick="10 000 contexts").parse_args()
    largest = 1000 if arguments.quick else 10_000
    rows: dict[str, list[bench.Row]] = {
        "one query, ms, beside STreeD": [
            by_depth(*size) for size in [*((*size, 2) for size in SIZES), *DEEP] if size[0] <= largest
        ],
        "value under structure limits, ms, and its ratio to the value without": [limited(*size) for size in LIMITED],
        "the same with many cuts of normal features": [
            limited_cuts(*size) for size in CUTS_LIMITED if size[0] <= largest
        ],
    }
    bench.report(rows, arguments.json)


def by_depth(m: int, p: int, n_actions: int, depth: int) -> bench.Row:
    """Return one row: queries on whole and on real costs, the weights of Exp4, and STreeD's tree, whose cost is it."""
    contexts, costs = instance(m, p, n_actions)
    search = DecisionTrees(n_actions, depth=depth).on(contexts).search()
    asked: dict[str, Callable[[], Any]] = {
        "value": lambda: search.value(costs),
        "value, real": lambda: search.value(costs / 3),
        "weights": lambda: search.log_weights(costs, 3, 0.01),
        "minimise": lambda: search.minimise(costs),
        "profile": lambda: search.profile(costs, 3),
    }
    if find_spec("pystreed") and depth > 2:
        chooses = streed(contexts, costs, depth, cuts=1)
        bench.check_same("STreeD", [costs[np.arange(m), chooses(contexts)].sum()], [search.value(costs)])
        asked["STreeD"] = lambda: streed(contexts, costs, depth, cuts=1)
    times = bench.compete(asked, rounds=ROUNDS if m <= 1000 and depth < 5 else FEW_ROUNDS)
    ratio = {"STreeD / value": times["STreeD"] / times["value"]} if "STreeD" in times else {}
    return {"contexts, literals, K, depth": f"{m}, {p}, {n_actions}, {depth}", **times, **ratio}


def limited(m: int, p: int, n_actions: int, depth: int) -> bench.Row:
    """Return one row: a value without limits, and how many times as long one takes under each limit."""
    contexts, costs = instance(m, p, n_actions)
    return {
        "contexts, literals, K, depth": f"{m}, {p}, {n_actions}, {depth}",
        **under_limits(contexts, costs, depth, 3),
    }


def limited_cuts(m: int, d: int, thresholds: int | str, depth: int) -> bench.Row:
    """Return one row: the same for real costs and features, which have many cuts."""
    rng = np.random.default_rng(0)
    contexts, costs = rng.normal(size=(m, d)), rng.normal(size=(m, 3))
    size = {"contexts, features, cuts, depth": f"{m}, {d}, {thresholds}, {depth}"}
    return size | under_limits(contexts, costs, depth, thresholds)


def under_limits(contexts: Floats, costs: Floats, depth: int, thresholds: int | str) -> bench.Row:
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


def instance(m: int, p: int, n_actions: int) -> tuple[Floats, Floats]:
    """Return m different contexts of p binary features, and integer costs of both signs."""
    rng = np.random.default_rng(0)
    contexts = rng.integers(0, 2, (m, p)) if p > 16 else (rng.permutation(2**p)[:m, None] >> np.arange(p)) & 1
    return contexts.astype(float), rng.integers(-20, 21, (m, n_actions)).astype(float)


if __name__ == "__main__":
    main()
