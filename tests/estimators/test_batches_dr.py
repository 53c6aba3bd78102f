"""Doubly robust scores by batches: models that are fitted to a sample, folds by the number of a row."""

from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from milpcb.data.schema import Schema
from milpcb.errors import InputError
from milpcb.estimators import LoggedPolicyTree
from milpcb.estimators.inputs import Features
from milpcb.estimators.layout import fit_row_models
from milpcb.offline import evaluate, read_log
from milpcb.offline.evaluation import EntryRanges
from milpcb.offline.hashing import folds_of

NAMES = ["x0", "x1", "region", "old"]


def log(n: int = 1500, seed: int = 0) -> pl.DataFrame:
    """Return a log of three actions with numbers, missing ones, strings and a boolean."""
    rng = np.random.default_rng(seed)
    x0, x1, done = rng.integers(0, 30, n), rng.normal(size=n), rng.integers(0, 3, n)
    outcome = np.where((x0 > 12) & (x1 > 0), done == 1, done == 2) + 2.0 * x1 + rng.normal(size=n)
    return pl.DataFrame(
        {
            "x0": x0,
            "x1": [None if lost else value for lost, value in zip(rng.random(n) < 0.1, x1, strict=True)],
            "region": rng.choice(["north", "south", "west"], n),
            "old": rng.random(n) < 0.3,
            "action": done.astype(str),
            "y": outcome,
            "p": rng.choice([0.25, 0.5], n),
        }
    )


def both(propensity: Any, outcome: str = "reward", **options: Any) -> tuple[Any, Any]:
    """Return a learner fitted to rows in memory with the folds of a pass, and one fitted to batches."""
    frame, known = log(), {"thresholds": 4, "random_state": 3, "treatment_cost": {"2": 0.3}, **options}
    in_memory = LoggedPolicyTree(**known, cv=folds_of(np.arange(len(frame)), 4, 3))  # type: ignore[arg-type]
    by_rows = propensity if propensity == "randomised" else frame[propensity].to_numpy()
    in_memory.fit(frame[NAMES], frame["action"], **{outcome: frame["y"]}, propensity=by_rows)
    batches = [frame[start : start + 137] for start in range(0, len(frame), 137)]
    by_batches = LoggedPolicyTree(**known, cv=4)
    asked: dict[str, Any] = {"action": "action", outcome: "y", "propensity": propensity, "features": NAMES}
    by_batches.fit_batches(batches, **asked)
    return in_memory, by_batches


@pytest.mark.parametrize("propensity", ["p", "randomised"])
@pytest.mark.parametrize("outcome", ["reward", "cost"])
def test_batches_find_what_memory_finds_with_the_same_folds(propensity: str, outcome: str) -> None:
    """Policy, value, standard error, gain, ranges and diagnostics are those of scores of all rows."""
    in_memory, by_batches = both(propensity, outcome)
    rows, found = in_memory.scores_, by_batches.compressed_
    seen = evaluate(rows, in_memory.policy_, contexts=log()[NAMES])
    assert (in_memory.predict(log()[NAMES]).astype(str) == by_batches.predict(log()[NAMES])).all()
    value = found.value(by_batches.played_)
    assert value == pytest.approx((seen.value.value, seen.value.standard_error), rel=1e-9)
    assert vars(found.ranges) == pytest.approx(vars(EntryRanges.of(rows)), rel=1e-9)
    for name in ("least_propensity", "effective_size", "calibration", "constants", "calibrated", "outcome_r2"):
        here, there = getattr(found.diagnostics, name), getattr(rows.diagnostics, name)
        assert here == pytest.approx(there, rel=1e-8), name


def test_models_of_ones_own_read_the_columns_as_they_are() -> None:
    """A pipeline of scikit-learn that reads a data frame gives the scores that it gives in memory."""
    frame = log().with_columns(x1=pl.col("x1").fill_null(0.0))
    model = make_pipeline(StandardScaler(), Ridge())
    names, known = ["x0", "x1"], {"thresholds": 4, "model_outcome": model}
    folds: Any = folds_of(np.arange(len(frame)), 5, 0)
    in_memory = LoggedPolicyTree(**known, cv=folds)
    in_memory.fit(frame[names], frame["action"], reward=frame["y"], propensity=frame["p"].to_numpy())
    batches = [frame[start : start + 400] for start in range(0, len(frame), 400)]
    by_batches = LoggedPolicyTree(**known)
    by_batches.fit_batches(batches, action="action", reward="y", propensity="p", features=names)
    assert by_batches.policy_value_ == pytest.approx(in_memory.policy_value_, rel=1e-9)


def test_no_model_predicts_what_it_was_fitted_to() -> None:
    """A row of the sample is predicted by what was fitted to rows of other folds, all others by any."""
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({"x": np.arange(300.0)})
    sample = read_log(frame, rng.integers(0, 2, 300), reward=rng.normal(size=300), propensity="randomised")
    schema, numbers = Schema.infer(frame), 7 * np.arange(300)

    class Seen:
        def get_params(self, **_: Any) -> dict[str, Any]:
            return {}

        def __sklearn_tags__(self) -> Any:
            return Ridge().__sklearn_tags__()

        def fit(self, X: Any, *_: Any) -> Any:
            self.rows_ = set(X["x"].to_list())
            return self

        def predict(self, X: Any) -> Any:
            assert not self.rows_ & set(X["x"].to_list())
            return np.zeros(len(X))

    features, kept = Features(schema.read(frame), schema), np.ones(300, dtype=bool)
    models = fit_row_models(sample, features, frame, numbers, kept, Seen(), cv=5, seed=0, rows=300)
    assert models.predict(frame, {}, numbers).shape == (300, 2)
    with pytest.raises(AssertionError):
        models.predict(frame, {}, numbers + 1)  # other folds
    assert np.bincount(folds_of(np.arange(10_000), 5, 1)).min() > 1800


def test_few_model_rows_change_the_models_alone() -> None:
    """With models of few rows the values are other estimates of the same; with too few there is one line."""
    frame = log()
    batches = [frame[:700], frame[700:]]
    asked: dict[str, Any] = {"action": "action", "reward": "y", "propensity": "p", "features": NAMES}
    many = LoggedPolicyTree(thresholds=4).fit_batches(batches, **asked)
    few = LoggedPolicyTree(thresholds=4).fit_batches(batches, **asked, model_rows=400)
    assert few.compressed_.n == many.compressed_.n
    assert few.policy_value_ != many.policy_value_
    assert few.policy_value_ == pytest.approx(many.policy_value_, abs=0.3)
    with pytest.raises(InputError, match="in one fold; give more model_rows"):
        LoggedPolicyTree(thresholds=4).fit_batches(batches, **asked, model_rows=3)
