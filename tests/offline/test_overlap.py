"""Where a log has no rows of an action, no rule plays it, and nothing is claimed of it."""

from contextlib import nullcontext
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from scipy.stats import norm

from milpcb.errors import InputError, LogWarning
from milpcb.estimators import LoggedPolicyTree
from milpcb.estimators.inputs import Columns
from milpcb.logs.findings import Asked
from milpcb.logs.learning import find
from milpcb.logs.page import first, worth_lines
from milpcb.logs.source import make_source
from milpcb.offline import best_reference, evaluate, no_worse_than, read_log, scores
from milpcb.offline.inference import _other_splits
from milpcb.offline.overlap import column_tests, parts_without, rows_of_actions

N = 1200


def south(seed=3, n=N):
    """Return a log of a treatment that nobody in the south got, where it would do harm; with propensities."""
    rng = np.random.default_rng(seed)
    north = rng.random(n) < 0.5
    done = np.where(north & (rng.random(n) < 0.5), "treat", "wait")
    outcome = rng.normal(size=n) + np.where(north, 1.0, -3.0) * (done == "treat")
    frame = pl.DataFrame({"age": rng.integers(18, 80, n), "region": np.where(north, "north", "south").tolist()})
    treat = np.where(north, 0.5, 0.0)
    return frame, done, outcome, np.column_stack([treat, 1 - treat])


FRAME, DONE, OUTCOME, KNOWN = south()
NUMBERS = np.column_stack([FRAME["age"], FRAME["region"] == "north"]).astype(float)


