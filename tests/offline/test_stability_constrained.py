"""Stability under side constraints: every policy that comes back keeps them, and counts are of those that do."""

import numpy as np
import pytest

from milpcb import open_oracle
from milpcb.constraints import never, share_at_most
from milpcb.offline import read_log, scores, stability
from milpcb.rng import child
from policies import DecisionTrees

N = 90
TREES = DecisionTrees(2, depth=2)


def table(group=None):
    """Return scores of a trial in which action 1 helps everybody, most where x0 = 1."""
    rng = np.random.default_rng(3)
    X = rng.integers(0, 2, size=(N, 3)).astype(float)
    action = rng.integers(0, 2, size=N)
    y = action * (1 + 2 * X[:, 0]) + rng.normal(size=N)
    return scores(read_log(X, action, reward=y, propensity=[0.5, 0.5], group=group))


def test_resamples_are_refits_under_the_constraints():
    """The definition: costs times counts, the same constraints; depths and counts know them too."""
    scored = table()
    X, budget = scored.log.features, share_at_most(1, 0.4)
    done = []
    found = stability(
        TREES, X, scored, resamples=9, seed=4, constraints=[budget], progress=lambda *now: done.append(now)
    )
    oracle, rng = open_oracle(TREES, X, kind="search", constraints=[budget]), child(4, "offline", "resamples")
    best = oracle.minimise(scored.costs).policy.predict(X)
    again = [
        oracle.minimise(scored.costs * np.bincount(rng.integers(N, size=N), minlength=N)[:, None]).policy.predict(X)
        for _ in range(9)
    ]
    assert max(labels.mean() for labels in [best, *again]) <= 0.4
    assert found.agreement == pytest.approx(np.mean(np.array(again) == best))
    assert done == [(i + 1, 9 + 6) for i in range(9 + 6)]  # and all folds but one, and all of them, by the full depth
    for each in found.by_depth:
        assert each.policy.predict(X).mean() <= 0.4
    labels = open_oracle(TREES, X, kind="enumeration", constraints=[budget]).labelings
    values = scored.table[np.arange(N), labels].mean(axis=1)
    assert found.near_best <= len(labels)
    assert found.near_best >= (values == values.max()).sum()


def test_depths_that_cannot_keep_the_constraints_are_left_out():
    """A guard-rail on two features at once needs two tests."""
    scored = table()
    X = scored.log.features
    rules = [
        never(1, rows=(X[:, 0] == 1) & (X[:, 1] == 1)),
        never(0, rows=X[:, 0] != X[:, 1]),
    ]
    assert [each.depth for each in stability(TREES, X, scored, resamples=1, constraints=rules).by_depth] == [2]


def test_groups_are_drawn_whole():
    """Rows of one group come back equally often."""
    group = np.arange(N) // 3
    scored = table(group)
    X, rng = scored.log.features, child(0, "offline", "resamples")
    found = stability(TREES, X, scored, resamples=5)
    oracle = open_oracle(TREES, X, kind="search")
    best = oracle.minimise(scored.costs).policy.predict(X)
    again = []
    for _ in range(5):
        counts = np.bincount(rng.integers(N // 3, size=N // 3), minlength=N // 3)[group]
        again.append(oracle.minimise(scored.costs * counts[:, None]).policy.predict(X))
    assert found.agreement == pytest.approx(np.mean(np.array(again) == best))
