"""Trees under structure limits: what they mean, at any depth; tests/stress/test_oracles.py compares all routes."""

import re
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pytest

from milpcb.constraints import always, share_at_most
from milpcb.oracles import open_oracle
from policies.trees import DecisionTrees, Leaf, Split
from policies.trees.limits import Limits, context_counts


def allowed(opened: Any, root: Any) -> bool:
    """Return whether a tree keeps the limits of its class."""
    return bool(opened._allowed(root))


def test_limits_mean_what_they_say() -> None:
    """Counted by hand: six rows, of which the tree puts four to the left and two to the right."""
    contexts = np.array([[0.0], [0.0], [0.0], [0.0], [1.0], [1.0]])
    counts = context_counts(np.arange(6), 2, [0, 0, 0, 1, 0, 1])
    tree = Split(0, 0.5, Leaf(0), Leaf(1), binary=True)
    for limits, kept in [
        (Limits(min_leaf_size=2), True),
        (Limits(min_leaf_size=3), False),
        (Limits(min_action_rows=1), True),  # 3 and 1 rows of the two actions to the left, 1 and 1 to the right
        (Limits(min_action_rows=2), False),
        (Limits(max_leaves=1), False),
        (Limits(max_leaves=2, max_features=1), True),
    ]:
        assert limits.allow(tree, contexts, counts) == kept, limits
    one_leaf = Limits(min_leaf_size=6, min_action_rows=2, max_leaves=1)
    assert one_leaf.allow(Leaf(0), contexts, counts)


def test_rows_count_and_not_distinct_contexts() -> None:
    """Four equal rows are four, so a leaf that holds one distinct context may be large enough."""
    contexts, costs = np.array([[0.0]] * 4 + [[1.0]] * 2), np.eye(2)[[0, 0, 0, 0, 1, 1]]
    values = [open_oracle(DecisionTrees(2, min_leaf_size=n), contexts, kind="search").value(costs) for n in (2, 3)]
    assert values == [0.0, 2.0]


@pytest.mark.parametrize("depth", [2, 3])
def test_large_whole_costs_are_answered_in_proportion(depth: int) -> None:
    """Whole costs, and 2^22 times the same, get answers that are in the same proportion exactly."""
    rng = np.random.default_rng(6)
    contexts, costs = rng.integers(0, 2, (300, 6)).astype(float), rng.integers(-9, 10, (300, 3)).astype(float)
    opened = DecisionTrees(3, depth=depth, min_leaf_size=20, max_leaves=2**depth - 1, max_features=2).on(contexts)
    oracle = open_oracle(opened, contexts, kind="search")
    large = 2.0**22
    assert (oracle.profile(costs, 3) * large == oracle.profile(costs * large, 3)).all()
    assert oracle.minimise(costs).value == oracle.value(costs)


@pytest.mark.parametrize(
    ("limits", "capability", "reason"),
    [
        ({"max_features": 1}, "action_weights", "max_features.*do not add up.*kind 'enumeration'"),
        ({"max_features": 1}, "constraints", "no side constraints together with max_features.*kind 'milp'"),
        ({"min_action_rows": 1, "logged_actions": [0, 1, 0, 1]}, "fixed", "no others may arrive"),
    ],
)
def test_what_limits_rule_out_has_a_reason(limits: dict[str, Any], capability: str, reason: str) -> None:
    """The capability is missing, and the reason names what to do."""
    opened = DecisionTrees(2, **limits).on([[0, 0], [0, 1], [1, 0], [1, 1]])
    assert capability not in opened.capabilities
    assert re.search(reason, opened.unsupported[capability])


def test_a_limit_that_is_none_in_effect_rules_nothing_out() -> None:
    """With as many features as there are, or as tests in a tree, every tree has action weights."""
    contexts = np.random.default_rng(7).integers(0, 2, (30, 4)).astype(float)
    assert "action_weights" in DecisionTrees(2, max_features=3).on(contexts).capabilities
    assert "action_weights" in DecisionTrees(2, depth=3, max_features=4).on(contexts).capabilities


