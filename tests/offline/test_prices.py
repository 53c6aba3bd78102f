"""Prices of restrictions and fronts: side constraints, infinite prices, arguments that come once."""

import numpy as np
import pytest

from milpcb.constraints import never, parity, share_at_most
from milpcb.errors import InputError
from milpcb.offline import LowerEnds, best_reference, read_log, scores
from milpcb.offline.restrictions import Question, gain_band, pareto
from milpcb.offline.restrictions import prices as priced
from milpcb.oracles import open_oracle
from milpcb.oracles.milp import MilpOracle
from milpcb.oracles.search import SearchOracle
from policies import DecisionTrees, Halfspaces, LinearRules, MonotoneRules, ThresholdRules
from tests.offline.cases import labelings


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
    (price,) = priced(question, costs, {"never there": question.under((never(1, rows=[0, 1]),))})
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
    question = Question(DecisionTrees(2), X)
    kept = question.under([never(k, rows=(labels != k) & (np.arange(10) < 2)) for k in (0, 1)])
    (price,) = priced(question, costs, {"these": kept})
    assert (price.price, price.best) == (np.inf, None)


def test_a_search_that_cannot_hold_a_wish_is_a_question_for_a_solver(rows):
    """Scoring systems ask one where their search knows no such constraint; the price is the same by kind milp."""
    X, costs = rows
    for policies in (LinearRules(2, max_weight=1), ThresholdRules(2)):
        found = []
        for kind in ("search", "milp"):
            free = Question(policies, X, kind=kind)
            rules = {"never": never(1, rows=[0, 3]), "parity": parity(1, X[:, 0] > 0, 0.5)}
            found.append(priced(free, costs, {name: free.under(rule) for name, rule in rules.items()}))
        assert [price.price for price in found[0]] == pytest.approx([price.price for price in found[1]])


def test_intervals_hold_the_price():
    """They have the estimated price inside, and not below 0; without a policy there is none."""
    draw = np.random.default_rng(0)
    X, action = draw.integers(0, 2, (200, 3)).astype(float), draw.integers(0, 2, 200)
    log = read_log(X, action, reward=action * (X[:, 0] - 0.5) + draw.normal(size=200), propensity=[0.5, 0.5])
    found = scores(log, "ips")
    question = Question(DecisionTrees(2, depth=1), X)
    rules = [never(k, rows=np.arange(200) % 2 != k) for k in (0, 1)]
    restrictions = {"without x0": question.without(0), "in turn": question.under(rules)}
    band = gain_band(question, found, best_reference(found), draws=40)
    some, none = priced(question, found.costs / 200, restrictions, band=band)
    assert 0 <= some.lower <= some.price <= some.upper
    assert none.price == np.inf
    assert np.isnan(none.lower)


def test_a_front_of_one_point_and_of_too_many(rows):
    """Equal outcomes have one best policy; units change no front; one above the limit is one line."""
    X, costs = rows
    question = Question(DecisionTrees(2, depth=2), X)
    (point,) = pareto(question, costs, costs)
    assert point.a == point.b == question.best(costs).value
    points, scaled = (
        np.array([(point.a, point.b / unit) for point in pareto(question, costs, unit * costs[::-1])])
        for unit in (1.0, 1e9)
    )
    assert len(points) > 2
    assert scaled == pytest.approx(points)
    with pytest.raises(InputError, match="more than 1 points"):
        pareto(question, costs, costs[:, ::-1], most=1)


def test_another_first_question_has_the_price_of_a_list():
    """The least total cost of all trees with such a first question, and the tree that has it."""
    draw, cuts = np.random.default_rng(0), [[0.5, 1.5, 7.0], [0.5, 1.5]]
    X = draw.integers(0, 3, (16, 2)).astype(float)
    costs = draw.integers(0, 9, (16, 2)).astype(float)
    question = Question(DecisionTrees(2, depth=2, thresholds=cuts), X)
    below = labelings(DecisionTrees(2, depth=1, thresholds=cuts), X)
    for column in (0, 1):
        sides = [X[:, column] <= cut for cut in cuts[column][:2]]
        totals = [sum(costs[np.arange(16), below][:, side].sum(axis=1).min() for side in (s, ~s)) for s in sides]
        (price,) = priced(question, costs, {"first": question.first(column)})
        assert price.price == min(totals) - question.best(costs).value
        assert costs[np.arange(16), price.best.policy.predict(X)].sum() == price.best.value
        assert str(price.best.policy).startswith(f"if x{column} <= ")
        assert price.best.policy.to_python()
    others = question.with_options(max_leaves=3), question.under(never(0, rows=[0])), Question(ThresholdRules(2), X)
    for other in others:
        with pytest.raises(InputError, match="another first question is for trees without side constraints"):
            other.first(0)


# ------------------------------------------------------------------- arguments that may be walked through once

N = 12
GRID = np.column_stack([np.arange(N) % 4, np.arange(N) // 4]).astype(float)
TREES = DecisionTrees(3, depth=2, thresholds=[[0.5, 1.5, 2.5], [0.5, 1.5]])


def test_generators_are_read_once_and_whole():
    """Constraints, and labels; a restriction may be used twice."""
    costs = np.random.default_rng(0).integers(0, 9, (N, 3)).astype(float)
    free = Question(TREES, GRID)
    restrictions = {f"without {column}": free.without(column) for column in (0, 1)}
    costs[:, 0] = -1.0
    rules = [share_at_most(0, 0.2)]
    least = open_oracle(TREES, GRID, constraints=rules).value(costs)
    alone = open_oracle(TREES, GRID * [0, 1], constraints=rules).value(costs)
    for make in (iter, tuple):
        under, question = free.under(make(rules)), Question(TREES, GRID, make(rules))
        for _ in range(2):
            assert priced(free, costs, {"": under})[0].price == least - open_oracle(TREES, GRID).value(costs)
            assert priced(question, costs, {"": question.without(0)})[0].price == pytest.approx(alone - least)
    log = read_log(GRID, np.arange(N) % 3, cost=costs[:, 0], propensity=[1 / 3] * 3)
    known = scores(log, "snips", cv=2)
    reference = best_reference(known)
    band, counts = gain_band(free, known, reference, draws=20), []
    priced(free, known.costs, restrictions, band=band, progress=lambda *count: counts.append(count))
    assert counts == [(1, 2), (2, 2)]
    ends, labels = LowerEnds(free, known, reference), [np.full(N, k) for k in range(3)]
    assert ends.of(iter(labels), draws=20) == ends.of(labels, draws=20)


def test_a_class_without_a_search_is_asked_by_a_solver():
    """Whether it has none at all, or none under side constraints."""
    X, costs = np.array([[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]), np.array([[0.0, 1.0], [1.0, 0.0], [0.0, 3.0]])
    monotone, budget = MonotoneRules(2), (share_at_most(1, 0.4),)
    assert isinstance(Question(monotone, X).oracle, SearchOracle)
    for question, least in ((Question(Halfspaces(2), X), 0.0), (Question(monotone, X, budget), 1.0)):
        assert isinstance(question.oracle, MilpOracle)
        assert question.best(costs).value == least
