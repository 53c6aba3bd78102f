"""How often trials end with a policy that they should not end with, after how many rows, and whether as planned.

    python scripts/checks/trials.py [false] [rows] [plan] [--trials 1000] [--workers 1]

*false*: trials that are looked at whenever rows have grown by a tenth, K = 3, trees of depth 2 on 8 yes/no features;
the best tree is better than everything else by exactly eps. Actions are drawn evenly; or mostly the leader's of the
rows before, with a floor that falls; or evenly, where the opposite of the truth is expected. *rows*: planted trees on
12 features, beside confidence sequences for each value, with the same estimates and union. *plan*: whether
``milpcb plan`` is right about its power, by 500 trials of as many rows as it asks for.

Prints what was counted, and ends with 1 where more than 5 % of trials end wrongly by two standard errors, or power is
off by more than three points and two standard errors.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import cache, partial
from math import log, sqrt
from time import process_time
from typing import Any

import numpy as np

from milpcb import open_oracle
from milpcb.environments.planted import Planted
from milpcb.offline.planning import Design, SimulatedTrial, plan
from milpcb.offline.trial import INSIDE, Refutation, TrialRows
from milpcb.rng import child
from policies import DecisionTrees

K, WRONG, EPS = 3, 0.05, 0.1
FINE = tuple(2.0**-step for step in range(1, 12))  # stakes on single values, where small ones are best
KINDS = ("even", "adaptive", "misled")
CASES = ((0.3, 0.4, 0.05), (0.1, 0.4, 0.05))  # effect, share, eps


@cache
def opened(features: int) -> tuple[Any, Any]:
    """Return an oracle on all contexts of so many features, and the contexts."""
    trees = DecisionTrees(K, depth=2, thresholds=[[0.5]] * features)
    contexts = (np.arange(2**features)[:, None] >> np.arange(features) & 1).astype(float)
    return open_oracle(trees, contexts, kind="search"), contexts


def looks(first: int, last: int, factor: float) -> Iterator[int]:
    """Yield numbers of rows that grow by a factor."""
    n = first
    while n <= last:
        yield n
        n = int(n * factor) + 1


# ------------------------------------------------------------------- false endings


def ends_wrongly(kind: str, seed: int) -> tuple[bool, float]:
    """Return whether a trial ends with a policy worse than the best by eps, and after how many rows it ends."""
    oracle, contexts = opened(8)
    # action 1 is right for a quarter: all others lose eps, be it by a constant
    right = ((contexts[:, 0] == 1) & (contexts[:, 1] == 1)).astype(int)
    means = np.where(np.arange(K) == right[:, None], 0.1, 0.1 + 4 * EPS)
    rng = child(seed, "trials", kind)
    x, action, chance, floor = (np.zeros(0, dtype=np.int64),) * 2 + (np.zeros(0),) * 2
    cost = np.zeros(0)
    leader = np.zeros(len(contexts), dtype=int)
    for n in looks(150, 6000, 1.1):
        more = n - len(x)
        new = rng.integers(len(contexts), size=more)
        share = 1.0 if kind != "adaptive" else max(0.2, 1.5 / n**0.2 if len(x) else 1.0)
        q = np.full((more, K), min(1.0, share) / K)
        q[np.arange(more), leader[new]] += 1 - min(1.0, share)
        drawn = (rng.random((more, 1)) > np.cumsum(q, axis=1)).sum(axis=1).clip(0, K - 1)
        x, action = np.append(x, new), np.append(action, drawn)
        chance, floor = np.append(chance, q[np.arange(more), drawn]), np.append(floor, np.full(more, q.min()))
        cost = np.append(cost, (rng.random(more) < means[new, drawn]).astype(float))
        expected = np.broadcast_to(1 - means[x], (n, K)) if kind == "misled" else None
        found = Refutation(
            oracle, oracle.log_size, TrialRows.of(x, action, cost, chance, floor, K, expected), 1 - WRONG
        )
        leader = found.policy.predict(contexts)
        if found.refutes(EPS):
            loss = (means[np.arange(len(contexts)), leader] - means.min(axis=1)).mean()
            return bool(loss >= EPS - 1e-9), n
    return False, np.inf


def check_false(trials: int, each: Callable[..., Any]) -> bool:
    """Print the share of false endings of each kind; return whether all are within their limit."""
    good = True
    for kind in KINDS:
        found = list(each(partial(ends_wrongly, kind), range(trials)))
        wrong, rows = sum(bad for bad, _ in found), np.array([n for _, n in found])
        print(f"{kind:9s} {wrong} of {trials} end wrongly; median end after {np.median(rows):,.0f} rows", flush=True)
        good &= wrong <= WRONG * trials + 2 * sqrt(trials * WRONG * (1 - WRONG))
    return good


# ------------------------------------------------------------------- rows, beside value by value


def by_value(oracle: Any, rows: TrialRows, eps: float) -> bool:
    """Return whether the leader's upper end is less than eps above the lower ends of all values, by betting on each."""
    n, m = len(rows.cost), oracle.n_contexts
    estimates = rows.estimates

    def table(by_row: Any) -> Any:
        return np.stack([np.bincount(rows.context, column, m) for column in by_row.T], axis=1)

    played = oracle.minimise(table(estimates)).policy.predict(oracle.contexts)[rows.context]
    own = estimates[np.arange(n), played]
    enough = oracle.log_size + log(2 * len(FINE) / WRONG)
    stakes = [np.minimum(stake, INSIDE * rows.floor / (rows.reach + rows.floor)) for stake in FINE]
    above, below = 1.0, 0.0  # the least value that is refuted for the leader, and one that is not
    while above - below > eps / 100:
        middle = (above + below) / 2
        refuted = max(np.log1p(stake * (middle - own)).sum() for stake in stakes) >= enough
        above, below = (middle, below) if refuted else (above, middle)
    least = max(oracle.value(table(np.log1p(stake[:, None] * (estimates - (above - eps))))) for stake in stakes)
    return bool(above < 1 and least >= enough)


