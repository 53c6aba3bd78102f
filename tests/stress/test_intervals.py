"""How often the intervals of a fixed policy hold, by milpcb.offline, on logs whose truth is known.

The ranges are those that milpcb/offline/coverage.md promises, at so many logs.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
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


@dataclass(frozen=True)
class Row:
    """A line of a table: a share that was measured, and the range it should be in."""

    name: str
    share: float
    least: float
    most: float
    error: float = 0.0
    more: str = ""

    def __str__(self) -> str:
        return f"{self.name:58s} {self.share:7.1%}   {self.more}"


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


def values(n_sets: int, n: int = 500) -> Iterator[Row]:
    """Yield how often the value of the policy "act where x1 > -0.5" is within two standard errors of the truth."""
    truth = 1 + 0.3 * norm.cdf(0.5) + 0.8 * norm.pdf(0.5)
    close = dict.fromkeys(VALUES, 0)
    error = dict.fromkeys(VALUES, 0.0)
    for i in range(n_sets):
        X, action, reward, propensity = observed(n, child(i, "values"))
        policy = (X[:, 1] > -0.5).astype(np.int64)
        for name, (method, given, models) in VALUES.items():
            log = read_log(X, action, reward=reward, propensity=propensity if given else None)
            value = evaluate(scores(log, method, **models, seed=i), policy).value
            close[name] += abs(value.value - truth) <= 2 * value.standard_error
            error[name] += (value.value - truth) / n_sets
    for name, count in close.items():
        lowest = 0.0 if any(word in name for word in UNPROMISED) else least(0.95, n_sets)
        yield Row(name, count / n_sets, lowest, 1.0, error[name], f"mean error {error[name]:+.3f}")


# ------------------------------------------------------------------- intervals of every kind


def intervals(n_sets: int, n: int = 500) -> Iterator[Row]:
    """Yield the coverage of 95 % intervals of a fixed policy, for rewards of 0 and 1 and known propensities."""
    tree = open_oracle(DecisionTrees(2, depth=1, thresholds=[[0.0]]), [[-1.0], [1.0]], kind="search")
    policy = tree.minimise([[0, 1], [1, 0]]).policy
    covered: dict[tuple[str, str], int] = {}
    for i in range(n_sets):
        rng = child(i, "intervals")
        x = rng.uniform(-1, 1, size=(n, 1))
        chance = 0.5 + 0.3 * x[:, 0]
        action = (rng.random(n) < chance).astype(np.int64)
        reward = (rng.random(n) < 0.3 + 0.4 * action * (x[:, 0] > 0)).astype(float)
        log = read_log(x, action, reward=reward, propensity=np.column_stack([1 - chance, chance]))
        for method in ("ips", "snips", "dr"):
            table = scores(log, method, model_outcome=LinearRegression(), seed=i)
            for kind in ("normal", "bootstrap", "bernstein"):
                found = evaluate(table, policy, interval=kind, outcome_range=(0, 1), seed=i)
                true = {
                    "value": (found.value, 0.5),
                    "gain over always 0": (found.gain_over["0"], 0.2),
                    "gain over what was done": (found.gain_over_logged, 0.5 - 0.43),
                    "value in a leaf": (found.leaves[-1].value, 0.7),
                }
                for what, (estimate, truth) in true.items():
                    key = kind, f"{method}: {what}"
                    covered[key] = covered.get(key, 0) + (estimate.lower <= truth <= estimate.upper)
    for (kind, name), count in sorted(covered.items()):
        yield Row(f"{kind}, {name}", count / n_sets, 1.0 if kind == "bernstein" else least(0.95, n_sets), 1.0)


@pytest.mark.cases(6)
def test_values_are_near_the_truth_if_one_model_is_right(runs: int, record_property: Any) -> None:
    """Within two standard errors, and on average; where all models are wrong nothing helps."""
    rows = list(values(runs))
    error = {row.name: abs(row.error) for row in rows}
    assert error.pop(next(name for name in error if "no method survives" in name)) > 0.1
    assert max(error.values()) < 0.05
    assert out_of_range(rows, record_property) == []


@pytest.mark.cases(5)
def test_intervals_of_a_fixed_policy_cover(runs: int, record_property: Any) -> None:
    """Of every kind, by every method."""
    assert out_of_range(intervals(runs), record_property) == []


def out_of_range(rows: Iterable[Row], record_property: Any) -> list[str]:
    """Report all rows; return those whose share is out of its range."""
    found = list(rows)
    for row in found:
        record_property("figure", str(row))
    return [str(row) for row in found if not row.least <= row.share <= row.most]
