"""How often trials end with a policy that they should not end with, after how many rows, and whether as planned.

The best tree is better than everything else by exactly eps; actions are drawn evenly, or mostly the one of the leader,
or evenly where the opposite of the truth is expected.
"""

from collections.abc import Iterator
from functools import cache
from math import log, sqrt
from typing import Any

import numpy as np
import pytest

from milpcb import open_oracle
from milpcb.environments.planted import Planted
from milpcb.offline.planning import Design, SimulatedTrial, plan
from milpcb.offline.settled import INSIDE, Refutation, TrialRows
from milpcb.rng import child
from policies import DecisionTrees
from tests.stress.known_truths import rare

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


@pytest.mark.cases(3)
@pytest.mark.parametrize("kind", KINDS)
def test_trials_seldom_end_wrongly(kind: str, runs: int, record_property: Any) -> None:
    """At most 5 of 100, by two standard errors."""
    found = [ends_wrongly(kind, seed) for seed in range(runs)]
    wrong, rows = np.mean([bad for bad, _ in found]), np.median([n for _, n in found])
    record_property("figure", f"{wrong:.1%} end wrongly; median end after {rows:,.0f} rows")
    assert wrong <= rare(WRONG, runs)


# ------------------------------------------------------------------- rows, beside value by value


def by_value(oracle: Any, rows: TrialRows, eps: float) -> bool:
    """Return whether the leader's upper end is less than eps above the lower ends of all values, by betting on each."""
    n, m = len(rows.most), oracle.n_contexts
    estimates = rows.estimates

    def table(by_row: Any) -> Any:
        return np.stack([np.bincount(rows.context, column, m) for column in by_row.T], axis=1)

    played = oracle.minimise(table(estimates)).policy.predict(oracle.contexts)[rows.context]
    own = estimates[np.arange(n), played]
    enough = oracle.log_size + log(2 * len(FINE) / WRONG)
    stakes = [np.minimum(stake, INSIDE * rows.most / (INSIDE + rows.most)) for stake in FINE]
    above, below = 1.0, 0.0  # the least value that is refuted for the leader, and one that is not
    while above - below > eps / 100:
        middle = (above + below) / 2
        refuted = max(np.log1p(stake * (middle - own)).sum() for stake in stakes) >= enough
        above, below = (middle, below) if refuted else (above, middle)
    least = max(oracle.value(table(np.log1p(stake[:, None] * (estimates - (above - eps))))) for stake in stakes)
    return bool(above < 1 and least >= enough)


@pytest.mark.cases(1)
@pytest.mark.parametrize(("eps", "highest"), [(0.05, 5_000), (0.02, 9_000)])
def test_planted_trials_end_early(eps: float, highest: int, runs: int, record_property: Any) -> None:
    """Beside value by value, which is asked where there are several runs."""
    found = np.array([rows_needed(eps, seed, beside=runs > 1) for seed in range(runs)])
    record_property("figure", f"differences {found[:, 0]}, value by value {found[:, 1]}")
    assert found[:, 0].max() <= highest


def rows_needed(eps: float, seed: int, *, beside: bool) -> tuple[float, float]:
    """Return after how many rows a planted trial ends, by differences and value by value; inf beyond 400 000."""
    oracle, contexts = opened(12)
    trees = DecisionTrees(K, depth=2, thresholds=[[0.5]] * 12)
    right = Planted(n_actions=K, n_contexts=200, n_features=12).open(trees, 10, seed).planted[0].predict(contexts)
    rng = child(seed, "trials", "rows")
    n = 400_000
    x, action = rng.integers(len(contexts), size=n), rng.integers(K, size=n)
    cost = (rng.random(n) < np.where(action == right[x], 0.3, 0.6)).astype(float)
    even = np.full(n, 1 / K)
    rows = TrialRows.of(x, action, cost, even, even, K)

    def first(n: int) -> TrialRows:
        return TrialRows._make(column[:n] for column in rows)

    ours = (n for n in looks(800, n, 1.05) if Refutation(oracle, oracle.log_size, first(n), 0.95).refutes(eps))
    theirs = (n for n in looks(2000, n, 1.1) if beside and by_value(oracle, first(n), eps))
    return next(ours, np.inf), next(theirs, np.inf)


# ------------------------------------------------------------------- planned power


def could_end(design: Design, n: int, eps: float, seed: int) -> bool:
    """Return whether a fresh trial may end after n rows."""
    trees = DecisionTrees(design.n_actions, depth=2, thresholds=[[0.5]] * design.n_features)
    return SimulatedTrial(trees, design, 0.95, child(seed, "trials", "plan")).ends(n, eps)


@pytest.mark.cases(15)
@pytest.mark.parametrize(("effect", "share", "eps"), CASES)
def test_trials_have_the_power_that_is_planned(
    effect: float, share: float, eps: float, runs: int, record_property: Any
) -> None:
    """Within three points and two standard errors, by as many fresh trials of the rows that are planned."""
    design = Design(12, 2, effect, share)
    planned = plan(DecisionTrees(2, depth=2, thresholds=[[0.5]] * 12), design, eps, trials=2 * runs)
    n = int(planned.needed(0.8))
    found = np.mean([could_end(design, n, eps, seed) for seed in range(runs)])
    record_property("figure", f"{n} rows planned, power then {found:.1%}")
    assert abs(found - 0.8) <= 0.03 + 2 * sqrt(0.16 / runs + 0.16 / (2 * runs))