@pytest.mark.parametrize("limits", [{"min_leaf_size": 2}, {"max_leaves": 3}, {"max_leaves": 1}, {"max_features": 1}])
@pytest.mark.parametrize("kind", ["search", "milp"])
def test_where_nothing_can_be_tested_one_leaf_is_left(limits: dict[str, int], kind: str) -> None:
    """Contexts that are all alike: every answer is of the constants, under a rule too."""
    trees, contexts = DecisionTrees(3, **limits), np.zeros((4, 2))
    costs = np.array([[1.0, 0.0, 2.0]] * 4)
    free = open_oracle(trees, contexts, kind=kind)
    assert (free.value(costs), str(free.minimise(costs).policy), free.profile(costs, 0).tolist()) == (
        0.0,
        "play action 1",
        [4.0, 0.0, 8.0],
    )
    if kind == "milp" or "max_features" not in limits:
        never = [share_at_most(1, 0.5)]
        assert open_oracle(trees, contexts, kind=kind, constraints=never).value(costs) == 4.0


def least_within(truth: np.ndarray, costs: np.ndarray, depth: int, most: int, smallest: int) -> float:
    """Return the least total cost by definition: trees of a depth, with at most so many leaves of so many rows each."""

    @cache
    def least(here: tuple[bool, ...], height: int, leaves: int) -> float:
        rows = np.array(here)
        best = float(costs[rows].sum(axis=0).min()) if rows.sum() >= smallest else np.inf
        if height == 0:
            return best
        for column in truth.T:
            holds, fails = tuple((rows & column).tolist()), tuple((rows & ~column).tolist())
            for n in range(1, leaves):
                best = min(best, least(holds, height - 1, n) + least(fails, height - 1, leaves - n))
        return best

    return least((True,) * len(costs), depth, most)


@pytest.mark.parametrize("depth", [4, 6, 7])
@pytest.mark.parametrize(
    "limits", [{"max_leaves": 5}, {"max_leaves": 7, "min_leaf_size": 2}, {"min_leaf_size": 3}], ids=str
)
def test_limits_are_kept_at_any_depth(depth: int, limits: dict[str, int]) -> None:
    """Value, profile and tree are those of the definition, free and under a rule that forbids an action somewhere."""
    rng = np.random.default_rng([depth, len(limits), *limits.values()])
    most, smallest = min(limits.get("max_leaves", 2**depth), 8), limits.get("min_leaf_size", 0)
    for _ in range(3):
        contexts = rng.permutation(np.array(list(product((0.0, 1.0), repeat=3))))[:7]
        truth, costs = contexts <= 0.5, rng.integers(-9, 10, (7, 2)).astype(float)
        opened = DecisionTrees(2, depth=depth, **limits).on(contexts)
        search = open_oracle(opened, contexts, kind="search")
        answer = search.minimise(costs)
        assert answer.value == search.value(costs) == least_within(truth, costs, depth, most, smallest)
        assert costs[np.arange(7), answer.policy.predict(contexts)].sum() == answer.value
        assert allowed(opened, answer.policy.root)
        priced = [costs + 1000.0 * (np.arange(7) == 2)[:, None] * (np.arange(2) != a) for a in range(2)]
        expected = [least_within(truth, table, depth, most, smallest) for table in priced]
        assert search.profile(costs, 2).tolist() == expected
        ruled = open_oracle(opened, contexts, kind="search", constraints=[always(1, rows=[2])])
        assert ruled.value(costs) == expected[1]


@pytest.mark.parametrize("limits", [{}, {"max_leaves": 5}], ids=str)
def test_weights_count_trees_that_divide_no_context(limits: dict[str, int]) -> None:
    """At depth 3 a side without contexts is a tree of its own: each way to write it counts."""
    truth = np.array([[1, 1, 1], [1, 0, 1], [0, 1, 0], [0, 0, 0], [1, 0, 0]], dtype=bool)
    costs = np.arange(10.0).reshape(5, 2)

    def below(here: np.ndarray, height: int, leaves: int) -> np.ndarray:
        """Return (2,): the weights of all trees, by the action at context 0 where it is here."""
        own = np.exp(-0.3 * costs[here].sum(axis=0)) * (leaves == 1 if limits else height == 0)
        found = own if here[0] else np.full(2, own.sum())
        for holds in truth.T if height else ():
            for n in range(1, leaves) if limits else (1,):
                found = found + below(here & holds, height - 1, n) * below(here & ~holds, height - 1, leaves - n)
        return found

    every = sum(below(np.ones(5, dtype=bool), 3, n) for n in (range(1, 6) if limits else (1,)))
    oracle = open_oracle(DecisionTrees(2, depth=3, **limits), 1.0 - truth, kind="search")
    assert oracle.action_weights(costs, 0, 0.3) == pytest.approx(every / every.sum(), rel=1e-12)