def even(n=N, K=2, seed=0, columns=3):
    """Return features, what was done at random, and an outcome that nothing changes."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, columns)), rng.integers(0, K, n), rng.normal(size=n)


def test_giving_everybody_what_some_never_got_has_no_value():
    """Its value, its gains and their ends are NaN; the other action has a value, and is the best constant."""
    found = scores(read_log(FRAME, DONE, reward=OUTCOME, propensity=KNOWN), "ips")
    everybody = evaluate(found, ["treat"] * N)
    assert np.isnan([everybody.value.estimate, everybody.value.lower, everybody.gain.upper]).all()
    assert [everybody.constants[name].known for name in ("treat", "wait")] == [False, True]
    assert not everybody.gain_over["wait"].known
    assert everybody.best_constant == "wait"
    assert best_reference(found).is_played((FRAME["region"] == "south").to_numpy().astype(int))


def test_asked_for_all_the_same_it_is_assumed():
    """With overlap="ignore" treating everybody has a value and an interval, and the warning says that it is assumed."""
    tree = LoggedPolicyTree(max_depth=1, method="ips", overlap="ignore")
    with pytest.warns(LogWarning, match="was assumed all the same"):
        tree.fit(FRAME, DONE, reward=OUTCOME, propensity=KNOWN)
    assert (tree.predict(FRAME) == "treat").mean() > 0.4
    value = evaluate(tree.scores_, ["treat"] * N).value
    assert value.lower < value.estimate < value.upper


def test_a_part_ends_where_the_rows_of_the_action_begin():
    """The cut of a number lies just below the first row that has the action, whatever the quantiles are."""
    rng = np.random.default_rng(0)
    x, other = rng.normal(size=N), rng.normal(size=N)
    action = ((x > 0.3) & (rng.random(N) < 0.5)).astype(np.int64)
    each = np.ones(N)
    log = read_log(np.column_stack([x, other]), action, reward=x)
    parts = parts_without(
        list(column_tests({"x": x, "other": other})), action, each, rows_of_actions(log, each)[1], 0.01
    )
    assert [(part.action, part.seen) for part in parts] == [(1, 0)]
    assert parts[0].words.startswith("x up to 0.3")
    assert np.array_equal(parts[0].within, x < x[action == 1].min())


def test_a_pair_of_tests_and_a_few_wrong_entries_are_found():
    """A part of two tests in which one row of 300 has the action, by mistake, counts as one without it."""
    rng = np.random.default_rng(1)
    a, b = rng.integers(0, 2, (2, N)).astype(float)
    action = np.where((a == 1) & (b == 0), 0, rng.integers(0, 2, N))
    action[np.flatnonzero((a == 1) & (b == 0))[0]] = 1
    found = scores(read_log(np.column_stack([a, b]), action, reward=a), "snips")
    assert np.array_equal(found.unseen[:, 1], (a == 1) & (b == 0))
    assert not found.unseen[:, 0].any()
    assert "where x0 = 1 and x1 = 0 (1 of " in found.diagnostics.words()[0]


def test_given_propensities_say_how_many_rows_are_to_be_expected():
    """A part that was to get the action once in a thousand rows, and got it never, is none."""
    X, _, outcome = even()
    chance = np.where(X[:, 0] > 0, 0.5, 0.001)
    action = ((np.random.default_rng(4).random(N) < chance) & (X[:, 0] > 0)).astype(np.int64)
    table = np.column_stack([1 - chance, chance])
    assert not scores(read_log(X, action, reward=outcome, propensity=table), "ips").unseen.any()
    assert scores(read_log(X, action, reward=outcome), "snips").unseen[X[:, 0] < 0, 1].all()


def test_rows_of_a_group_count_once():
    """Of 12 groups 3 in a part without the action are chance, however many rows they have."""
    group = np.repeat(np.arange(12), 100)
    action = np.array([0, 0, 0, 1, 0, 1, 1, 0, 1, 0, 1, 1])[group]
    X = (group < 3).astype(float)[:, None] + np.zeros((1200, 2))
    outcome = np.random.default_rng(0).normal(size=1200)
    assert not scores(read_log(X, action, reward=outcome, group=group), "snips", cv=2).unseen.any()
    assert scores(read_log(X, action, reward=outcome), "snips").unseen[group < 3, 1].all()


def test_every_part_of_the_policy_has_a_row_of_its_action():
    """On every cut of 60 rows among five actions the best tree has rows of its actions in all leaves."""
    for seed in range(6):
        X, action, outcome = even(60, 5, seed)
        tree = LoggedPolicyTree(max_depth=2, thresholds="all", method="ips")
        tree.fit(X, action, reward=outcome - 1, propensity="randomised")  # an action without rows looks worth 0
        part, right = tree.apply(X), tree.policy_.predict(X) == tree.scores_.log.action
        assert np.array_equal(np.unique(part[right]), np.unique(part))


def test_a_limit_cannot_be_put_on_a_base_that_is_not_known():
    """No second outcome is no worse than treating everybody, where nobody in the south was treated."""
    second = scores(read_log(NUMBERS, DONE, cost=OUTCOME, propensity=KNOWN), "ips")
    guard = no_worse_than("treat", outcome=second, draws=20)
    with pytest.raises(InputError, match="not known what always 'treat' gives"):
        guard.base()
    assert second.unseen[:, 0].tolist() == (NUMBERS[:, 1] == 0).tolist()


def test_further_splits_follow_from_what_rows_hold():
    """Other seeds and other orders of the rows deal the same rows into the same folds."""
    X, action, outcome = even(300)
    order = np.random.default_rng(5).permutation(300)
    one = scores(read_log(X, action, reward=outcome), "snips", seed=1)
    two = scores(read_log(X[order], action[order], reward=outcome[order]), "snips", seed=2)
    for fold, other in zip(_other_splits(one), _other_splits(two), strict=True):
        assert np.array_equal(fold[order], other)
    assert len(_other_splits(one)) == 4


def test_harm_that_never_occurred_is_not_shown_to_keep_within_a_limit():
    """Where the second outcome is the same in all rows there are no events, and no lottery is shown to keep a limit."""
    X, action, _ = even(300)
    second = scores(read_log(X, action, cost=np.zeros(300), propensity="randomised"), "snips")
    guard = no_worse_than("0", outcome=second, margin=0.1, draws=20)
    assert not guard.enough_events
    assert not guard.kept_by(replace(best_reference(second), lottery=np.array([[0.0, 1.0]])))


def test_a_lottery_keeps_a_limit_by_the_ends_of_its_actions():
    """It is shown to where the mean of lower ends, that hold for all actions at once, is above minus the margin."""
    X, action, outcome = even(600)
    second = scores(read_log(X, action, cost=outcome + 0.1 * action, propensity="randomised"), "snips")
    lots = replace(best_reference(second), lottery=np.array([[0.5, 0.5]]))
    difference = second.gains[:, 1] - second.gains[:, 0]
    lower = 0.5 * (difference.mean() - norm.ppf(0.95) * difference.std(ddof=1) / np.sqrt(600))
    for margin, kept in ((-lower + 1e-6, True), (-lower - 1e-6, False)):
        assert no_worse_than("0", outcome=second, margin=margin, draws=20).kept_by(lots) is kept
    assert no_worse_than("0", outcome=second, draws=20).kept_by(replace(lots, lottery=np.array([[1.0, 0.0]])))


def test_bars_are_of_the_same_rows():
    """With hold-out rows the rule, treating all alike and what was done are all valued there."""
    frame, done, outcome, _ = south(n=400)
    table = frame.with_columns(done=pl.Series(done.tolist()), y=outcome)
    source = make_source("log", table, Columns("done", "y", maximise=True))
    asked = Asked(draws=20, resamples=0, holdout=0.5)
    tree = LoggedPolicyTree(max_depth=1, method="snips")
    found = find(source, tree, asked, lambda _what: nullcontext(lambda *_: None))
    rule, alike, logged = first(worth_lines(found))
    assert all(line.name.endswith(", hold-out rows") for line in (rule, alike, logged))
    assert rule.value == found.held_out.value.estimate
    assert alike.value == pytest.approx(found.held_out.reference.value)
    assert logged.value == pytest.approx(outcome[found.aside.numbers].mean())
