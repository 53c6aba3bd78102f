"""Stability by hand: resamples of the rows, lists of labelings, and depths."""

import numpy as np
import pytest

from milpcb import open_oracle
from milpcb.offline import evaluate, read_log, scores, stability
from milpcb.oracles import Oracle
from milpcb.rng import child
from policies import DecisionTrees, ThresholdRules

N = 90


@pytest.fixture(scope="module")
def table():
    """Return scores of a trial in which action 1 helps where x0 = 1."""
    rng = np.random.default_rng(3)
    X = rng.integers(0, 2, size=(N, 3)).astype(float)
    action = rng.integers(0, 2, size=N)
    return scores(read_log(X, action, reward=action * (2 * X[:, 0] - 1) + rng.normal(size=N), propensity=[0.5, 0.5]))


def best(table, policies, costs):
    """Return the best policy by the search."""
    return open_oracle(policies, table.log.features, kind="search").minimise(costs).policy


def test_resamples_are_refits_on_rows_drawn_again(table):
    """Agreement, tests and leaves are shares of what a refit on each resample gives."""
    trees, X = DecisionTrees(2, depth=2), table.log.features
    found = stability(trees, X, table, resamples=12, seed=4)
    rng, policy = child(4, "offline", "resamples"), best(table, trees, table.costs)
    again = [
        best(table, trees, table.costs * np.bincount(rng.integers(N, size=N), minlength=N)[:, None]) for _ in range(12)
    ]
    alike = np.array([other.predict(X) == policy.predict(X) for other in again])
    assert str(found.policy) == str(policy)
    assert found.agreement == pytest.approx(alike.mean())
    assert found.leaves == pytest.approx(
        [alike[:, policy.apply(X) == part].mean() for part in range(len(found.leaves))]
    )
    for test, share in found.tests.items():
        assert share == pytest.approx(np.mean([test in str(other) for other in again]))
    assert found.tests[f"x{policy.root.feature} = 0"] == max(found.tests.values())


def test_policies_near_the_best_are_counted_before_searches_are(table, monkeypatch):
    """The time left is told by searches alone: the count takes longer or shorter than any of them."""
    began, near_best = [], Oracle.near_best
    monkeypatch.setattr(Oracle, "near_best", lambda *asked: began.append("count") or near_best(*asked))
    trees = DecisionTrees(2, depth=2)
    stability(trees, table.log.features, table, resamples=3, progress=lambda *_: began.append("search"))
    assert began.index("count") == 0
    assert began.count("count") == 1


def test_policies_near_the_best_are_counted(table):
    """Labelings whose value is less than the standard error of the best below it."""
    rules, X = DecisionTrees(2, depth=2), table.log.features
    labels = open_oracle(rules, X, kind="enumeration").labelings
    values = table.table[np.arange(N), labels].mean(axis=1)
    error = evaluate(table, labels[values.argmax()]).value.standard_error
    found = stability(rules, X, table, resamples=1)
    assert found.near_best == (values >= values.max() - error).sum() > 1
    assert stability(ThresholdRules(2), X, table, resamples=1).by_depth == ()
    deep = [stability(DecisionTrees(2, depth), X, table, resamples=1).near_best for depth in (3, 7)]
    assert deep[0] == deep[1] >= found.near_best  # three columns of 0 and 1 have no further labelings


def test_each_depth_has_a_held_out_value(table):
    """The value of learning at that depth on the other folds; the policy is that of all rows."""
    X = table.log.features
    found = stability(DecisionTrees(2, depth=2), X, table, resamples=1).by_depth
    assert [each.depth for each in found] == [1, 2]
    for each in found:
        trees = DecisionTrees(2, depth=each.depth)
        assert str(each.policy) == str(best(table, trees, table.costs))
        played = np.empty(N, dtype=int)
        for fold in range(5):
            rest = np.where((table.fold != fold)[:, None], table.costs, 0.0)
            played[table.fold == fold] = best(table, trees, rest).predict(X[table.fold == fold])
        assert each.value.value == pytest.approx(evaluate(table, played).value.value)
        assert each.value.lower == pytest.approx(evaluate(table, played).value.lower)


def test_words_name_the_tests(table):
    """One sentence for the whole, one for each test, one for those near the best."""
    found = stability(DecisionTrees(2, depth=1), table.log.features, table, resamples=4)
    assert "have the test 'x0 = 0'." in " ".join(found.words())
    assert found.words()[-1].startswith("No other rule is within one standard error")
    found = stability(DecisionTrees(2, depth=2), table.log.features, table, resamples=1)
    assert found.words()[-1].startswith(f"{found.near_best} rules, the best one among them, are within one ")
