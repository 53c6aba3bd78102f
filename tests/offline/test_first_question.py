"""The price of another first question under limits on rows, leaves and features, and under side constraints."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from milpcb.constraints import share_at_most
from milpcb.errors import InputError
from milpcb.offline.restrictions import First, Question, restriction
from milpcb.offline.restrictions import prices as priced
from policies import DecisionTrees
from policies.trees.limits import context_counts
from policies.trees.rule import DecisionTree, Split

CUTS = [[0.5, 1.5], [0.5, 1.5]]
DONE = (0, 1) * 8


def listed(trees, X, column):
    """Return the trees of depth 2 whose first question is about a column, equal sides included, within the limits."""
    free = DecisionTrees(2, depth=1, thresholds=CUTS)
    below = [policy.root for policy in free.on(X).policies()]
    names = next(free.on(X).policies()).names
    counts = context_counts(np.arange(len(X)), 2, trees.logged_actions)
    for cut, (yes, no) in product(CUTS[column], product(below, below)):
        root = Split(column, cut, yes, no, False)
        if not trees.limits or trees.limits.allow(root, X, counts):
            yield DecisionTree(root, names)


@pytest.mark.parametrize(
    ("options", "constrained"),
    [
        ({"min_leaf_size": 3}, False),
        ({"min_action_rows": 2, "logged_actions": DONE}, False),
        ({"min_leaf_size": 2, "min_action_rows": 1, "logged_actions": DONE}, False),
        ({"max_leaves": 3}, False),
        ({"max_features": 1}, False),
        ({}, True),
        ({"min_leaf_size": 3}, True),
    ],
)
@pytest.mark.parametrize("seed", range(2))
def test_it_is_that_of_a_list(options, constrained, seed):
    """The least total cost of all trees with such a first question that keep everything else."""
    draw = np.random.default_rng(seed)
    X = draw.integers(0, 3, (16, 2)).astype(float)
    costs = draw.integers(0, 9, (16, 2)).astype(float)
    trees = DecisionTrees(2, depth=2, thresholds=CUTS, **options)
    rules = (share_at_most(1, 0.3),) if constrained else ()
    question = Question(trees, X, rules)
    for column in (0, 1):
        played = np.array([tree.predict(X) for tree in listed(trees, X, column)]).reshape(-1, 16)
        if constrained:
            played = played[played.mean(axis=1) <= 0.3]
        totals = costs[np.arange(16), played].sum(axis=1)
        wanted = totals.min() - question.best(costs).value if len(totals) else np.inf
        (price,) = priced(question, costs, [First((column,))])
        assert price.price == pytest.approx(wanted)
        if price.best:
            labels = price.best.policy.predict(X)
            assert costs[np.arange(16), labels].sum() == pytest.approx(price.best.value)


def test_quantiles_become_the_cut_points_of_all_rows():
    """A number of thresholds is that of the whole table, on both sides and with rows that were logged."""
    draw = np.random.default_rng(0)
    X, costs = draw.normal(size=(40, 2)), draw.integers(0, 9, (40, 2)).astype(float)
    trees = DecisionTrees(2, depth=2, thresholds=3, min_action_rows=2, logged_actions=[0, 1] * 20)
    fixed = replace(trees, min_action_rows=None, logged_actions=None).on(X).fixed()
    explicit = replace(trees, thresholds=fixed.thresholds)
    found = [priced(Question(each, X), costs, [First((0,))])[0].price for each in (trees, explicit)]
    assert found[0] == found[1]


def test_a_program_that_is_too_large_is_one_line(monkeypatch):
    """How large it would be, and what to do."""
    X = np.arange(16.0).reshape(8, 2)
    asked = Question(DecisionTrees(2, max_leaves=3), X), np.ones((8, 2)), [First((0,))]
    (price,) = priced(*asked)
    assert price.price == 0.0
    monkeypatch.setattr(restriction, "MOST_COLUMNS", 10)
    with pytest.raises(InputError, match="columns, and 10 are the most: take fewer thresholds"):
        priced(*asked)
