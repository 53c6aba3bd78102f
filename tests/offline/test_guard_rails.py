"""Limits on a second outcome that hold with confidence, for all or for each group, and what is guaranteed."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from sklearn.base import clone

from milpcb.errors import InfeasibleError, InputError
from milpcb.estimators import LoggedPolicyTree, never, share_at_most
from milpcb.offline import LowerEnds, best_reference, no_worse_for_each, no_worse_than, read_log, scores
from milpcb.offline.band import drawn_again
from milpcb.offline.restrictions import Question
from milpcb.oracles import open_oracle
from milpcb.rng import child
from policies import DecisionTrees
from tests.offline.cases import best, labelings
from tests.refused import refused

TREES = DecisionTrees(2, depth=1)
ACTIONS = ("no", "yes")


def trial(n=200, seed=0, harm=0.5):
    """Return features, what was done, and two outcomes: yes helps where x0 is 1, and harms where x1 is 1."""
    draw = np.random.default_rng(seed)
    X = draw.integers(0, 2, (n, 3)).astype(float)
    done = draw.integers(0, 2, n)
    first = done * (X[:, 0] - 0.3) + 0.3 * draw.normal(size=n)
    second = done * harm * (X[:, 1] - 0.5) + 0.3 * draw.normal(size=n)
    return X, np.array(ACTIONS)[done], first, second


def scored(X, done, weight=None, **outcome):
    """Return scores by known propensities."""
    log = read_log(X, done, propensity=[0.5, 0.5], actions=ACTIONS, **outcome)
    return scores(log, "snips", sample_weight=weight)


def test_the_rule_is_the_lower_end_of_the_band():
    """Its total at any policy is v - lambda V of the gains over the base, and its bound is what noise may reach."""
    X, done, _, second = trial()
    limits = scored(X, done, cost=second)
    guard = no_worse_than("no", outcome=limits, margin=0.1, draws=40)
    rule = guard.rule(TREES, X)
    gains = limits.gains - limits.gains[:, [0]]
    d = gains / len(X)
    s = 0.75 * np.sqrt((d**2).max(axis=1).sum())
    for labels in labelings(TREES, X):
        own = d[np.arange(len(X)), labels]
        lower = own.sum() - 3.0 / (2 * s) * (own**2).sum()
        total = np.asarray(rule.weights)[np.arange(len(X)), labels].sum()
        assert total == pytest.approx(-lower, abs=1e-12)
    assert rule.upper < 0.1  # the noise takes its part of the margin


def test_the_bound_is_the_quantile_of_the_greatest_noise():
    """By brute force over all policies on the same resamples."""
    X, done, _, second = trial(60)
    limits = scored(X, done, cost=second)
    guard = no_worse_than(None, outcome=limits, draws=20, confidence=0.9, seed=3)
    rule, rng = guard.rule(TREES, X), child(3, "offline", "no worse")
    d = (limits.gains + second[:, None]) / len(X)
    slope = 3.0 / (2 * 0.75 * np.sqrt((d**2).max(axis=1).sum()))
    own = d[np.arange(len(X)), labelings(TREES, X)]
    drawn = drawn_again(rng, np.arange(len(X)), 20)
    greatest = [float(((counts - 1) * own - slope * counts * own**2).sum(axis=1).max()) for counts in drawn]
    assert rule.upper == pytest.approx(-max(0.0, sorted(greatest)[int(np.ceil(0.9 * 21)) - 1]), abs=1e-12)


def test_the_guaranteed_policy_has_the_greatest_lower_end():
    """Of all policies of the class, by brute force."""
    X, done, first, _ = trial(80)
    found = scored(X, done, reward=first)
    ends = LowerEnds(Question(TREES, X), found, best_reference(found))
    every = [best(TREES, X, ends.costs).predict(X), *labelings(TREES, X)]
    gains, lower = np.array(ends.of(every, draws=20)).T
    assert lower[0] == pytest.approx(max(lower[1:]), abs=1e-12)
    rows, d = np.arange(len(X)), (found.gains - ends.reference.played(found.gains)[:, None]) / len(X)
    own = np.array([d[rows, labels] for labels in every])
    penalty = 3.0 / (2 * 0.75 * np.sqrt((d**2).max(axis=1).sum())) * (own**2).sum(axis=1)
    assert gains == pytest.approx(own.sum(axis=1), abs=1e-12)
    assert np.ptp(gains - penalty - lower) == pytest.approx(0.0, abs=1e-12)  # the noise is allowed for alike


def test_an_estimator_finds_the_policy_of_the_greatest_lower_end():
    """Of all trees, by brute force; with equal rows merged, and whatever the weights of the rows."""
    X, done, first, _ = trial(120)
    how = {"method": "snips", "max_depth": 1, "objective": "guaranteed"}
    tree = LoggedPolicyTree(**how).fit(
        X, done, reward=first, propensity=[0.5, 0.5], sample_weight=np.arange(120) % 3 + 1.0
    )
    own, every = tree.policy_.predict(X), labelings(TREES, X)
    lower = np.array([end for _, end in tree.lower_ends_.of([own, *every], draws=20)])
    assert lower[0] == pytest.approx(max(lower[1:]), abs=1e-12)
    assert tree.policy_value_ <= tree.lower_bound_ + 1e-12


@pytest.mark.parametrize("rule", [share_at_most("yes", 0.3), never("yes", where="x1 = 1")])
def test_what_is_guaranteed_is_over_the_reference_of_the_constraints(rule, two):
    """The best way to treat all alike that keeps them, as that of the claims: not one that they forbid."""
    X, done, outcome, _ = two
    weight, tree = np.arange(len(X)) % 3, LoggedPolicyTree(max_depth=1, method="snips", constraints=[rule])
    kept, free = weight > 0, clone(tree).fit(X, done, **outcome)
    found = tree.set_params(objective="guaranteed").fit(X, done, **outcome, sample_weight=weight).lower_ends_.reference
    assert found.name != "always 'yes'"
    each = weight[kept, None] / weight[kept].mean()
    rules = [replace(rule, weights=np.asarray(rule.weights) * each) for rule in free.problem(X[kept]).constraints]
    by_rows = best_reference(tree.scores_.take(np.flatnonzero(kept)), rules)
    assert found.value == pytest.approx(by_rows.value, abs=1e-12)
    assert found.probabilities == pytest.approx(by_rows.probabilities)


@pytest.fixture
def two():
    """Return a trial with two outcomes and an estimator's arguments."""
    X, done, first, second = trial(600)
    return X, done, {"reward": first, "propensity": [0.5, 0.5]}, scored(X, done, cost=second)


