"""Time that cut points take, and their worth.

    python scripts/benchmarks/cuts.py [--json FILE] [--quick]

Trees of depth 2 (3 where named), K = 3, standard normal features. *Noise*: costs are normal and have nothing to do
with the features, the hardest case for bounds. *Planted*: the action that a tree of depth 2 chooses costs 0.5 less.
Three tables:

codes of features against products of literals
    the same query by both routes, which take turns; answers must agree, or the script stops
all cut points
    opening, a value, which is proved, and how many root cuts were evaluated of how many there are, beside published
    figures of others; at the smallest size the value must be that of all pairs of cuts
the worth of cut points
    mean saving per context on the planted tree, by thresholds: on the contexts learned from and on 100 000 fresh ones

Times are CPU times of one core, the least of several turns.
"""

from collections.abc import Callable

import bench
import numpy as np

from milpcb.types import Floats, Ints
from policies import DecisionTrees
from policies.literals import Literals
from policies.names import Names
from policies.trees import every_cut
from policies.trees.limits import TreesOn
from policies.trees.routes import route
from policies.trees.search import TreeSearch

SEED = 0
N_ACTIONS = 3
GAIN = 0.5
ROUTES = [(1000, 30, 3, 2), (1000, 30, 9, 2), (10_000, 10, 9, 2), (10_000, 30, 9, 2), (10_000, 10, 9, 3)]
ALL = [
    (300, 5, 2),
    (1000, 10, 2),
    (1000, 30, 2),
    (2000, 10, 2),
    (10_000, 10, 2),
    (10_000, 30, 2),
    (100_000, 10, 2),
    (100_000, 30, 2),
    (500, 5, 3),
    (2000, 10, 3),
]
# Times that the authors of fastpolicytree publish of it and of policytree (arXiv 2506.15435), for K = 3 and continuous
# features, on their machine, by depth, contexts and features. None of it was run here.
PEERS = ("fastpolicytree, published", "policytree, published")
PUBLISHED = {
    (2, 2000, 10): dict(zip(PEERS, ("0.70 s", "3.5 s"), strict=True)),
    (2, 10_000, 30): dict(zip(PEERS, ("45.8 s", ""), strict=True)),
    (2, 100_000, 30): dict(zip(PEERS, ("2.1 h", "7.4 h, every tenth cut"), strict=True)),
    (3, 500, 5): dict(zip(PEERS, ("7.7 s", ""), strict=True)),
    (3, 2000, 10): dict(zip(PEERS, ("38 min", "12.4 h"), strict=True)),
}
WORTH = [(1000, 10), (10_000, 10), (100_000, 10)]
THRESHOLDS: list[int | str] = [3, 9, 31, "all"]
FRESH = 100_000


def main() -> None:
    arguments = bench.options(__doc__, quick="more than 1000 contexts").parse_args()
    most = 1000 if arguments.quick else 10**9
    tables = {
        "codes of features against products of literals, one value": [against(*s) for s in ROUTES if s[0] <= most],
        "all cut points": [
            all_cuts(*size, planted=planted) for size in ALL if size[0] <= most for planted in (False, True)
        ],
        "what cut points are worth: mean saving, at most 0.5": [worth(*size) for size in WORTH if size[0] <= most],
    }
    bench.report(tables, arguments.json)


def best_actions(contexts: Floats) -> Ints:
    """Return the action (m,) that the planted tree chooses at each of ``contexts`` (m, d)."""
    first, second = np.where(contexts[:, 1] <= -0.2, 0, 1), np.where(contexts[:, 2] <= 0.5, 2, 0)
    return np.where(contexts[:, 0] <= 0.3, first, second)


def costs_on(contexts: Floats, rng: np.random.Generator, *, planted: bool) -> Floats:
    """Return costs (m, K): normal noise, less a gain at the planted tree's action."""
    costs = rng.normal(size=(len(contexts), N_ACTIONS))
    costs[np.arange(len(costs)), best_actions(contexts)] -= GAIN * planted
    return costs


