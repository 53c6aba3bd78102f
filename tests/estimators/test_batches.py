"""Estimators that learn from batches in constant memory find what they find in the rows themselves."""

from itertools import product
from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from milpcb import share_at_most
from milpcb.errors import InputError
from milpcb.estimators import LoggedPolicyTree, LoggedRuleList, LoggedScoringRule, LoggedThresholdRule
from milpcb.estimators import one_pass as samples
from milpcb.estimators.inputs import Columns
from milpcb.estimators.one_pass import Sample, folds_in_pass
from milpcb.offline import Evaluation, evaluate
from milpcb.offline.compressed import compressed_contexts, evaluate_sums
from milpcb.offline.sufficient_statistics import Grid
from tests.refused import refused

TREE = LoggedPolicyTree(max_depth=2, thresholds=5, method="snips")
ROBUST = LoggedPolicyTree(thresholds=4, cv=4, random_state=3, treatment_cost={"2": 0.3})
IPS = LoggedPolicyTree(thresholds=4, method="ips", treatment_cost={"2": 0.3})
OWN = clone(ROBUST).set_params(model_outcome=make_pipeline(OneHotEncoder(handle_unknown="ignore"), Ridge()))
LEARNERS = [
    TREE,
    LoggedPolicyTree(max_depth=2, thresholds=5, method="ips", treatment_cost={"2": 0.3}),
    LoggedPolicyTree(max_depth=1, thresholds={"x0": [10, 20], "x1": [0.0]}, method="snips"),
    LoggedPolicyTree(max_depth=2, thresholds=3, method="ips", constraints=[share_at_most("1", 0.2)], missing="yes"),
    LoggedThresholdRule(method="snips", max_cuts=2),
    LoggedRuleList(method="ips", thresholds=3),
    LoggedScoringRule(method="snips", thresholds=2, max_tests=2),
]
LEAST, CHANCES = 0.05, {"0": "p0", "1": "p1", "2": "p2"}


