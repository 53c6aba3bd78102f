"""The search over trees with many cuts: totals by codes and root cuts against totals by products and the list."""

from collections.abc import Callable
from functools import partial
from itertools import product

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

from milpcb.errors import InputError
from milpcb.oracles import open_oracle
from milpcb.types import Floats
from policies.literals import Literals
from policies.names import Names
from policies.trees import DecisionTrees, sets
from policies.trees.every_cut import EveryCutSearch
from policies.trees.limits import Limits, TreesOn, context_counts
from policies.trees.routes import Route
from policies.trees.search import TreeSearch

NAMES = Names.of(None, None)
by_codes = partial(TreeSearch, by_codes=True)
EIGHT = np.random.default_rng(0).normal(size=(8, 2)).round(1)


def columns(data: st.DataObject, m: int, d: int) -> Floats:
    """Return contexts (m, d): some columns with many equal values, some with few, some of 0 and 1."""
    kinds = data.draw(st.lists(st.sampled_from((2, 4, 1000)), min_size=d, max_size=d))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    return np.column_stack([rng.integers(0, kind, m) / max(1, kind - 1) for kind in kinds])


@st.composite
def limits(draw: st.DrawFn, m: int) -> Limits:
    """Return no limits, or any that one leaf with ``m`` rows keeps."""
    if draw(st.integers(0, 2)) == 0:
        return Limits()
    return Limits(
        max_leaves=draw(st.sampled_from((None, 3, 4, 5, 7))),
        max_features=draw(st.sampled_from((None, None, 1, 2, 3))),
        min_leaf_size=draw(st.one_of(st.none(), st.integers(1, m))),
        min_action_rows=draw(st.sampled_from((None, None, 1, 2))),
    )


@pytest.mark.parametrize("depth", [2, 3])
@settings(max_examples=30)
@given(data=st.data())
def test_root_cuts_keep_limits_as_pairs_of_features(
    depth: int, draw_costs: Callable[..., Floats], data: st.DataObject
) -> None:
    """Bounds prune no better root, with ties, free and within limits, by rows and by what was logged."""
    n_actions, m = data.draw(st.integers(2, 3)), data.draw(st.integers(2, 40 if depth < 3 else 25))
    literals = Literals.of(columns(data, m, data.draw(st.integers(1, 4))), "all", by_feature=True)
    if not len(literals):
        return
    kept = data.draw(limits(m))
    logged = data.draw(st.lists(st.integers(0, n_actions - 1), min_size=m, max_size=m))
    counts = context_counts(literals.group, n_actions, logged if kept.min_action_rows else None)
    if kept.too_small(counts.sum(axis=0)):
        return
    slow, fast = (
        route(TreesOn(literals, n_actions, depth, NAMES, kept, counts)) for route in (by_codes, EveryCutSearch)
    )
    g = len(literals.contexts)
    costs, row = draw_costs(data, g, n_actions), data.draw(st.integers(0, g - 1))
    assert fast.value(costs) == pytest.approx(slow.value(costs), abs=1e-10)
    assert fast.profile(costs, row) == pytest.approx(slow.profile(costs, row), abs=1e-10)
    for search in (fast, slow):
        value, tree = search.minimise(costs)
        assert value == pytest.approx(slow.value(costs), abs=1e-10)
        assert kept.allow(tree.root, literals.contexts, counts)


@pytest.mark.parametrize(("depth", "thresholds"), [(1, "all"), (2, 7), (3, 3), (4, 1)])
@settings(max_examples=10)
@given(data=st.data())
def test_pairs_of_features_keep_limits_as_pairs_of_literals(
    depth: int, thresholds: int | str, draw_costs: Callable[..., Floats], data: st.DataObject
) -> None:
    """All four questions have the same answers, free and within limits; whole costs the same to the last bit."""
    n_actions, m = 3, data.draw(st.integers(4, 60))
    literals = Literals.of(columns(data, m, 3), thresholds)
    kept = data.draw(limits(m))
    counts = context_counts(literals.group, n_actions, np.arange(m) % 3 if kept.min_action_rows else None)
    if not len(literals) or kept.too_small(counts.sum(axis=0)):
        return
    slow, fast = (route(TreesOn(literals, n_actions, depth, NAMES, kept, counts)) for route in (TreeSearch, by_codes))
    g = len(literals.contexts)
    costs, row = draw_costs(data, g, n_actions), data.draw(st.integers(0, g - 1))
    whole = np.rint(costs)
    assert fast.value(costs) == pytest.approx(slow.value(costs), abs=1e-9)
    assert (fast.profile(whole, row) == slow.profile(whole, row)).all()
    assert fast.minimise(whole) == slow.minimise(whole)
    assert fast.log_weights(costs, row, 0.3) == pytest.approx(slow.log_weights(costs, row, 0.3), abs=1e-9)


