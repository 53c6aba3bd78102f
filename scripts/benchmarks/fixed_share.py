"""Fixed share where the world changes, beside rivals: regret to the best trees in turn, certificates, time of a round.

Rivals are Exp4, and Exp4 over a window of a twentieth of all rounds, or over totals discounted as fast.

200 contexts, 12 binary features, K = 3, depth-2 trees; the right tree costs 0.3 a round, other actions 0.6. The tree
that is right changes at equal distances. Regret is to the best trees in turn in hindsight, as many as there were, which
change at the ends of 20 blocks. The certificate is against as many, with 95 % confidence; the bound is that of
statement 23 of milpcb/theory/changes.md. Recovery is the mean number of rounds after a change, up to the next one,
until at most a quarter of the last 200 rounds were not played as the tree does that is right.

    python scripts/benchmarks/fixed_share.py [--horizon 100000] [--seeds 5] [--worlds 1 2 10] [--json FILE]
"""

from collections.abc import Callable
from itertools import product
from time import process_time
from typing import Any

import bench
import numpy as np

from milpcb import open_oracle
from milpcb.blocks import PLANNED, least_in_turn
from milpcb.core.decimals import spaced
from milpcb.environments.planted import Planted, Switching
from milpcb.learners import Exp4, FixedShare, Forgetting
from milpcb.rng import child, draw_action
from policies import DecisionTrees

K, WINDOW = 3, 200
TREES = DecisionTrees(n_actions=K, depth=2)
LEARNERS: dict[str, Callable[[Any, int], Any]] = {
    "exp4": lambda oracle, T: Exp4(oracle, horizon=T, rate="certified"),
    "fixed_share": lambda oracle, T: FixedShare(oracle, horizon=T),
    "window": lambda oracle, T: Forgetting(oracle, horizon=T, rounds=max(2, T // PLANNED)),
    "discount": lambda oracle, T: Forgetting(oracle, horizon=T, rounds=max(2, T // PLANNED), by="discount"),
}
COLUMNS = ("regret", "certificate", "bound", "recovery", "microseconds")


def run(name: str, horizon: int, trees: int, seed: int) -> list[float]:
    """Return the figures of one run, in the order of COLUMNS."""
    world = Planted() if trees == 1 else Switching(switch_at=tuple(part / trees for part in range(1, trees)))
    stream = world.open(TREES, horizon, seed)
    oracle = open_oracle(TREES, stream.contexts, kind="search")
    learner, draws = LEARNERS[name](oracle, horizon), child(seed, "fixed share")
    rows, costs = [stream.reveal(t) for t in range(horizon)], [stream.costs(t) for t in range(horizon)]
    right = [tree.predict(stream.contexts) for tree in stream.planted]
    paid, start = np.zeros(horizon, dtype=bool), process_time()
    wrong = np.zeros(horizon)
    for t, row in enumerate(rows):
        q = learner.act(row)
        action = draw_action(q, draws)
        learner.learn(row, action, float(costs[t][action]), float(q[action]))
        wrong[t] = action != right[t * trees // horizon][row]
        paid[t] = costs[t][action]
    seconds = process_time() - start
    regret = paid.sum() - best_in_turn(oracle, rows, costs, trees)
    certificate = learner.certificate(confidence=0.95, changes=trees - 1)
    bound = learner.bound(changes=trees - 1) if name == "fixed_share" else np.nan
    return [float(regret), certificate, bound, recovery(wrong, trees), 1e6 * seconds / horizon]


def best_in_turn(oracle: Any, rows: Any, costs: Any, most: int) -> float:
    """Return the least total of so many trees in turn."""
    n = min(PLANNED, len(rows))
    totals = np.zeros((n, oracle.n_contexts, K))
    for t, (row, shown) in enumerate(zip(rows, costs, strict=True)):
        totals[t * n // len(rows), row] += shown
    return least_in_turn(lambda j, k: oracle.value(totals[j:k].sum(axis=0)), n, most, lambda _block: 0.0)[-1].total


def recovery(wrong: Any, trees: int) -> float:
    """Return the mean number of rounds after a change until a quarter of the last WINDOW are wrong; NaN for none."""
    found = []
    for segment in np.array_split(wrong, trees)[1:]:
        means = np.convolve(segment, np.full(min(WINDOW, len(segment)), 1 / min(WINDOW, len(segment))), "valid")
        below = np.flatnonzero(means <= 0.25)
        found.append(below[0] + WINDOW if len(below) else len(segment))
    return float(np.mean(found)) if found else float("nan")


def main() -> None:
    parser = bench.options(__doc__)
    parser.add_argument("--horizon", type=int, default=100_000)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--worlds", type=int, nargs="+", default=[1, 2, 10], help="trees in turn")
    parser.add_argument("--learners", nargs="+", choices=LEARNERS, default=list(LEARNERS))
    arguments = parser.parse_args()
    rows: list[bench.Row] = []
    for trees, name in product(arguments.worlds, arguments.learners):
        runs = np.array([run(name, arguments.horizon, trees, seed) for seed in range(arguments.seeds)])
        means = [*runs[:, :-1].mean(axis=0), runs[:, -1].min()]  # of times the least
        each = " ".join(spaced(regret, ".0f") for regret in runs[:, 0])
        figures = dict(zip(COLUMNS, map(float, means), strict=True))
        rows.append({"learner": name, "trees": trees, **figures, "regret by seed": each})
    bench.report({"fixed share and rivals, means over seeds": rows}, arguments.json)


if __name__ == "__main__":
    main()