def rows_needed(eps: float, seed: int) -> tuple[float, float]:
    """Return after how many rows a planted trial ends, by differences and value by value; inf beyond 400 000."""
    oracle, contexts = opened(12)
    stream = Planted(n_actions=K, n_contexts=200, n_features=12).open(
        DecisionTrees(K, depth=2, thresholds=[[0.5]] * 12), 10, seed
    )
    right = stream.planted[0].predict(contexts)
    rng = child(seed, "trials", "rows")
    n = 400_000
    x, action = rng.integers(len(contexts), size=n), rng.integers(K, size=n)
    cost = (rng.random(n) < np.where(action == right[x], 0.3, 0.6)).astype(float)
    even = np.full(n, 1 / K)
    rows = TrialRows.of(x, action, cost, even, even, K)
    ours = (n for n in looks(800, n, 1.05) if Refutation(oracle, oracle.log_size, rows.first(n), 0.95).refutes(eps))
    theirs = (n for n in looks(2000, n, 1.1) if by_value(oracle, rows.first(n), eps))
    return next(ours, np.inf), next(theirs, np.inf)


def check_rows(each: Callable[..., Any]) -> bool:
    """Print after how many rows planted trials end."""
    good = True
    for eps, most in ((0.05, 5000), (0.02, 9000)):
        start = process_time()
        ours, theirs = np.array(list(each(partial(rows_needed, eps), range(5)))).T
        print(f"eps = {eps}: differences {ours}, value by value {theirs} ({process_time() - start:.0f} s)", flush=True)
        good &= bool((ours <= most).all())
    return good


# ------------------------------------------------------------------- what is planned


def could_end(design: Design, n: int, eps: float, seed: int) -> bool:
    """Return whether a fresh trial may end after n rows."""
    trees = DecisionTrees(design.n_actions, depth=2, thresholds=[[0.5]] * design.n_features)
    return SimulatedTrial(trees, design, 0.95, child(seed, "trials", "plan")).ends(n, eps)


def check_plan(each: Callable[..., Any], simulated: int = 1000, fresh: int = 500) -> bool:
    """Print the power that trials of as many rows as planned have."""
    good = True
    for effect, share, eps in CASES:
        design = Design(12, 2, effect, share)
        trees = DecisionTrees(2, depth=2, thresholds=[[0.5]] * 12)
        planned = plan(trees, design, eps, trials=simulated)
        n = int(planned.needed(0.8))
        found = sum(each(partial(could_end, design, n, eps), range(fresh))) / fresh
        print(f"effect {effect}, share {share}, eps {eps}: {n} rows planned, power then {found:.1%}", flush=True)
        good &= abs(found - 0.8) <= 0.03 + 2 * sqrt(0.16 / fresh + 0.16 / simulated)
    return good


def main() -> int:
    """Run the parts that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", default=["false", "rows", "plan"])
    parser.add_argument("--trials", type=int, default=1000)
    parser.add_argument("--workers", type=int, default=1)
    asked = parser.parse_args()
    with ProcessPoolExecutor(asked.workers) as pool:
        each: Callable[..., Any] = pool.map if asked.workers > 1 else map
        parts = {
            "false": lambda: check_false(asked.trials, each),
            "rows": lambda: check_rows(each),
            "plan": lambda: check_plan(each),
        }
        return 1 - min(parts[part]() for part in asked.parts)


if __name__ == "__main__":
    sys.exit(main())
