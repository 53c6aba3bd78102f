"""Stability by hand: resamples of the rows under constraints and by groups."""

import numpy as np
import pytest

from milpcb.constraints import never, share_at_most
from milpcb.offline import evaluate, read_log, scores, stability
from milpcb.rng import child
from policies import DecisionTrees, ThresholdRules
from tests.offline.cases import best, learnt_elsewhere

N = 90
TREES = DecisionTrees(2, depth=2)
BUDGET = share_at_most(1, 0.4)


def drawn(group=None):
    """Return scores of a trial in which action 1 helps where x0 = 1."""
    rng = np.random.default_rng(3)
    X = rng.integers(0, 2, size=(N, 3)).astype(float)
    action = rng.integers(0, 2, size=N)
    reward = action * (2 * X[:, 0] - 1) + rng.normal(size=N)
    return scores(read_log(X, action, reward=reward, propensity=[0.5, 0.5], group=group))


@pytest.fixture(scope="module")
def table():
    """Return the scores of rows that stand for themselves."""
    return drawn()


@pytest.mark.parametrize("size", [1, 3])
@pytest.mark.parametrize("constraints", [[], [BUDGET]], ids=["free", "a budget"])
def test_resamples_are_refits_on_rows_drawn_again(constraints, size):
    """Agreement and tests are shares of what a refit on each resample gives; groups are drawn whole."""
    table = drawn(None if size == 1 else np.arange(N) // size)
    X, n = table.log.features, N // size
    found = stability(TREES, X, table, resamples=9, seed=4, constraints=constraints)
    rng, policy = child(4, "offline", "resamples"), best(TREES, X, table.costs, constraints)
    again = []
    for _ in range(9):
        counts = np.bincount(rng.integers(n, size=n), minlength=n)[np.arange(N) // size]
        again.append(best(TREES, X, table.costs * counts[:, None], constraints))
    alike = np.array([other.predict(X) == policy.predict(X) for other in again])
    assert str(found.policy) == str(policy)
    assert found.agreement == pytest.approx(alike.mean())
    shares = {test: np.mean([test in str(other) for other in again]) for test in found.tests}
    assert found.tests == pytest.approx(shares)
    assert found.tests[f"x{policy.root.feature} = 0"] == max(found.tests.values())
    if constraints:
        assert max(rule.predict(X).mean() for rule in [*again, policy]) <= 0.4


def test_resamples_are_told(table):
    """One by one."""
    done = []
    stability(TREES, table.log.features, table, resamples=3, progress=lambda *now: done.append(now))
    assert done == [(1, 3), (2, 3), (3, 3)]


def test_each_depth_has_a_held_out_value(table):
    """The value of learning at that depth on the other folds; the policy is that of all rows."""
    X = table.log.features
    found = stability(TREES, X, table, resamples=1).by_depth
    assert [each.depth for each in found] == [1, 2]
    for each in found:
        trees = DecisionTrees(2, depth=each.depth)
        assert str(each.policy) == str(best(trees, X, table.costs))
        wanted = evaluate(table, learnt_elsewhere(trees, X, table.costs, table.fold)).value
        assert (each.value.estimate, each.value.lower) == pytest.approx((wanted.estimate, wanted.lower))
    assert stability(ThresholdRules(2), X, table, resamples=1).by_depth == ()


def test_depths_that_cannot_keep_the_constraints_are_left_out(table):
    """A guard-rail on two features at once needs two tests."""
    X = table.log.features == 1
    rules = [never(1, rows=X[:, 0] & X[:, 1]), never(0, rows=X[:, 0] != X[:, 1])]
    found = stability(TREES, table.log.features, table, resamples=1, constraints=rules)
    assert [each.depth for each in found.by_depth] == [2]


def test_words_name_the_tests(table):
    """One sentence for the whole, one for each test."""
    found = stability(DecisionTrees(2, depth=1), table.log.features, table, resamples=4)
    assert [line[:9] for line in found.words()] == ["The best ", "Of these "]
    assert "have the test 'x0 = 0'." in found.words()[1]
