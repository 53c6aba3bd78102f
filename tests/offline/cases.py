"""Reference answers for tests of offline: policies from full lists, and textbook estimates of means."""

from typing import Any

import numpy as np
from scipy.stats import norm

from milpcb.offline.intervals import IntervalEstimate
from milpcb.oracles import open_oracle


def labelings(policies: Any, X: Any, constraints: Any = ()) -> Any:
    """Return what every policy of a class plays in the rows (N, n)."""
    return open_oracle(policies, X, kind="enumeration", constraints=list(constraints)).labelings


def best(policies: Any, X: Any, costs: Any, constraints: Any = ()) -> Any:
    """Return the best policy by the search."""
    return open_oracle(policies, X, kind="search", constraints=list(constraints)).minimise(costs).policy


def learnt_elsewhere(policies: Any, X: Any, costs: Any, fold: Any, constraints: Any = ()) -> Any:
    """Return what is played in each row (n,) by the best policy on the other folds."""
    played, oracle = np.empty(len(fold), dtype=int), open_oracle(policies, X, kind="search", constraints=constraints)
    for number in np.unique(fold):
        others = np.where((fold != number)[:, None], costs, 0.0)
        played[fold == number] = oracle.minimise(others).policy.predict(X)[fold == number]
    return played


def mean_of(values: Any, level: float = 0.95) -> IntervalEstimate:
    """Return the normal estimate of a mean, as every textbook has it."""
    mean, error = np.mean(values), np.std(values, ddof=1) / np.sqrt(len(values))
    reach = norm.ppf((1 + level) / 2) * error
    return IntervalEstimate(mean, error, mean - reach, mean + reach)


def close(one: IntervalEstimate, other: IntervalEstimate) -> bool:
    """Return whether two estimates agree in all four numbers."""
    return np.allclose([*vars(one).values()], [*vars(other).values()])