def test_estimators_keep_a_limit_beside_named_constraints(two):
    """Rows are merged, the limit is not lost: the same policy as by hand; other constraints are kept too."""
    X, done, outcome, limits = two
    guard = no_worse_than("no", outcome=limits, draws=40, margin=0.05)
    tree = LoggedPolicyTree(max_depth=1, method="snips", constraints=[share_at_most("yes", 0.6), guard])
    tree.fit(X, done, **outcome)
    assert (tree.predict(X) == "yes").mean() <= 0.6
    free = LoggedPolicyTree(max_depth=1, method="snips", constraints=[guard]).fit(X, done, **outcome)
    oracle = open_oracle(TREES, X, kind="search", constraints=[guard.rule(TREES, X)])
    assert free.policy_value_ == pytest.approx(-oracle.value(free.scores_.costs) / len(X), abs=1e-9)
    rules = free.problem(X).constraints
    assert [rule.upper for rule in rules] == [0.05]  # estimates alone, for what is claimed
    assert free.problem(X, guarded=False).constraints == ()
    assert "constraints" in free.to_json()


def test_what_is_compared_with_keeps_its_own_limit(two):
    """Where nothing is shown to be better the constant itself is the answer; with a margin below 0 nothing is."""
    X, done, outcome, limits = two
    for than in ("no", ["no"] * len(X)):
        guard = no_worse_than(than, outcome=limits, draws=40, confidence=0.95)
        tree = LoggedPolicyTree(max_depth=1, method="snips", constraints=[guard]).fit(X, done, **outcome)
        assert tree.policy_value_ >= tree.constant_values_[0] - 1e-12
    every_yes_harms = scored(X, done, cost=(done == "yes").astype(float))
    guard = no_worse_than("no", outcome=every_yes_harms, draws=40)
    tree = LoggedPolicyTree(max_depth=1, method="snips", constraints=[guard]).fit(X, done, **outcome)
    assert set(tree.predict(X)) == {"no"}
    guard = no_worse_than("no", outcome=limits, draws=40, margin=-1.0)
    with pytest.raises(InfeasibleError, match="no policy of the class is shown by these 600 rows to keep"):
        LoggedPolicyTree(max_depth=1, method="snips", constraints=[guard]).fit(X, done, **outcome)