def log(n: int = 900, seed: int = 0) -> pl.DataFrame:
    """Return a log of three actions with numbers, strings, a boolean and missing numbers; the best rule is a tree.

    Propensities are those of what was done; with rare ones; and of all actions, least where the action was not taken,
    and with sums that are 1 but for rounding.
    """
    rng = np.random.default_rng(seed)
    x0, x1, done = rng.integers(0, 30, n), rng.normal(size=n), rng.integers(0, 3, n)
    outcome = np.where((x0 > 12) & (x1 > 0), done == 1, done == 2) + rng.normal(size=n)
    every = np.where(np.arange(3) == done[:, None], 0.9, LEAST)
    every[: n // 2] = 0.333
    p = rng.choice([0.25, 0.5], n)
    return pl.DataFrame(
        {
            "x0": x0,
            "x1": x1,
            "age": [None if lost < 0.1 else np.nan if lost < 0.2 else lost for lost in rng.random(n)],
            "region": rng.choice(["north", "south", "west"], n),
            "old": rng.random(n) < 0.3,
            "action": done.astype(str),
            "y": outcome,
            "p": p,
            "rare": np.where(x0 > 25, 0.001, p),
            **{name: every[:, k] for k, name in enumerate(CHANCES.values())},
        }
    )


def batches(frame: pl.DataFrame, size: int = 137) -> list[pl.DataFrame]:
    """Return a frame in pieces."""
    return [frame[start : start + size] for start in range(0, len(frame), size)]


def features(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the columns that policies read."""
    return frame.select("x0", "x1", "age", "region", "old")


def added(learner: Any, frame: pl.DataFrame, propensity: Any = "p", outcome: str = "reward", **more: Any) -> Any:
    """Return a copy of a learner that is fitted to batches."""
    asked = {"action": "action", outcome: "y", "propensity": propensity, "features": features(frame).columns} | more
    return clone(learner).fit_batches(batches(frame), **asked)


def held(learner: Any, frame: pl.DataFrame, propensity: Any = "p", outcome: str = "reward") -> Any:
    """Return a copy of a learner that is fitted to rows in memory, with the folds of a pass."""
    columns = list(propensity.values()) if propensity == CHANCES else propensity
    known = propensity if propensity == "randomised" else frame.select(columns).to_numpy().squeeze()
    copy = clone(learner)
    if learner.method == "dr":
        copy.set_params(cv=folds_in_pass(np.arange(len(frame)), learner.cv, learner.random_state))
    return copy.fit(features(frame), frame["action"], **{outcome: frame["y"]}, propensity=known)


def every_estimate(found: Evaluation) -> list[Any]:
    """Return the estimates of an evaluation that both ways know, without those of parts."""
    by_action = [*found.constants.values(), *found.gain_over.values()]
    return [found.value, found.gain, found.logged, found.reference_value, *by_action]


@pytest.mark.parametrize(
    ("learner", "propensity", "outcome"),
    [
        *((each, *known) for each in LEARNERS for known in (("p", "reward"), ("randomised", "cost"))),
        *((TREE, known, "reward") for known in ("rare", CHANCES)),
        *((ROBUST, *known) for known in (("p", "cost"), ("randomised", "reward"), (CHANCES, "reward"))),
        (OWN, "randomised", "cost"),
    ],
)
@pytest.mark.filterwarnings("ignore::milpcb.errors.LogWarning")
def test_batches_give_what_the_rows_give(learner: Any, propensity: Any, outcome: str) -> None:
    """Policy, bound, values and gains with their errors, ranges and diagnostics by sums are those by rows."""
    frame = log()
    in_memory, by_batches = (fit(learner, frame, propensity, outcome) for fit in (held, added))
    scores, found, rows = in_memory.scores_, by_batches.compressed_, features(frame)
    assert (in_memory.predict(rows).astype(str) == by_batches.predict(rows)).all()
    assert by_batches.policy_value_ == pytest.approx(in_memory.policy_value_, abs=1e-12)
    assert by_batches.lower_bound_ == pytest.approx(in_memory.lower_bound_, abs=1e-9)
    assert by_batches.constant_values_ == pytest.approx(in_memory.constant_values_, abs=1e-12)
    assert found.constants == pytest.approx(in_memory.constant_values_, abs=1e-12)
    assert by_batches.optimal_
    seen = evaluate(scores, in_memory.policy_, contexts=rows)
    summed = evaluate_sums(found, by_batches.played_, np.zeros(len(found.codes), dtype=np.int64), 0.95)
    for one, other in zip(every_estimate(summed), every_estimate(seen), strict=True):
        assert vars(one) == pytest.approx(vars(other), rel=1e-9, abs=1e-12)
    assert (summed.best_constant, summed.reference.name) == (seen.best_constant, seen.reference.name)
    assert [(leaf.share, leaf.value) for leaf in summed.leaves] == [(1.0, summed.value)]
    assert found.outcome == pytest.approx((seen.logged.estimate, np.sqrt(len(frame)) * seen.logged.standard_error))
    assert found.ranges.entry >= np.ptp(scores.table)
    names = ["least_propensity", "effective_size", "calibration", "calibration_error"]
    for name in names:
        here, there = getattr(found.diagnostics, name), getattr(scores.diagnostics, name)
        assert here == pytest.approx(there, rel=1e-8, nan_ok=True), name
    assert found.diagnostics.clipped == scores.diagnostics.clipped
    assert (found.diagnostics.clipped > 0) == (propensity == "rare")
    assert (found.diagnostics.least_propensity.tolist() == [LEAST] * 3) == (propensity == CHANCES)


@pytest.mark.parametrize("far", [1.7e9, -1.7e9])
def test_outcomes_far_from_0_have_no_standard_errors_by_sums(far: float) -> None:
    """Seconds of a clock, say, whose squares leave no digit for what differs; those of 1e5 and a little are fine."""
    refused(lambda: added(TREE, log(90).with_columns(pl.col("y") + far)), "subtract a number near them from all")
    near, plain = added(TREE, log(300).with_columns(pl.col("y") + 1e5)), added(TREE, log(300))
    gains = [each.compressed_.gain(near.played_, 0) for each in (near, plain)]
    assert gains[0] == pytest.approx(gains[1], rel=1e-4)


@pytest.mark.parametrize("size", [7, 100, 299])
def test_whole_scores_give_the_same_bits_in_any_pieces(size: int) -> None:
    """Sums of whole numbers are exact: whatever the pieces, the tables are equal, and so is the rule, to the letter."""
    frame = log(300).with_columns(y=pl.col("y").round())
    asked: dict[str, Any] = {"action": "action", "reward": "y", "propensity": "p", "features": features(frame).columns}
    found = [
        LoggedPolicyTree(max_depth=2, thresholds=4, method="ips").fit_batches(batches(frame, pieces), **asked)
        for pieces in (size, len(frame))
    ]
    assert np.array_equal(found[0].compressed_.products, found[1].compressed_.products)
    assert str(found[0].policy_) == str(found[1].policy_)


@pytest.mark.parametrize(
    ("bins", "order"), [((3, 4, 2), 1), ((3, 4, 2, 3), 2), ((2, 3, 2, 2), 3), ((3, 2), 4), ((1, 3, 1), 2)]
)
def test_few_contexts_stand_for_the_rows(bins: tuple[int, ...], order: int) -> None:
    """Every sum over a part by at most ``order`` columns is the same over the contexts as over the rows."""
    rng = np.random.default_rng(1)
    codes, numbers = rng.integers(0, bins, size=(200, len(bins))), rng.integers(-5, 6, 200)
    codes[codes[:, 1] == 1, 1] = 0  # a bin without rows
    grid = Grid(bins, order)
    cells = np.zeros((grid.size, 2))
    for columns, start in zip(grid.sets, grid.starts, strict=False):
        place = np.ravel_multi_index(codes[:, list(columns)].T, [bins[f] for f in columns])
        np.add.at(cells, start + place, np.column_stack([np.ones(200), numbers]))
    contexts, sums = compressed_contexts(grid, cells)
    assert set(map(tuple, contexts)) <= set(product(*(np.unique(column).tolist() for column in codes.T)))
    for columns in grid.sets:
        for wanted in product(*(range(bins[f]) for f in columns)):
            there = (contexts[:, list(columns)] == wanted).all(axis=1)
            rows = (codes[:, list(columns)] == wanted).all(axis=1)
            assert sums[there].sum(axis=0).tolist() == [rows.sum(), numbers[rows].sum()]


def test_a_sample_is_of_bounded_size_and_keeps_what_is_new(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond its size every s-th row stays, and every row with a first missing value or a first string."""
    monkeypatch.setattr(samples, "MOST_ROWS", 100)
    frame = pl.DataFrame({"x": np.arange(5000.0), "s": ["a"] * 5000, "y": [1.0] * 5000})
    frame[3001, "x"], frame[3003, "s"], frame[4005, "s"] = None, "b", None
    found = Sample(Columns("s", "y", maximise=True, randomised=True))
    for batch in batches(frame, 700):
        found.add(batch)
    numbers = found.table["x"].fill_null(3001).to_list()
    assert {3001, 3003, 4005} <= set(numbers)
    assert {number for number in numbers if number % found.step} == {3001, 3003, 4005}
    assert 50 < len(numbers) <= 103


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"method": "dm"}, "unknown method of sums over batches 'dm'"),
        ({"method": "dr", "model_rows": 3}, "must be in two folds"),
        ({"min_propensity": 2.0}, "min_propensity must be at least 0 and below 1"),
        ({"treatment_cost": {"2": np.nan}}, "treatment_cost must be finite numbers"),
        ({"treatment_cost": np.zeros((50, 3))}, "treatment_cost by row needs the rows themselves"),
    ],
)
def test_wrong_options_are_named_before_the_pass(options: dict[str, Any], words: str) -> None:
    """The first batch is read, for the sample, and no batch is read twice."""
    read: list[int] = []

    def frames() -> Any:
        read.append(len(read))
        yield log(50)

    asked: dict[str, Any] = {"action": "action", "reward": "y", "propensity": "p"}
    asked |= {"model_rows": options.pop("model_rows")} if "model_rows" in options else {}
    tree = LoggedPolicyTree(**{"method": "ips"} | options)
    with pytest.raises(InputError, match=words):
        tree.fit_batches(frames, **asked)
    assert read == [0]


