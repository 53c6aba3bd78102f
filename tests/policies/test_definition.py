"""Answers are those of the definition over raw features: in any unit of cost, in any order of the columns."""

from typing import Any

import numpy as np
import pytest

from milpcb import open_oracle
from policies import DecisionTrees
from policies.names import Names
from policies.trees.limits import TreesOn
from policies.trees.policy_class import OpenedTrees
from policies.trees.routes import Route
from policies.trees.search import TreeSearch

NESTED = np.array([[0.0, 0.0], [1.0, 1.0], [1.0, 2.0]])  # the second column divides as the first does, and more


@pytest.mark.parametrize("kind", ["search", "milp", "enumeration", "audited"])
@pytest.mark.parametrize("columns", [[0, 1], [1, 0]])
def test_a_split_belongs_to_every_feature_that_makes_it(kind: str, columns: list[int]) -> None:
    """A tree on the second feature alone is right everywhere, in whichever order the features stand."""
    trees = DecisionTrees(3, depth=2, max_features=1, thresholds="all")
    oracle = open_oracle(trees, NESTED[:, columns], kind)
    assert oracle.value(1.0 - np.eye(3)) == 0.0
    assert oracle.profile(1.0 - np.eye(3), 1).tolist() == [1.0, 0.0, 1.0]


def test_where_features_are_not_counted_a_split_is_one_literal() -> None:
    """A split that no limit asks for costs nothing: splits are merged unless the number of features binds."""
    for depth, limit, n_literals in [(2, None, 2), (2, 2, 2), (1, 1, 2), (2, 1, 3)]:
        opened = DecisionTrees(3, depth=depth, thresholds="all", max_features=limit).on(NESTED)
        assert isinstance(opened, OpenedTrees)
        assert len(opened._literals) == n_literals


@pytest.mark.parametrize("exponent", [-1000, -60, -20, 0, 20, 60, 900])
@pytest.mark.parametrize("limits", [{}, {"max_leaves": 3}, {"max_features": 1}, {"min_leaf_size": 3}], ids=str)
def test_the_search_by_root_cuts_prices_in_the_unit_of_the_costs(limits: dict[str, Any], exponent: int) -> None:
    """Whole costs times a power of two have the profile of the whole costs times that power, to the last bit."""
    rng = np.random.default_rng(0)
    contexts = rng.normal(size=(30, 2))
    costs = rng.integers(-9, 10, (30, 3)).astype(float)
    opened = DecisionTrees(3, depth=2, thresholds="all", **limits).on(contexts)
    assert isinstance(opened, OpenedTrees)
    assert opened.route is Route.ROOTS
    unit, search = 2.0**exponent, opened.search()
    assert search.profile(costs * unit, 5).tolist() == (search.profile(costs, 5) * unit).tolist()
    if not limits:
        by_pairs = TreeSearch(TreesOn(opened._literals, 3, 2, Names()))
        assert search.profile(costs, 5).tolist() == by_pairs.profile(costs, 5).tolist()
