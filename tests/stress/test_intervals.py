"""How often the intervals of a fixed policy hold, by milpcb.offline, on logs whose truth is known.

The ranges are those that milpcb/offline/coverage.md promises, at so many logs.
"""

from typing import Any

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression

from milpcb import open_oracle
from milpcb.offline import evaluate, read_log, scores
from milpcb.rng import child
from milpcb.types import Floats, Ints
from policies import DecisionTrees
from tests.stress.known_truths import least

Shares = dict[str, tuple[float, float]]  # by name: a share that was measured, and the least that it should be


def too_few(found: Shares, record_property: Any, more: dict[str, str] | None = None) -> list[str]:
    """Report all shares; return the names of those that are below their least."""
    for name, (share, _) in found.items():
        record_property("figure", f"{name:58s} {share:7.1%}   {(more or {}).get(name, '')}")
    return [name for name, (share, lowest) in found.items() if share < lowest]


# ------------------------------------------------------------------- values of a fixed policy


def observed(n: int, rng: np.random.Generator) -> tuple[Floats, Ints, Floats, Floats]:
    """Return features, what was done, rewards and propensities (n, 2); x0 drives both action and reward."""
    X = rng.normal(size=(n, 3))
    treated = 1 / (1 + np.exp(-X[:, 0]))
    action = (rng.random(n) < treated).astype(np.int64)
    reward = 1 + X[:, 0] + action * (0.3 + 0.8 * X[:, 1]) + rng.normal(size=n)
    return X, action, reward, np.column_stack([1 - treated, treated])


RIGHT = {"model_outcome": LinearRegression(), "model_propensity": LogisticRegression()}
WRONG = {"model_outcome": DummyRegressor(), "model_propensity": DummyClassifier()}  # both leave out x0
VALUES: dict[str, tuple[str, bool, dict[str, Any]]] = {  # method, whether propensities are given, models
    "dr, both models right": ("dr", False, RIGHT),
    "dr, outcomes misspecified": ("dr", False, RIGHT | {"model_outcome": WRONG["model_outcome"]}),
    "dr, propensities misspecified": ("dr", False, RIGHT | {"model_propensity": WRONG["model_propensity"]}),
    "dr, outcomes misspecified, propensities given": ("dr", True, WRONG),
    "snips, propensities given": ("snips", True, {}),
    "snips, propensities estimated": ("snips", False, RIGHT),
    "ips, propensities given": ("ips", True, {}),
    "dr, both misspecified (no method survives)": ("dr", False, WRONG),
    "dm, outcomes right (its intervals are too narrow)": ("dm", False, RIGHT),
}
UNPROMISED = ("no method survives", "too narrow")


def values(n_sets: int, n: int = 500) -> tuple[Shares, dict[str, float]]:
    """Return how often the value of the policy "act where x1 > -0.5" is within two standard errors, and mean errors."""
    truth = 1 + 0.3 * norm.cdf(0.5) + 0.8 * norm.pdf(0.5)
    close, error = dict.fromkeys(VALUES, 0.0), dict.fromkeys(VALUES, 0.0)
    for i in range(n_sets):
        X, action, reward, propensity = observed(n, child(i, "values"))
        policy = (X[:, 1] > -0.5).astype(np.int64)
        for name, (method, given, models) in VALUES.items():
            log = read_log(X, action, reward=reward, propensity=propensity if given else None)
            value = evaluate(scores(log, method, **models, seed=i), policy).value
            close[name] += (abs(value.estimate - truth) <= 2 * value.standard_error) / n_sets
            error[name] += (value.estimate - truth) / n_sets
    promised = {name: not any(word in name for word in UNPROMISED) for name in VALUES}
    return {name: (close[name], least(0.95, n_sets) if promised[name] else 0.0) for name in VALUES}, error


# ------------------------------------------------------------------- intervals


def intervals(n_sets: int, n: int = 500) -> Shares:
    """Return the coverage of 95 % intervals of a fixed policy, for rewards of 0 and 1 and known propensities."""
    tree = open_oracle(DecisionTrees(2, depth=1, thresholds=[[0.0]]), [[-1.0], [1.0]], kind="search")
    policy = tree.minimise([[0, 1], [1, 0]]).policy
    covered: dict[str, int] = {}
    for i in range(n_sets):
        rng = child(i, "intervals")
        x = rng.uniform(-1, 1, size=(n, 1))
        chance = 0.5 + 0.3 * x[:, 0]
        action = (rng.random(n) < chance).astype(np.int64)
        reward = (rng.random(n) < 0.3 + 0.4 * action * (x[:, 0] > 0)).astype(float)
        log = read_log(x, action, reward=reward, propensity=np.column_stack([1 - chance, chance]))
        for method in ("ips", "snips", "dr"):
            found = evaluate(scores(log, method, model_outcome=LinearRegression(), seed=i), policy)
            true = {
                "value": (found.value, 0.5),
                "gain over always 0": (found.gain_over["0"], 0.2),
                "gain over what was done": (found.gain_over_logged, 0.5 - 0.43),
                "value in a leaf": (found.leaves[-1].value, 0.7),
            }
            for what, (estimate, truth) in true.items():
                name = f"{method}: {what}"
                covered[name] = covered.get(name, 0) + (estimate.lower <= truth <= estimate.upper)
    return {name: (count / n_sets, least(0.95, n_sets)) for name, count in sorted(covered.items())}


@pytest.mark.cases(6)
def test_values_are_near_the_truth_if_one_model_is_right(runs: int, record_property: Any) -> None:
    """Within two standard errors, and on average; where all models are wrong nothing helps."""
    shares, errors = values(runs)
    assert too_few(shares, record_property, {name: f"mean error {error:+.3f}" for name, error in errors.items()}) == []
    assert abs(errors.pop(next(name for name in errors if "no method survives" in name))) > 0.1
    assert max(map(abs, errors.values())) < 0.05


@pytest.mark.cases(5)
def test_intervals_of_a_fixed_policy_cover(runs: int, record_property: Any) -> None:
    """By every method."""
    assert too_few(intervals(runs), record_property) == []
