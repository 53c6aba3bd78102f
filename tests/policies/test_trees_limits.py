"""Trees under structure limits: search and program against the list of all trees, and the list against the words."""

import re
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pytest

from milpcb.constraints import LabelConstraint, always, bind_to, parity, share_at_most
from milpcb.errors import InfeasibleError
from milpcb.oracles import open_oracle
from policies.literals import Literals
from policies.trees import DecisionTrees, Leaf, Split
from policies.trees import policy_class as trees_class
from policies.trees.limits import Limits, context_counts
from policies.trees.policy_class import OpenedTrees
from policies.trees.routes import Route
from policies.trees.rule import DecisionTree, Node

LIMITS = [
    {"max_leaves": 1},
    {"max_leaves": 3},
    {"max_leaves": 5},
    {"max_features": 1},
    {"max_features": 2},
    {"min_leaf_size": 2},
    {"min_leaf_size": 4},
    {"min_action_rows": 1},
    {"min_action_rows": 2},
    {"max_leaves": 3, "min_leaf_size": 2},
    {"max_features": 2, "max_leaves": 6},
    {"max_features": 1, "min_action_rows": 1},
    {"max_leaves": 3, "max_features": 2, "min_leaf_size": 2, "min_action_rows": 1},
]
SIZES = {1: (3, 3), 2: (3, 2), 3: (2, 2)}  # features and actions by depth: few enough trees to list


def allowed(opened: Any, root: Any) -> bool:
    """Return whether a tree keeps the limits of its class."""
    return bool(opened._allowed(root))


def instance(rng: np.random.Generator, depth: int, limits: dict[str, int]) -> tuple[DecisionTrees, np.ndarray]:
    """Return trees and contexts that repeat; half of the time one feature has three values, so two cuts."""
    n_features, n_actions = SIZES[depth]
    contexts = rng.integers(0, 2, (10, n_features)).astype(float)
    if depth < 3:
        contexts[:, 0] *= rng.integers(1, 3, 10)
    options: dict[str, Any] = dict(limits)
    if "min_action_rows" in limits:
        options["logged_actions"] = rng.permutation(np.arange(10) % n_actions)
    return DecisionTrees(n_actions, depth=depth, thresholds=2, **options), contexts


def by_route(trees: DecisionTrees, contexts: np.ndarray) -> dict[Route, OpenedTrees]:
    """Return the class on the contexts, with its search by each route that goes to its depth."""
    opened = {}
    for at in Route:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(trees_class, "route", lambda on, at=at: at if on.depth > 1 or at != Route.ROOTS else None)
            opened[at] = trees.on(contexts)
    return {at: on for at, on in opened.items() if on.route is at}


def nodes(tests: list[tuple[int, float, bool]], n_actions: int, depth: int) -> list[Node]:
    """Return all trees, siblings alike or not."""
    found: list[Node] = [Leaf(a) for a in range(n_actions)]
    if depth:
        below = nodes(tests, n_actions, depth - 1)
        found += [Split(f, cut, yes, no, two) for (f, cut, two), yes, no in product(tests, below, below)]
    return found


def rules(name: str, shape: tuple[int, int], rng: np.random.Generator) -> list[LabelConstraint]:
    """Return the side constraints of one name, on rows of a given shape."""
    reals = LabelConstraint(rng.normal(size=shape), -0.5 if name == "reals" else 0.5, "reals")
    found = {
        "free": [],
        "budget": [share_at_most(0, 0.3)],
        "parity": [parity(1, np.arange(shape[0]) % 2, 0.2)],
        "reals": [reals],
        "budget and rail": [
            share_at_most(0, 0.4),
            always(1, rows=[2]),
        ],
        "two rows": [share_at_most(1, 0.7), reals],
    }[name]
    return bind_to(found, np.zeros((shape[0], 1)), (), range(shape[1]))


@pytest.mark.parametrize("depth", [1, 2, 3])
@pytest.mark.parametrize("limits", [limit for limit in LIMITS if "max_features" not in limit], ids=str)
def test_limits_and_side_rows_are_kept_together(depth: int, limits: dict[str, int]) -> None:
    """Every answer is that of the trees within the limits that keep the rows, each counted once."""
    rng = np.random.default_rng(depth + 20)
    trees, contexts = instance(rng, depth, limits)
    contexts = contexts[:, :2] if depth == 2 else contexts[:, :1] if depth == 3 else contexts
    opened, shape, rows = trees.on(contexts), (10, trees.n_actions), np.arange(10)
    found = nodes(Literals.of(contexts, trees.thresholds).tests, trees.n_actions, depth)
    every = np.array([DecisionTree(root).predict(contexts) for root in found if allowed(opened, root)])
    for name in ("free", "budget", "parity", "reals", "budget and rail", "two rows"):
        constraints = rules(name, shape, rng)
        matrices = [(rule, rule.matrix(*shape)) for rule in constraints]
        held = [w[rows, every].sum(axis=1) <= rule.largest(w) for rule, w in matrices]
        labels = every[np.all([np.ones(len(every), bool), *held], axis=0)]
        if not len(labels):
            with pytest.raises(InfeasibleError):
                open_oracle(opened, contexts, kind="search", constraints=constraints)
            continue
        ways = by_route(trees, contexts).values() if name == "free" else [opened]
        searches = [open_oracle(on, contexts, kind="search", constraints=constraints) for on in ways]
        for costs, search in product((rng.integers(-9, 10, shape).astype(float), rng.normal(size=shape)), searches):
            totals, row = costs[rows, labels].sum(axis=1), int(rng.integers(10))
            answer = search.minimise(costs)
            played = answer.policy.predict(contexts)
            assert [answer.value, search.value(costs)] == pytest.approx([totals.min()] * 2, abs=1e-10)
            assert costs[rows, played].sum() == pytest.approx(totals.min(), abs=1e-10)
            assert (labels == played).all(axis=1).any()
            assert allowed(opened, answer.policy.root)
            least = [totals[labels[:, row] == a].min(initial=np.inf) for a in range(trees.n_actions)]
            assert search.profile(costs, row) == pytest.approx(least, abs=1e-10)
            mass = np.array([np.exp(-0.7 * totals)[labels[:, row] == a].sum() for a in range(trees.n_actions)])
            assert search.action_weights(costs, row, 0.7) == pytest.approx(mass / mass.sum(), abs=1e-10)
        assert search.log_derivations == pytest.approx(np.log(len(labels)), abs=1e-10)
        program = open_oracle(opened, contexts, kind="milp", constraints=constraints)
        assert program.value(costs) == pytest.approx(totals.min(), abs=1e-6)


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
