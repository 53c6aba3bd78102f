"""Arguments that may be walked through once, such as ``zip``, are read as lists: restrictions, limits, budgets."""

import numpy as np
import pytest

from milpcb.constraints import share_at_most
from milpcb.errors import InputError
from milpcb.estimators import OptimalPolicyTree, budget_curve
from milpcb.offline import LowerEnds, best_reference, read_log, scores
from milpcb.offline.restrictions import Question, Under, Without, alike, banded_prices, gain_band, prices
from milpcb.oracles import open_oracle
from policies import DecisionTrees

N = 12
RNG = np.random.default_rng(0)
X = np.column_stack([np.arange(N) % 4, np.arange(N) // 4]).astype(float)
TREES = DecisionTrees(3, depth=2, thresholds=[[0.5, 1.5, 2.5], [0.5, 1.5]])


@pytest.mark.parametrize("seed", range(10))
def test_pairs_from_zip_are_held_in_both_directions(seed):
    """The price is that of the list of pairs: the least cost over all policies that play alike, by listing them."""
    costs = np.random.default_rng(seed).integers(0, 9, (N, 3)).astype(float)
    trees = DecisionTrees(3, depth=1, thresholds=[[0.5, 1.5, 2.5], [0.5, 1.5]])
    one, other = np.arange(3), np.arange(3) + 5
    question = Question(trees, X)
    found = prices(question, costs, [alike(zip(one, other, strict=True), N, 3)])[0]
    every = [policy.predict(X) for policy in open_oracle(trees, X, kind="enumeration").opened.policies()]
    kept = [labels for labels in every if (labels[one] == labels[other]).all()]
    totals = [min(costs[np.arange(N), labels].sum() for labels in some) for some in (kept, every)]
    assert found.price == pytest.approx(totals[0] - totals[1])


def limited(costs, rules):
    """Return what the rules cost."""
    return open_oracle(TREES, X, constraints=rules).value(costs) - open_oracle(TREES, X).value(costs)


def test_generators_of_wishes_constraints_and_labels_are_lists():
    """Each is read once, and whole."""
    costs = RNG.integers(0, 9, (N, 3)).astype(float)
    restrictions = [Without((0,)), Without((1,))]
    found = prices(Question(TREES, X), costs, iter(restrictions))
    assert [price.price for price in found] == [
        price.price for price in prices(Question(TREES, X), costs, restrictions)
    ]
    costs[:, 0] = -1.0
    rules = [share_at_most(0, 0.2)]
    for make in (iter, tuple):
        restriction, columns, question = Under(make(rules)), Without(make([0])), Question(TREES, X, make(rules))
        for _ in range(2):  # a restriction may be used twice
            assert [price.price for price in prices(Question(TREES, X), costs, [restriction])] == [
                limited(costs, rules)
            ]
            least = open_oracle(TREES, X, constraints=rules).value(costs)
            alone = open_oracle(TREES, X * [0, 1], constraints=rules).value(costs)
            assert prices(question, costs, [columns])[0].price == pytest.approx(alone - least)
    log = read_log(X, np.arange(N) % 3, cost=costs[:, 0], propensity=[1 / 3] * 3)
    found = scores(log, "snips", cv=2)
    question, reference = Question(TREES, X), best_reference(found)
    band = gain_band(question, found, reference, draws=20)
    counts = []
    assert len(banded_prices(question, found, band, iter(restrictions), lambda *count: counts.append(count))) == 2
    assert counts == [(1, 2), (2, 2)]
    ends = LowerEnds(TREES, X, found, reference)
    labels = [np.full(N, k) for k in range(3)]
    assert ends.of(iter(labels), draws=20) == ends.of(labels, draws=20)
    tree = OptimalPolicyTree(max_depth=1)
    curve = budget_curve(tree, X, costs, action=0, shares=iter([0.2, 0.8]))
    assert [point.share for point in curve] == [0.2, 0.8]


@pytest.mark.parametrize("number", [np.nan, 0, -1, 1.5, True, "2", None])
def test_different_is_asked_for_a_number_of_policies(number):
    """NaN gave one policy, and so did -1."""
    near = open_oracle(TREES, X).near_best(RNG.random((N, 3)), 1.0)
    assert len(near.different(2)) == 2
    with pytest.raises(InputError, match="number must be an integer of at least 1"):
        near.different(number)