@pytest.mark.parametrize("kept", [None, Limits(min_leaf_size=9), Limits(3, 2), Limits(3, min_leaf_size=9)])
@pytest.mark.parametrize(("depth", "m"), [(2, 45), (2, 400), (3, 45)])
@pytest.mark.parametrize("kind", ["noise", "planted"])
def test_root_cuts_are_proved_on_hundreds_of_contexts(kind: str, depth: int, m: int, kept: Limits | None) -> None:
    """On real features without ties and whole features with them, the value is that of all sets of cuts."""
    rng = np.random.default_rng(5)
    contexts = np.column_stack([rng.normal(size=(m, 5 - depth)), rng.integers(0, 30, (m, 4 - depth))])
    costs = rng.normal(size=(m, 3)) - 2.0 * (kind == "planted") * (contexts[:, :1] > [0.3, 9.0, -0.4])
    trees = Literals.of(contexts, "all"), 3, depth, NAMES
    on = TreesOn(*trees) if kept is None else TreesOn(*trees, kept, np.ones((m, 1)))
    slow, fast = by_codes(on), EveryCutSearch(on)
    assert fast.value(costs) == pytest.approx(slow.value(costs), abs=1e-9)
    assert fast.minimise(costs)[0] == pytest.approx(slow.value(costs), abs=1e-9)


def test_all_cut_points_stay_when_the_class_is_fixed() -> None:
    """The fixed class has one cut between any two values, and the same rules under other contexts."""
    trees = DecisionTrees(2, thresholds="all").on(EIGHT)
    fixed = trees.fixed()
    values = [np.unique(column) for column in EIGHT.T]
    assert [len(cuts) for cuts in fixed.thresholds] == [len(column) - 1 for column in values]
    costs = np.random.default_rng(1).normal(size=(8, 2))
    value, tree = trees.search().minimise(costs)
    again, same = fixed.on(EIGHT).search().minimise(costs)
    assert (value, str(tree)) == (again, str(same))


def test_the_route_is_the_least_counted_work() -> None:
    """Few cuts go by literals, many by features, all cuts of many contexts by root cuts."""
    rng = np.random.default_rng(2)
    binary, real = rng.integers(0, 2, (50, 4)).astype(float), rng.normal(size=(300, 2))
    routes = [Route.LITERALS, Route.LITERALS, Route.FEATURES, Route.FEATURES, Route.ROOTS]
    asked = [(binary, 3), (real, 3), (real, 9), (real, 60), (real, "all")]
    assert [DecisionTrees(3, thresholds=cuts).on(contexts).route for contexts, cuts in asked] == routes
    assert [DecisionTrees(3, thresholds=cuts, min_leaf_size=5).on(there).route for there, cuts in asked] == routes
    assert DecisionTrees(3, depth=3, thresholds="all").on(real).route is Route.ROOTS
    assert DecisionTrees(3, depth=3, thresholds=31).on(real).route is Route.FEATURES
    assert DecisionTrees(3, depth=3, thresholds="all", max_leaves=3).on(real).route is Route.ROOTS
    assert DecisionTrees(3, depth=1, thresholds="all").on(real).route is Route.FEATURES


def test_more_states_than_fit_memory_are_left_to_root_cuts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without limits and within, at any depth; action weights are refused in one clear line."""
    contexts, costs = EIGHT.round(0), np.random.default_rng(3).integers(-9, 10, (8, 2)).astype(float)
    for depth, limits in product((2, 3, 5), ({}, {"min_leaf_size": 2})):
        trees = DecisionTrees(2, depth=depth, thresholds="all", **limits)
        free = open_oracle(trees, contexts, "search")
        with monkeypatch.context() as patch:
            patch.setattr(sets, "MOST_NUMBERS", 100)
            opened = trees.on(contexts)
            less = open_oracle(opened, contexts, "search")
            assert opened.route is Route.ROOTS
            assert less.value(costs) == free.value(costs)
            assert less.profile(costs, 2).tolist() == free.profile(costs, 2).tolist()
            with pytest.raises(InputError, match=r"the states of trees .* more than .*use less depth or fewer"):
                less.action_weights(costs, 0, 1.0)
    contexts = np.random.default_rng(3).normal(size=(9000, 2))
    opened = DecisionTrees(2, thresholds="all").on(contexts)
    assert opened.route is Route.ROOTS
    assert "depth 2 over 17\u202f998 cut points are more than 134" in opened.unsupported["action_weights"]


@given(data=st.data())
@settings(max_examples=40)
def test_literals_are_the_different_splits(data: st.DataObject) -> None:
    """Codes, columns and patterns are the outcomes; each split of the contexts in two comes once, first come."""
    contexts = columns(data, data.draw(st.integers(1, 12)), data.draw(st.integers(1, 4)))
    if data.draw(st.booleans()):
        contexts[:, -1] = -contexts[:, 0]
    literals = Literals.of(contexts, data.draw(st.sampled_from((1, 3, "all"))))
    truth = np.array([[x[f] <= cut for f, cut, _ in literals.tests] for x in contexts], bool).reshape(len(contexts), -1)
    splits = {column.tobytes() for column in (truth ^ truth[:1]).T}
    assert len(splits) == len(literals)
    assert (literals.truth[literals.group] == truth).all()
    for literal, row in product(range(len(literals)), range(len(literals.contexts))):
        assert literals.holds(literal)[row] == literals.pattern(row)[literal] == literals.truth[row, literal]
