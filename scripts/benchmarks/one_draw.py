"""One draw of the future beside fresh draws: queries, rule changes and CPU seconds of a run.

200 contexts, 12 binary features, K = 3, depth-2 trees, half noise, a planted tree. A run with fresh draws is measured
over a few rounds, K + 1 values or one minimiser each, and multiplied: at T = 1e6 a solver would take an hour and more.
--programs plays classes of slow programs by HiGHS; T = 10 000 takes minutes with one of them. Regrets are those of
scripts/reproduce/one_draw.toml.

    python scripts/benchmarks/one_draw.py [--horizons 10000 100000] [--oracles search highs] [--fresh 200] [--programs]
        [--json FILE]
"""

from collections.abc import Iterator
from itertools import product
from time import process_time
from typing import Any

import bench
import numpy as np

from milpcb import FinitePool, open_oracle
from milpcb.constraints import Constraint, parity, share_at_most
from milpcb.environments.planted import Planted
from milpcb.environments.stream import BernoulliStream, Steps
from milpcb.experiments.run.player import Tally, play
from milpcb.learners import BistroPlus
from milpcb.oracles.base import Oracle
from milpcb.protocols import PolicyClass
from milpcb.types import Floats
from policies import DecisionTrees, Halfspaces, LinearRules

CHANCES = 0.3, 0.6  # that the right action and any other one cost 1
TREES = DecisionTrees(2, depth=2)
PROGRAMS: dict[str, tuple[PolicyClass, int, int, bool, list[Constraint]]] = {  # contexts, features, whether 0 and 1
    "trees, action 1 on at most a third": (TREES, 200, 12, True, [share_at_most(1, 1 / 3)]),
    "trees, parity": (TREES, 200, 12, True, [parity(1, 0, 0.1)]),
    "halfspaces": (Halfspaces(), 60, 3, False, []),
    'linear rules, scores="each"': (LinearRules(2, max_features=2, scores="each"), 100, 8, True, []),
    "linear rules, weights to 5": (LinearRules(2), 100, 8, True, []),
}


def played(oracle: Oracle, stream: BernoulliStream, rounds: int, **options: Any) -> tuple[float, BistroPlus]:
    """Return CPU seconds of the first rounds of a stream, and the learner that has played them."""
    pool = FinitePool(oracle.contexts)
    learner = BistroPlus(oracle, pool, horizon=stream.horizon, noise="half", seed=0, **options)
    start = process_time()
    play(learner, stream, Tally(), rounds, np.random.default_rng(0))
    return process_time() - start, learner


def once(oracle: Oracle, stream: BernoulliStream) -> bench.Row:
    """Return the figures of a run with one draw."""
    seconds, learner = played(oracle, stream, stream.horizon, future="once")
    return {"queries": learner.queries, "rule changes": learner.rule_changes, "one draw, s": seconds}


def beside_fresh(horizon: int, kind: str, fresh: int) -> bench.Row:
    """Return them, and the seconds that fresh draws would take for the whole horizon."""
    trees = DecisionTrees(n_actions=3, depth=2)
    stream = Planted().open(trees, horizon, seed=0)
    oracle = open_oracle(trees, stream.contexts, **({"kind": kind} if kind == "search" else {"solver": kind}))
    oracle.minimise(np.zeros((oracle.n_contexts, 3)))  # compiles or loads
    row = {"T": horizon, "oracle": kind, **once(oracle, stream)}
    for name, queries in (("fresh, a minimiser a round, s", "argmin"), ("fresh, K + 1 values, s", "all")):
        row[name] = played(oracle, stream, fresh, queries=queries)[0] / fresh * horizon
    return row


def programs(horizon: int) -> Iterator[bench.Row]:
    """Yield the figures of runs by programs that take long; of two actions one is right, by a linear score."""
    for name, (policies, m, d, binary, limits) in PROGRAMS.items():
        rng = np.random.default_rng(0)
        contexts: Floats = rng.integers(0, 2, (m, d)).astype(float) if binary else rng.normal(size=(m, d))
        scores = contexts @ rng.normal(size=d)
        right = (scores > np.median(scores))[:, None] == np.arange(2)
        chances = Steps(np.zeros(1, int), np.where(right, *CHANCES)[None])
        stream = BernoulliStream(contexts, chances, 2, horizon=horizon, seed=0)
        oracle = open_oracle(policies, contexts, kind="milp", constraints=limits)
        yield {"T": horizon, "program": f"{name}, {m} x {d}", **once(oracle, stream)}


def main() -> None:
    parser = bench.options(__doc__)
    parser.add_argument("--horizons", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--oracles", nargs="+", default=["search", "highs"])
    parser.add_argument("--fresh", type=int, default=200)
    parser.add_argument("--programs", action="store_true")
    options = parser.parse_args()
    if options.programs:
        rows = [row for horizon in options.horizons for row in programs(horizon)]
    else:
        rows = [beside_fresh(*case, options.fresh) for case in product(options.horizons, options.oracles)]
    bench.report({"half noise, one draw": rows}, options.json)


if __name__ == "__main__":
    main()
