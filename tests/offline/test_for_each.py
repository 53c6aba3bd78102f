"""Limits by group: each is the limit on its rows alone, with the chances of errors added up."""

import numpy as np
import polars as pl
import pytest

from milpcb import open_oracle
from milpcb.errors import InfeasibleError, InputError
from milpcb.estimators import LoggedPolicyTree
from milpcb.offline import no_worse_for_each, no_worse_than, read_log, scores
from policies import DecisionTrees

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


def test_every_group_is_kept_in_95_percent_of_logs():
    """Of 200 logs with a known truth, whose best-looking rules harm people at the border; estimates alone do not do."""
    sure, naive = (sum(kept(seed, surely=surely) for seed in range(200)) for surely in (True, False))
    assert sure >= 190
    assert naive < 150


def risk(X, action):
    """Return the chance of harm (n,): more by action 1 for large x0, most of all in group 1."""
    return 0.2 + action * np.where(X[:, 0] > 2, 0.10, -0.08) * np.where(X[:, 1] == 1, 1.3, 1.0)


def kept(seed, *, surely):
    """Return whether the rule that looks best under the limit harms no group more than today; none harms nobody."""
    rng, n = np.random.default_rng(seed), 2000
    X = np.column_stack([rng.integers(0, 6, n), rng.integers(0, 2, n)]).astype(float)
    done = rng.integers(0, 2, n)
    gained, harmed = rng.random(n) < 0.4 + 0.2 * done, rng.random(n) < risk(X, done)
    first = scores(read_log(X, done, reward=gained.astype(float), propensity=[0.5, 0.5]), "ips")
    second = scores(read_log(X, done, cost=harmed.astype(float), propensity=[0.5, 0.5]), "ips")
    trees = DecisionTrees(2, depth=2, thresholds=5)
    limits = no_worse_for_each(None, X[:, 1], outcome=second, draws=100, seed=seed)
    rules = [limit.rule(trees, X) if surely else limit.on_rows(X) for limit in limits]
    try:
        policy = open_oracle(trees, X, kind="search", constraints=rules).minimise(first.costs).policy
    except InfeasibleError:
        return True
    people = np.array([(x, group) for x in range(6) for group in range(2)], float)
    more = risk(people, np.asarray(policy.predict(people))) - (risk(people, 0) + risk(people, 1)) / 2
    return all(more[people[:, 1] == group].mean() <= 1e-12 for group in range(2))
