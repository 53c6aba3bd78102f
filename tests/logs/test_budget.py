"""The value against a budget: what learning gives on rows that it was not learnt from."""

import numpy as np
import polars as pl
import pytest

from milpcb.estimators import LoggedPolicyTree, never, share_at_most
from milpcb.logs.curves import SHARES, budget_limit, budget_values
from milpcb.logs.source import Columns, make_source, numbered


@pytest.fixture(scope="module")
def learnt():
    """Return an estimator fitted under limits to a trial in which a call pays for the young, with rows and scores."""
    draw = np.random.default_rng(0)
    age, calls = draw.integers(18, 81, 600), draw.random(600) < 0.5
    bought = draw.random(600) < np.where(calls & (age <= 45), 0.9, 0.2)
    frame = pl.DataFrame({"age": age, "message": np.where(calls, "call", "letter"), "bought": bought.astype(int)})
    source = make_source("log", frame, Columns("message", "bought", maximise=True, randomised=True))
    limits = [share_at_most("call", 0.2), never("call", "age > 75")]
    estimator = LoggedPolicyTree(max_depth=1, constraints=limits)
    scores = estimator.estimate_scores(numbered(source.log))
    return estimator.fit_scores(source.frame, scores), source.frame, scores


def test_each_budget_is_learnt_and_valued_on_other_rows(learnt):
    """More may be used as more is allowed; the truth of a rule for the young, 0.2 + 0.7 * share, is within the band."""
    estimator, frame, scores = learnt
    ticks = []
    points = budget_values(
        estimator, frame, scores, "call", level=0.95, seed=0, progress=lambda *far: ticks.append(far)
    )
    assert [point.share for point in points] == list(SHARES)
    assert ticks[-1] == (len(SHARES), len(SHARES))
    assert points[0].used == 0
    assert all(point.used <= point.share + 0.06 for point in points)  # in other rows than those of the limit
    young = float((frame["age"] <= 45).mean())
    for point in points:
        truth = 0.2 + 0.7 * min(point.used, young)
        assert point.value.lower <= truth <= point.value.upper
    gains = [point.value.value - point.alike for point in points]
    assert gains[4] > 0.05
    assert max(gains, key=abs) == max(gains)


def test_the_other_limits_stay_and_the_estimator_too(learnt):
    """Only the limit on the action is replaced, and only for the curve; the one asked for can be marked."""
    estimator, frame, scores = learnt
    before = list(estimator.constraints)
    points = budget_values(estimator, frame, scores, "call", level=0.95, seed=0, progress=lambda *_: None)
    assert estimator.constraints == before
    old = float((frame["age"] > 75).mean())
    assert points[-1].used <= 1 - old + 0.03
    assert budget_limit(estimator, "call") == 0.2
    assert budget_limit(estimator, "letter") is None