def test_another_policy_is_compared_with_row_by_row(two):
    """The rule in force, or the actions that it plays: no other policy is worth what it is where all others harm."""
    X, done, outcome, _ = two
    forced = best(TREES, X, np.column_stack([X[:, 2], 1 - X[:, 2]]))
    names = np.array(ACTIONS)[forced.predict(X)]
    harms = scored(X, done, cost=(done != names).astype(float))
    by_policy, by_list = (no_worse_than(than, outcome=harms, draws=20, margin=0.0) for than in (forced, names))
    assert (
        by_policy.base().tolist() == by_list.base().tolist() == harms.gains[np.arange(600), forced.predict(X)].tolist()
    )
    rules = [guard.rule(TREES, X) for guard in (by_policy, by_list)]
    assert np.array_equal(rules[0].weights, rules[1].weights)
    tree = LoggedPolicyTree(max_depth=1, method="snips", constraints=[by_list])
    tree.fit(X, done, **outcome, sample_weight=np.arange(600) % 5 > 0)
    assert tree.predict(X).tolist() == names.tolist()
    assert "no worse than another policy" in by_policy.asked
    narrower = by_policy.rule(TREES, X, constraints=[share_at_most(1, 0.2)])
    assert narrower.upper >= rules[0].upper
    for wrong, words in ((["no"] * 5, "has 600 rows, there are 5"), (["perhaps"] * 600, "'perhaps'")):
        refused(lambda wrong=wrong: no_worse_than(wrong, outcome=harms), words)


# ------------------------------------------------------------------- for each group

REGIONS = np.array(["north", "south"])


@pytest.fixture(scope="module")
def regions():
    """Return features, actions and scores of an outcome: calls help in the south, and harm in the north."""
    rng, n = np.random.default_rng(0), 1200
    region, age, call = rng.integers(2, size=n), rng.integers(18, 80, n), rng.random(n) < 0.5
    chance = np.where(call, np.where(region == 0, 0.0, 0.6), 0.5)
    frame, action = pl.DataFrame({"age": age, "region": REGIONS[region]}), np.where(call, "call", "letter")
    good = (rng.random(n) < chance).astype(float)
    return frame, action, scores(read_log(frame, action, reward=good, propensity="randomised"), method="ips")


def test_a_limit_of_a_group_is_that_of_its_rows(regions):
    """Confidences of the two are 0.975; the naive limit on the rows weighs those of the group alone."""
    frame, _, outcome = regions
    north, south = no_worse_for_each(None, frame["region"], outcome=outcome, margin=0.02, draws=5, by="region")
    assert [limit.confidence for limit in (north, south)] == pytest.approx([0.975, 0.975])
    assert north.draws == 39
    inside = (frame["region"] == "south").to_numpy()
    whole = no_worse_than(None, outcome=outcome.take(np.flatnonzero(inside)), margin=0.02)
    whole, own = whole.on_rows(frame.filter(inside)), south.on_rows(frame)
    assert np.allclose(np.asarray(own.weights)[inside], whole.weights)
    assert not np.asarray(own.weights)[~inside].any()
    assert own.upper == whole.upper


def test_what_is_no_group_is_refused(regions):
    """Too many groups, and labels of other rows; a missing value is a group."""
    frame, _, outcome = regions
    for groups, line in (
        (frame["age"], "more than 20 groups"),
        (["a", "b"], "one for each of the 1200 rows, got 2"),
        ([1, "1"] * 600, "values of several kinds"),
    ):
        with pytest.raises(InputError, match=line):
            no_worse_for_each(None, groups, outcome=outcome)
    labels = ["a", None, *["a"] * 1197, None]
    assert [limit.group for limit in no_worse_for_each(None, labels, outcome=outcome)] == ["a", "missing"]


@pytest.mark.parametrize(("losses", "first", "enough"), [(0, 1, False), (8, 1, False), (20, 1, True), (20, 100, False)])
def test_rare_losses_under_both_actions_are_few(losses: int, first: float, enough: bool):
    """They cancel in the skewness of their difference, and are counted by its fourth moment, by their weights."""
    X, done, _, _ = trial(2000)
    second, weight = np.zeros(len(X)), np.ones(len(X))
    for action in ACTIONS:
        rows = np.flatnonzero(done == action)[:losses]
        second[rows], weight[rows[:1]] = 1.0, first
    limits = scored(X, done, weight, cost=second)
    assert no_worse_than("no", outcome=limits).enough_events == enough
    if losses:
        assert limits.diagnostics.events > 25
