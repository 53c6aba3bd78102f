"""How often a search over depth by cross-validation on a log finds the depth of the tree that was planted in it.

    python scripts/benchmarks/depth_by_validation.py [--logs 50] [--method dr]

Each log has 3 000 rows, 5 features, 3 actions, propensities between 0.05 and 0.9 that are known, and rewards 1[best
action] plus noise of standard deviation 0.5. The best action is that of a tree of depth 1, 2 or 3 in turn, which no
tree of less depth comes near. GridSearchCV chooses among depths 1 to 4 by the held-out value, five folds.
"""

import argparse
from time import perf_counter

import numpy as np
import sklearn
from sklearn.model_selection import GridSearchCV
from sklearn.tree import DecisionTreeRegressor

from milpcb.estimators import LoggedPolicyTree, OptimalPolicyTree
from milpcb.types import Floats, Ints

ACTIONS = np.array(["a", "b", "c"])
N, FEATURES, CUTS = 3000, 5, 3
NEAR = 0.08  # of the rows: a tree of less depth errs on more


def planted(depth: int, rng: np.random.Generator) -> tuple[Floats, Ints]:
    """Return features (N, FEATURES), and the best action (N,) of each row."""
    while True:
        X = rng.normal(size=(N, FEATURES)).round(2)
        best = _best_actions(X, depth, rng)
        if depth == 1:
            loss = min(float(np.mean(best != action)) for action in range(len(ACTIONS)))
        else:
            loss = float(OptimalPolicyTree(max_depth=depth - 1, thresholds=CUTS).fit(X, best).policy_value_)
        if loss > NEAR:
            return X, best


def _best_actions(X: Floats, depth: int, rng: np.random.Generator) -> Ints:
    """Return the actions of a random full tree whose sibling leaves differ."""
    quantiles = np.quantile(X, np.arange(1, CUTS + 1) / (CUTS + 1), axis=0)
    leaf = np.zeros(len(X), dtype=np.int64)
    for level in range(depth):
        feature = rng.permutation(FEATURES)[: 2**level]
        cut = quantiles[rng.integers(CUTS, size=2**level), feature]
        leaf = 2 * leaf + (X[np.arange(len(X)), feature[leaf]] > cut[leaf])
    left = rng.integers(len(ACTIONS), size=2 ** (depth - 1))
    right = (left + rng.integers(1, len(ACTIONS), len(left))) % len(ACTIONS)
    return np.column_stack([left, right]).ravel()[leaf]


def chosen_depth(seed: int, method: str) -> tuple[int, int]:
    """Return the planted depth of log number ``seed``, and the depth that the search chooses."""
    rng = np.random.default_rng(seed)
    depth = 1 + seed % 3
    X, best = planted(depth, rng)
    propensities = rng.dirichlet(np.full(len(ACTIONS), 5.0), N).clip(0.05)
    propensities /= propensities.sum(axis=1, keepdims=True)
    action = (rng.random(N)[:, None] > propensities.cumsum(axis=1)).sum(axis=1).clip(0, len(ACTIONS) - 1)
    reward = (action == best) + rng.normal(0.0, 0.5, N)
    names = {"reward": True, "propensity": True}
    model = DecisionTreeRegressor(max_depth=4, min_samples_leaf=20, random_state=0)
    with sklearn.config_context(enable_metadata_routing=True):
        tree = LoggedPolicyTree(method=method, model_outcome=model, thresholds=CUTS)
        tree.set_fit_request(**names).set_score_request(**names)
        search = GridSearchCV(tree, {"max_depth": [1, 2, 3, 4]}, cv=5, refit=False)
        search.fit(X, ACTIONS[action], reward=reward, propensity=propensities[np.arange(N), action])
    return depth, int(search.best_params_["max_depth"])


def main() -> None:
    """Print a line for each log that is missed, and how many were found."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--logs", type=int, default=50, help="how many logs")
    parser.add_argument("--method", default="dr", help="of the scores: dr, ips, snips or dm")
    given = parser.parse_args()
    start, found = perf_counter(), 0
    for seed in range(given.logs):
        depth, chosen = chosen_depth(seed, given.method)
        found += depth == chosen
        if depth != chosen:
            print(f"log {seed}: planted depth {depth}, chosen {chosen}")
    print(f"{given.method}: {found} of {given.logs} depths found, {perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
