"""What a fitted estimator hands to milpcb.offline is the question of its fit, row by row."""

from collections import Counter
from typing import Any

import numpy as np
import pytest

from milpcb import open_oracle
from milpcb.estimators import LoggedPolicyTree


@pytest.mark.parametrize("seed", range(8))
def test_limits_on_a_log_count_the_rows_that_they_are_about(seed: int) -> None:
    """Each leaf of the problem's best tree holds enough rows of every action, and is worth what the fit is worth."""
    draw = np.random.default_rng(seed)
    X, done = draw.integers(0, 4, (60, 2)).astype(float), draw.integers(0, 2, 60)
    reward = draw.integers(0, 3, 60).astype(float)
    tree = LoggedPolicyTree(max_depth=1, min_samples_action=10, method="ips", thresholds="all")
    tree.fit(X, done, reward=reward, propensity=np.full(60, 0.5))
    problem = tree.problem(X)
    costs = np.zeros((60, 2))
    costs[np.arange(60), done] = -reward / 0.5
    best: Any = open_oracle(problem.policies, problem.contexts, problem.kind).minimise(costs).policy
    held = Counter(zip(best.apply(problem.contexts).tolist(), done.tolist(), strict=True))
    assert all(held[leaf, action] >= 10 for leaf, _ in list(held) for action in (0, 1))
    played = [costs[np.arange(60), labels].sum() for labels in (best.predict(problem.contexts), tree.predict(X))]
    assert played[0] == played[1]
