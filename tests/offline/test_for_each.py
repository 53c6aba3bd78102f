"""Limits by group: each is the limit on its rows alone, with the chances of errors added up."""

import numpy as np
import polars as pl
import pytest

from milpcb.errors import InputError
from milpcb.estimators import LoggedPolicyTree
from milpcb.offline import no_worse_for_each, no_worse_than, read_log, scores

REGIONS = np.array(["north", "south"])


@pytest.fixture(scope="module")
def trial():
    """Return features, actions and an outcome: calls help in the south, and harm in the north."""
    rng, n = np.random.default_rng(0), 1200
    region, age, call = rng.integers(2, size=n), rng.integers(18, 80, n), rng.random(n) < 0.5
    chance = np.where(call, np.where(region == 0, 0.0, 0.6), 0.5)
    frame = pl.DataFrame({"age": age, "region": REGIONS[region]})
    return frame, np.where(call, "call", "letter"), (rng.random(n) < chance).astype(float)


def outcome_of(trial):
    """Return the scores of the outcome."""
    frame, action, good = trial
    return scores(read_log(frame, action, reward=good, propensity="randomised"), method="ips")


def test_a_limit_of_a_group_is_that_of_its_rows(trial):
    """Confidences of the two are 0.975; the naive limit on the rows weighs those of the group alone."""
    outcome = outcome_of(trial)
    north, south = no_worse_for_each(None, trial[0]["region"], outcome=outcome, margin=0.02, draws=5, by="region")
    assert [limit.confidence for limit in (north, south)] == pytest.approx([0.975, 0.975])
    assert north.draws == 39
    assert "where region = north" in north.name
    inside = (trial[0]["region"] == "south").to_numpy()
    whole = no_worse_than(None, outcome=outcome.take(np.flatnonzero(inside)), margin=0.02)
    whole = whole.on_rows(trial[0].filter(inside))
    own = south.on_rows(trial[0])
    assert np.allclose(np.asarray(own.weights)[inside], whole.weights)
    assert not np.asarray(own.weights)[~inside].any()
    assert own.upper == whole.upper


def test_no_group_is_worse_off(trial):
    """A rule that sells the most calls everybody, which harms the north; under the limit by groups it does not."""
    frame, action, _ = trial
    rng = np.random.default_rng(1)
    sold = (rng.random(len(frame)) < np.where(action == "call", 0.8, 0.3)).astype(float)
    limits = no_worse_for_each(None, frame["region"], outcome=outcome_of(trial), margin=0.2, draws=40)
    features, given = frame.select("age"), {"reward": sold, "propensity": "randomised"}
    north = (frame["region"] == "north").to_numpy()

    def called(constraints):
        tree = LoggedPolicyTree(max_depth=1, method="ips", constraints=constraints).fit(features, action, **given)
        return np.mean(np.array(tree.policy_.predict_names(features))[north] == "call")

    assert called([]) == 1.0
    assert 0.0 < called(limits) < 0.9  # from 0.9 on they lose more than 0.2: with a share s called 0.5 s - 0.25


def test_what_is_no_group_is_refused(trial):
    """Too many groups, and labels of other rows; a missing value is a group."""
    outcome = outcome_of(trial)
    with pytest.raises(InputError, match="more than 20 groups"):
        no_worse_for_each(None, trial[0]["age"], outcome=outcome)
    with pytest.raises(InputError, match="one for each of the 1200 rows, got 2"):
        no_worse_for_each(None, ["a", "b"], outcome=outcome)
    with pytest.raises(InputError, match="values of several kinds"):
        no_worse_for_each(None, [1, "1"] * 600, outcome=outcome)
    for value, missing, shown in (("a", None, "a"), (1.0, float("nan"), "1")):
        labels = [value, missing, *[value] * 1197, None]
        assert [limit.group for limit in no_worse_for_each(None, labels, outcome=outcome)] == [shown, "missing"]
