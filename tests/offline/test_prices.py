"""Prices of restrictions and fronts of two outcomes: side constraints, infinite prices, and what is refused."""

import numpy as np
import pytest

from milpcb.constraints import never, parity, share_at_most
from milpcb.errors import InputError
from milpcb.offline import best_reference, read_log, scores
from milpcb.offline.restrictions import (
    Monotone,
    Question,
    Under,
    Without,
    alike,
    keep,
    pareto,
    price_intervals,
)
from milpcb.offline.restrictions import prices as priced
from policies import DecisionTrees, LinearRules, ThresholdRules


@pytest.fixture
def rows():
    """Return ten rows of two columns, and whole costs of two actions."""
    draw = np.random.default_rng(1)
    return draw.integers(0, 3, (10, 2)).astype(float), draw.integers(0, 9, (10, 2)).astype(float)


def test_side_constraints_stay(rows):
    """A price is between the best policies that keep what every policy has to keep."""
    X, costs = rows
    rule = share_at_most(1, 0.3)
    question = Question(DecisionTrees(2, depth=2), X, (rule,))
    restriction = Under((never(1, rows=[0, 1]),), "never there")
    (price,) = priced(question, costs, [restriction])
    played = price.best.policy.predict(X)
    assert played.sum() <= 3
    assert not played[:2].any()
    assert price.price == price.best.value - question.best(costs).value >= 0
    assert all(point.policy.predict(X).sum() <= 3 for point in pareto(question, costs, costs[::-1]))


def test_a_restriction_that_nothing_keeps_has_an_infinite_price(rows):
    """Two rows that are equal cannot get two actions."""
    X, costs = rows
    X[1] = X[0]
    labels = np.array([0, 1] + [0] * 8)
    (price,) = priced(Question(DecisionTrees(2), X), costs, [keep(labels, np.arange(10) < 2, 2)])
    assert (price.price, price.best) == (np.inf, None)


def test_a_search_that_cannot_hold_a_wish_is_a_question_for_a_solver(rows):
    """Scoring systems ask one where their search knows no such constraint; the price is the same by kind milp."""
    X, costs = rows
    restrictions = [alike([(0, 3), (2, 5)], 10, 2), Under(parity(1, X[:, 0] > 0, 0.5), "parity")]
    for policies in (LinearRules(2, max_weight=1), ThresholdRules(2)):
        found = [priced(Question(policies, X, kind=kind), costs, restrictions) for kind in ("search", "milp")]
        assert [price.price for price in found[0]] == pytest.approx([price.price for price in found[1]])


def test_intervals_hold_the_price():
    """They have the estimated price inside, and not below 0; without a policy there is none."""
    draw = np.random.default_rng(0)
    X, action = draw.integers(0, 2, (200, 3)).astype(float), draw.integers(0, 2, 200)
    log = read_log(X, action, reward=action * (X[:, 0] - 0.5) + draw.normal(size=200), propensity=[0.5, 0.5])
    found = scores(log, "ips")
    restrictions = [Without((0,)), keep(np.arange(200) % 2, np.ones(200, dtype=bool), 2)]
    some, none = price_intervals(
        Question(DecisionTrees(2, depth=1), X), found, best_reference(found), restrictions, draws=40
    )
    assert 0 <= some.lower <= some.price <= some.upper
    assert none.price == np.inf
    assert np.isnan(none.lower)


def test_a_front_of_one_point_and_of_too_many(rows):
    """Equal outcomes have one best policy; a front above the limit is one line."""
    X, costs = rows
    question = Question(DecisionTrees(2, depth=2), X)
    (point,) = pareto(question, costs, costs)
    assert point.a == point.b == question.best(costs).value
    assert point.supported
    with pytest.raises(InputError, match="more than 1 points"):
        pareto(question, costs, costs[:, ::-1], most=1)


def test_an_order_is_found_among_many_rows_and_cuts():
    """Where side constraints would be far too many: no row's action goes down, and it costs what it must."""
    draw = np.random.default_rng(0)
    X = draw.normal(size=(400, 3))
    costs = np.column_stack([np.where(X[:, 0] < 0, 1.0, 0.0), np.where(X[:, 0] < 0, 0.0, 1.0)])
    question = Question(DecisionTrees(2, depth=2, thresholds=15), X)
    (price,) = priced(question, costs, [Monotone({0: 1})])
    assert 0 < price.price <= costs.sum(axis=0).min() - question.best(costs).value
    rising = [price.best.policy.predict(np.insert(X[:, 1:], 0, value, axis=1)) for value in np.linspace(-4, 4, 60)]
    assert (np.diff(rising, axis=0) >= 0).all()


def test_monotone_goes_both_ways_and_reads_cuts(rows):
    """With explicit cuts the places are those between them; -1 turns the order round."""
    X, costs = rows
    trees = DecisionTrees(2, depth=2, thresholds=[[0.5, 1.5], [0.5]])
    for sign in (1, -1):
        (price,) = priced(Question(trees, X), costs, [Monotone({0: sign})])
        changed = [X.copy() for _ in range(3)]
        for value, each in enumerate(changed):
            each[:, 0] = value
        played = np.array([price.best.policy.predict(each) for each in changed])
        assert (sign * np.diff(played, axis=0) >= 0).all()
