"""Trees of depth 0: one action for all, with every kind of oracle, under constraints, for learners and bandits."""

import numpy as np
import pytest

from milpcb import open_oracle
from milpcb.constraints import share_at_most
from policies import DecisionTrees, from_json

N, K = 12, 3
RNG = np.random.default_rng(0)
X = np.column_stack([RNG.integers(0, 2, N), RNG.normal(size=N)])
COSTS = RNG.normal(size=(N, K))
TOTALS = COSTS.sum(axis=0)


@pytest.mark.parametrize("kind", ["search", "milp", "enumeration", "audited"])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"thresholds": "all"},
        {"max_leaves": 3},
        {"max_features": 1},
        {"min_leaf_size": 2},
        {"min_action_rows": 1, "logged_actions": [0, 1, 2] * 4},
    ],
)
def test_the_answer_is_the_cheapest_constant(kind, options):
    """Value, profile and policy; the cheapest allowed one where a constraint forbids the cheapest."""
    trees = DecisionTrees(K, 0, **options)
    oracle = open_oracle(trees, X, kind=kind)
    answer = oracle.minimise(COSTS)
    assert answer.value == pytest.approx(TOTALS.min())
    assert np.allclose(oracle.profile(COSTS, 0), TOTALS)
    assert oracle.near_best(COSTS, np.ptp(TOTALS) + 1.0).count == K
    scarce = share_at_most(int(TOTALS.argmin()), 0.5)
    other = open_oracle(trees, X, kind=kind, constraints=[scarce]).minimise(COSTS)
    assert other.value == pytest.approx(np.sort(TOTALS)[1])


def test_it_is_a_policy_like_any_other():
    """It prints, leaves as JSON, Python and SQL, and comes back."""
    trees = DecisionTrees(K, 0, thresholds=[[0.5], [0.0]], action_names=["a", "b", "c"])
    policy = open_oracle(trees, X).minimise(COSTS).policy
    best = "abc"[TOTALS.argmin()]
    assert str(policy) == f"play {best}"
    assert policy.predict_names(X[:2]) == [best, best]
    assert from_json(policy.to_json()).predict(X).tolist() == [int(TOTALS.argmin())] * N
    assert best in policy.to_sql()
    assert trees.log_size(X) == pytest.approx(np.log(K))