@pytest.mark.parametrize("kind", ["string", "boolean"])
def test_missing_values_of_pandas_are_missing(kind: str) -> None:
    """NA among strings or booleans, as with rows in memory; an action that is NA is named with its row."""
    whole = log(200).to_pandas().drop(columns="age")
    whole["region"] = whole["region"].astype("string") if kind == "string" else (whole["region"] > "n").astype(kind)
    frame = whole.assign(region=whole["region"].where(whole["x0"] > 9))
    rows, tree = frame[["x0", "region"]], LoggedPolicyTree(max_depth=1, method="ips")
    by_rows = LoggedPolicyTree(max_depth=1, method="ips")
    by_rows.fit(rows, frame["action"], reward=frame["y"], propensity=frame["p"].to_numpy())
    asked: dict[str, Any] = {"action": "action", "reward": "y", "propensity": "p", "features": ["x0", "region"]}
    tree.fit_batches([frame[:90], frame[90:]], **asked)
    assert tree.predict(rows).tolist() == by_rows.predict(rows).tolist()
    lost = frame.assign(action=frame["action"].astype("string").where(frame.index != 7))
    refused(lambda: tree.fit_batches([lost], **asked), "row 8: 'action' is missing")


class Remembers(RegressorMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """A regression of 0 that fails if it predicts a row it was fitted to."""

    def fit(self, X: pl.DataFrame, y: Any) -> "Remembers":
        """Remember the rows, of which x1 is the name."""
        del y
        self.seen_ = set(X["x1"])
        return self

    def predict(self, X: pl.DataFrame) -> Any:
        """Return 0 for rows that were not seen."""
        assert not self.seen_ & set(X["x1"])
        return np.zeros(len(X))


def test_no_model_predicts_what_it_was_fitted_to() -> None:
    """Rows are in folds by their number in the log; without a regression the scores are those of ips."""
    frame, fold = log(300), folds_in_pass(np.arange(10_000), 5, 1)
    robust, plain = added(clone(ROBUST).set_params(model_outcome=Remembers()), frame), added(IPS, frame)
    assert robust.policy_value_ == pytest.approx(plain.policy_value_, abs=1e-12)
    assert np.bincount(fold).min() > 1800


def test_few_model_rows_change_the_models_alone() -> None:
    """With models of few rows the values are other estimates of the same."""
    many, few = added(ROBUST, log()), added(ROBUST, log(), model_rows=400)
    assert few.compressed_.n == many.compressed_.n
    assert few.policy_value_ != many.policy_value_
    assert few.policy_value_ == pytest.approx(many.policy_value_, abs=0.3)
