"""Prices of wishes and fronts of two outcomes: side constraints, wishes that cannot be granted, and what is refused."""

from __future__ import annotations

import re

import numpy as np
import pytest

from milpcb.constraints import never, parity, share_at_most
from milpcb.errors import InputError
from milpcb.offline import LowerEnds, best_reference, read_log, scores
from milpcb.offline.arguing import (
    First,
    Monotone,
    Option,
    Question,
    Under,
    Without,
    alike,
    keep,
    pareto,
    price_intervals,
)
from milpcb.offline.arguing import prices as priced
from policies import DecisionTrees, FiniteClass, LinearRules, ThresholdRules


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
    wish = Under((never(1, rows=[0, 1]),), "never there")
    (price,) = priced(question, costs, [wish])
    played = price.best.policy.predict(X)
    assert played.sum() <= 3
    assert not played[:2].any()
    assert price.price == price.best.value - question.best(costs).value >= 0
    assert all(point.policy.predict(X).sum() <= 3 for point in pareto(question, costs, costs[::-1]))


def test_a_wish_that_nobody_grants_has_an_infinite_price(rows):
    """Two rows that are equal cannot get two actions."""
    X, costs = rows
    X[1] = X[0]
    labels = np.array([0, 1] + [0] * 8)
    (price,) = priced(Question(DecisionTrees(2), X), costs, [keep(labels, np.arange(10) < 2, 2)])
    assert (price.price, price.best) == (np.inf, None)


def test_a_search_that_cannot_hold_a_wish_is_a_question_for_a_solver(rows):
    """Scoring systems ask one where their search knows no such constraint; the price is the same by kind milp."""
    X, costs = rows
    wishes = [alike([(0, 3), (2, 5)], 10, 2), Under(parity(1, X[:, 0] > 0, 0.5), "parity")]
    for policies in (LinearRules(2, max_weight=1), ThresholdRules(2)):
        found = [priced(Question(policies, X, kind=kind), costs, wishes) for kind in ("search", "milp")]
        assert [price.price for price in found[0]] == pytest.approx([price.price for price in found[1]])


def test_intervals_hold_the_price():
    """They have the estimated price inside, and not below 0; without a policy there is none."""
    draw = np.random.default_rng(0)
    X, action = draw.integers(0, 2, (200, 3)).astype(float), draw.integers(0, 2, 200)
    log = read_log(X, action, reward=action * (X[:, 0] - 0.5) + draw.normal(size=200), propensity=[0.5, 0.5])
    found = scores(log, "ips")
    wishes = [Without((0,)), keep(np.arange(200) % 2, np.ones(200, dtype=bool), 2)]
    some, none = price_intervals(Question(DecisionTrees(2, depth=1), X), found, best_reference(found), wishes, draws=40)
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


@pytest.mark.parametrize(
    ("policies", "wish", "message"),
    [
        (ThresholdRules(2), First((0,)), "only trees have a first question"),
        (DecisionTrees(2), Without((7,)), "a column of a wish must be an integer in 0..1, got 7"),
        (DecisionTrees(2), Option({"deep": 1}), "has no option 'deep'"),
        (DecisionTrees(2, depth=1), Option({"depth": -1}), "depth must be"),
        (DecisionTrees(2, min_leaf_size=2), Monotone({0: 1}), "no order can be asked together with min_leaf_size"),
        (FiniteClass([[0] * 10, [1] * 10], 2), Monotone({0: 1}), "no rules of columns"),
    ],
)
def test_what_has_no_price_is_one_line(policies, wish, message, rows):
    """What the class cannot be asked, and why; pairs of rows are counted."""
    X, costs = rows
    with pytest.raises(InputError, match=message):
        priced(Question(policies, X), costs, [wish])
    with pytest.raises(InputError, match="too many side constraints"):
        alike([(0, 1)] * 2000, 10, 2)


@pytest.mark.parametrize(
    ("wish", "message"),
    [
        (lambda: Monotone({0: 2}), "an order is 1 where the action never goes down, -1 where never up, got {0: 2}"),
        (lambda: alike([(0, 10)], 10, 2), "a row of a pair must be an integer in 0..9, got 10"),
        (lambda: alike([(0, -1)], 10, 2), "a row of a pair must be an integer in 0..9, got -1"),
        (lambda: keep(np.full(10, 2), np.ones(10, dtype=bool), 2), "labels to keep must be numbers of actions 0..1"),
        (lambda: keep(np.zeros(3, dtype=int), np.ones(10, dtype=bool), 2), "labels to keep must be numbers of actions"),
    ],
)
def test_a_wish_with_a_wrong_number_is_one_line(wish, message, rows):
    """An order that is none skipped values of the column, a negative row was one from the end: neither is read so."""
    X, costs = rows
    with pytest.raises(InputError, match=re.escape(message)):
        priced(Question(DecisionTrees(2, depth=1), X), costs, [wish()])


def test_bands_are_of_the_rows_and_draws_that_they_are_asked_for(rows):
    """Scores of other rows, labels of other rows, and draws that are no number of searches are refused."""
    X, _ = rows
    X = np.tile(X, (3, 1))
    known = scores(read_log(X, np.arange(30) % 2, reward=np.arange(30.0), propensity=[0.5, 0.5]), "snips")
    question, reference = Question(DecisionTrees(2, depth=1), X), best_reference(known)
    for draws in (-3, "20"):
        with pytest.raises(InputError, match="draws must be an integer of at least 1"):
            price_intervals(question, known, reference, [Without((0,))], draws=draws)
    with pytest.raises(InputError, match="there are 30 contexts for 5 scores"):
        price_intervals(question, known.take(np.arange(5)), reference, [Without((0,))], draws=20)
    ends = LowerEnds(question.policies, X, known, reference)
    with pytest.raises(InputError, match="each of the 30 rows"):
        ends.of([np.zeros(3, dtype=int)], draws=20)
    with pytest.raises(InputError, match="draws must be an integer of at least 1"):
        ends.of([np.zeros(30, dtype=int)], draws=0)


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