def against(n: int, d: int, cuts: int, depth: int) -> bench.Row:
    """Time one value by both routes, on real and on whole costs."""
    rng = np.random.default_rng(SEED)
    literals = Literals.of(rng.normal(size=(n, d)), cuts)
    costs = rng.normal(size=(len(literals.contexts), N_ACTIONS))
    searches = [TreeSearch(TreesOn(literals, N_ACTIONS, depth, Names()), by_codes=codes) for codes in (False, True)]
    row: bench.Row = {
        "contexts": n,
        "features": d,
        "cuts": cuts,
        "depth": depth,
        "chosen": str(route(TreesOn(literals, N_ACTIONS, depth, Names()))),
    }
    for kind, table in (("real", costs), ("whole", np.rint(3 * costs))):
        by_literals, by_features = (search.value for search in searches)
        bench.check_same("codes", [by_features(table)], [by_literals(table)])
        turns = [(bench.timed(by_literals, table)[0], bench.timed(by_features, table)[0]) for _ in range(7)]
        slow, fast = np.min(turns, axis=0)
        row |= {f"literals, {kind}, ms": 1e3 * slow, f"features, {kind}, ms": 1e3 * fast, f"ratio, {kind}": slow / fast}
    return row


def all_cuts(n: int, d: int, depth: int, *, planted: bool) -> bench.Row:
    """Time opening and one value with every cut point; beside it, what others publish."""
    rng = np.random.default_rng(SEED)
    contexts = rng.normal(size=(n, d))
    costs = costs_on(contexts, rng, planted=planted)
    opening, opened = bench.timed(DecisionTrees(N_ACTIONS, depth=depth, thresholds="all").on, contexts)
    seconds, (value, n_evaluated) = bench.timed(
        evaluations, opened.search().value, costs, turns=3 if n <= 10_000 else 1
    )
    if (n, d, depth) == ALL[0]:
        by_codes = TreeSearch(TreesOn(Literals.of(contexts, "all"), N_ACTIONS, depth, Names()), by_codes=True)
        bench.check_same("root cuts", [value], [by_codes.value(costs)])
    return {
        "depth": depth,
        "contexts": n,
        "features": d,
        "costs": "planted" if planted else "noise",
        "route": str(opened.route),
        "opening, s": opening,
        "value, s": seconds,
        "root cuts evaluated": n_evaluated,
        "of": (n - 1) * d,
        **PUBLISHED.get((depth, n, d), dict.fromkeys(PEERS, "")),
    }


def evaluations(ask: Callable[[Floats], float], costs: Floats) -> tuple[float, int]:
    """Return the answer, and how many root cuts of the whole tree the query evaluates."""
    run, counts = every_cut.RootCuts.run, [0]

    def counted(search: every_cut.RootCuts, look: Callable[[], None] | None = None) -> every_cut.RootAnswer:
        found = run(search, look)
        counts[0] = int(search.frontier.size[1])  # the last to end is that of the whole tree
        return found

    every_cut.RootCuts.run = counted  # type: ignore[method-assign,assignment]
    value = ask(costs)
    every_cut.RootCuts.run = run  # type: ignore[method-assign]
    return value, counts[0]


def worth(n: int, d: int) -> bench.Row:
    """Return the mean saving of the best tree of depth 2, against no rule at all, by thresholds."""
    rng = np.random.default_rng(SEED)
    contexts, fresh = rng.normal(size=(n, d)), rng.normal(size=(FRESH, d))
    costs, expected = costs_on(contexts, rng, planted=True), best_actions(fresh)
    row: bench.Row = {"contexts": n, "features": d}
    for thresholds in THRESHOLDS:
        opened = DecisionTrees(N_ACTIONS, thresholds=thresholds).on(contexts)
        added = np.zeros((len(opened.contexts), N_ACTIONS))
        np.add.at(added, opened.group, costs)
        value, tree = opened.search().minimise(added)
        row |= {
            f"{thresholds}, here": -value / n,
            f"{thresholds}, fresh": GAIN * (tree.predict(fresh) == expected).mean(),
        }
    return row


if __name__ == "__main__":
    main()
