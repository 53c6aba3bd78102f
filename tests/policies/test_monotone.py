"""Monotone rules: the closure program and the minimum cut against the definition."""

from itertools import product

import hypothesis.strategies as st
import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings

from milpcb.oracles import open_oracle
from policies.exports.decisions import in_words
from policies.monotone import MonotoneRules
from policies.monotone.rule import Axis, Order, axes_of
from policies.names import Names
from tests.instances import instances
from tests.lp import lp_text

from .rules import MONOTONE, ORDERED

INSTANCES = {i.name: (i.policies, i.contexts) for i in instances("monotone_rules")}
EVERY_INSTANCE = pytest.mark.parametrize("name", INSTANCES)


def places(rules, contexts):
    """Where each context stands, straight from the definition."""
    signs = rules.directions or [1] * contexts.shape[1]
    if rules.thresholds is None:
        return contexts * signs
    axes = axes_of(contexts, None, rules.thresholds)
    below = [[sum(cut < value for cut in axis.steps) for value in contexts[:, axis.feature]] for axis in axes]
    return np.array(below).T * signs


def labelings_by_hand(rules, contexts):
    """All labelings that never go down along the order, as a set."""
    points = places(rules, contexts)
    pairs = [(i, j) for i, j in product(range(len(points)), repeat=2) if (points[i] <= points[j]).all()]
    every = product(range(rules.n_actions), repeat=len(points))
    return {labels for labels in every if all(labels[i] <= labels[j] for i, j in pairs)}


def least_cost_by_networkx(points, costs):
    """The minimum cut of the closure network on all comparable pairs, in networkx's words."""
    g, n_actions = costs.shape
    graph = nx.DiGraph()
    graph.add_nodes_from(["supply", "demand"])
    constant = costs[:, 0].sum()
    for j, k in product(range(g), range(1, n_actions)):
        gain = costs[j, k - 1] - costs[j, k]
        constant -= max(gain, 0.0)
        graph.add_edge("supply", (j, k), capacity=max(gain, 0.0))
        graph.add_edge((j, k), "demand", capacity=max(-gain, 0.0))
        if k > 1:
            graph.add_edge((j, k), (j, k - 1))
        for other in range(g):
            if other != j and (points[j] <= points[other]).all():
                graph.add_edge((j, k), (other, k))
    return constant + nx.minimum_cut(graph, "supply", "demand")[0]


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("n_actions", [2, 3])
@given(seed=st.integers(0, 2**32))
@settings(max_examples=4)
def test_the_search_finds_the_minimum_cut_of_networkx(n_actions, whole, seed):
    """On 25 contexts the least cost is networkx's, to 1e-10 for real costs and exactly for whole ones."""
    rng = np.random.default_rng(seed)
    contexts = rng.integers(0, 4, (25, 3)).astype(float)
    opened = MonotoneRules(n_actions).on(contexts)
    search = opened.search()
    costs = rng.normal(size=(len(opened.contexts), n_actions))
    costs = np.rint(5 * costs) if whole else costs
    expected = least_cost_by_networkx(opened.contexts, costs)
    assert search.value(costs) == pytest.approx(expected, abs=0 if whole else 1e-10)


def test_a_tie_goes_to_the_lowest_actions():
    """Of all optimal labelings the search returns the one that is lowest everywhere."""
    rules, contexts = INSTANCES["binary, three actions"]
    search = open_oracle(rules, contexts, kind="search")
    labelings = rules.on(contexts).labelings()
    for seed in range(30):
        costs = np.random.default_rng(seed).integers(0, 2, (6, 3)).astype(float)
        totals = costs[np.arange(6), labelings].sum(axis=1)
        lowest = labelings[totals == totals.min()].min(axis=0)
        assert search.minimise(costs).policy.predict(contexts).tolist() == lowest.tolist()


@EVERY_INSTANCE
def test_labelings_are_all_those_of_the_definition(name):
    """The listed rules are the monotone labelings, each once."""
    rules, contexts = INSTANCES[name]
    listed = [tuple(rule.predict(contexts).tolist()) for rule in rules.on(contexts).policies()]
    assert len(set(listed)) == len(listed)
    assert set(listed) == labelings_by_hand(rules, contexts)


@pytest.mark.parametrize(("contexts", "number"), [([[1], [2], [3], [1]], 10), ([[0, 1], [1, 0]], 9), ([[5]], 3)])
def test_log_size_is_exact_on_chains_that_do_not_meet(contexts, number):
    """A chain of 3 has 10 labelings with three actions, two contexts that nothing compares have 9."""
    contexts = np.array(contexts, dtype=float)
    assert np.exp(MonotoneRules(3).log_size(contexts)) == pytest.approx(number)
    assert len(MonotoneRules(3).on(contexts).labelings()) == number


def test_near_best_rules_of_more_actions_than_a_byte_holds_are_counted():
    """Of 130 actions on two contexts each rule within the bound is listed once, and costs what its labels cost."""
    costs = np.random.default_rng(0).integers(0, 50, (2, 130)).astype(float)
    near = open_oracle(MonotoneRules(130), [[0.0], [1.0]], kind="search").near_best(costs, 3.0)
    totals = [costs[0, a] + costs[1, b] for a in range(130) for b in range(a, 130)]
    assert near.count == sum(total <= min(totals) + 3.0 for total in totals)
    labels = [policy.predict([[0.0], [1.0]]) for policy in near.policies()]
    assert sorted(costs[[0, 1], each].sum() for each in labels) == sorted(t for t in totals if t <= min(totals) + 3.0)


@EVERY_INSTANCE
def test_covers_are_the_transitive_reduction(name):
    """The rows of the program are the edges that networkx keeps."""
    rules, contexts = INSTANCES[name]
    order = Order(contexts, axes_of(contexts, rules.directions, rules.thresholds), Names())
    reduced = nx.transitive_reduction(nx.from_numpy_array(order.below, create_using=nx.DiGraph))
    assert set(zip(*order.covers.tolist(), strict=True)) == set(reduced.edges)


def test_golden_program(assert_golden):
    """The program of a diamond of four contexts and three actions is the one on file."""
    encoding = MonotoneRules(3).on(np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])).program()
    costs = np.array([[3.0, 0.0, 1.0], [-1.0, 5.0, 5.0], [2.0, 7.0, 1.0], [0.0, -4.0, 2.0]])
    objective = encoding.objective(costs)
    assert objective.offset == 4.0
    assert_golden(lp_text(encoding.program, objective.coefficients), "monotone_rules.lp")


def test_predict_follows_the_floors():
    """The highest action with a floor that is reached plays, on the cut point or not; so do the parts of a drawing."""
    contexts = [[50, 1, 60], [50, 1, 61], [50, 0, 60], [39, 1, 10], [60, 0, 99], [40, 0, 80], [40, 0, 81]]
    assert MONOTONE.predict(contexts).tolist() == [2, 1, 1, 0, 1, 1, 0]
    leaves = MONOTONE.leaves(contexts)
    assert [(leaf.action, leaf.share) for leaf in leaves] == [(2, 1 / 7), (1, 4 / 7), (0, 2 / 7)]
    drawn = dict(MONOTONE.graph(leaves).nodes(data="label"))
    assert drawn[0] == "age >= 50 and insured = 1 and weight <= 60"
    assert drawn[2] == "age >= 40 and weight <= 80\nor age >= 60"


@pytest.mark.parametrize(
    ("rules", "contexts", "group"),
    [
        (
            MonotoneRules(2, thresholds=((1.0,), (0.0,))),
            [[0.1, 5.0], [2.0, 3.0], [0.9, 7.0], [2.0, -1.0]],
            [0, 1, 0, 2],
        ),
        *((MonotoneRules(2, directions=[sign, 1]), [[0.0, 2.0], [-0.0, 2.0]], [0, 0]) for sign in (1, -1)),
    ],
    ids=["between cut points", "-0 and 0", "-0 and 0, downwards"],
)
def test_contexts_at_the_same_place_are_one(rules, contexts, group):
    """Each place is represented by the first context that stands there."""
    opened = rules.on(np.array(contexts))
    assert opened.group.tolist() == group
    assert opened.contexts.tolist() == [contexts[group.index(i)] for i in range(max(group) + 1)]


@pytest.mark.parametrize(
    ("axis", "floor", "text"),
    [
        (Axis(0, -1), -30.0, "age <= 30"),
        (Axis(0, 1, (20.0, 30.0)), 1.0, "age > 20"),
        (Axis(0, 1, (20.0, 30.0)), 0.0, ""),
        (Axis(1, -1, (0.5,), binary=True), 0.0, "insured = 0"),
        (Axis(1, -1, (0.5,), binary=True), -1.0, ""),
    ],
)
def test_a_condition_says_which_values_reach_the_floor(axis, floor, text):
    """Directions turn the comparison round, steps are said by their cut points."""
    test = axis.test(floor)
    assert ("" if test is None else in_words(test, ORDERED)) == text


def test_floors_are_the_lowest_contexts_of_an_action():
    """Only contexts with nothing of the same or a larger action below them are written down, -0 as 0."""
    contexts = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [2.0, 2.0]])
    order = Order(contexts, axes_of(contexts, None, None), Names())
    rule = order.rule(np.array([0, 1, 2, 2, 2]))
    assert rule.levels == ((1, ((1.0, 0.0), (0.0, 1.0))), (2, ((0.0, 1.0),)))
    zero = np.array([[-1.0], [-0.0]])
    assert str(Order(zero, axes_of(zero, None, None), Names()).rule(np.array([0, 1]))).startswith("if x0 >= 0:")


def test_new_contexts_get_the_least_monotone_extension():
    """A new context plays the largest action of the pool below it, or the least of the pool where none is."""
    pool = np.array([[1.0, 3.0], [2.0, 2.0], [3.0, 3.0]])
    costs = np.array([[1.0, 0.0, 1.0], [0.0, 1.0, 1.0], [1.0, 1.0, 0.0]])
    policy = open_oracle(MonotoneRules(3), pool, kind="search").minimise(costs).policy
    assert policy.predict(pool).tolist() == [1, 0, 2]
    assert policy.predict([[0, 0], [2, 2.5], [1, 9], [2.9, 9], [3, 3], [9, 9], [9, 0]]).tolist() == [
        0,
        0,
        1,
        1,
        2,
        2,
        0,
    ]
    constant = open_oracle(MonotoneRules(3), pool).minimise(costs[:, [1, 0, 1]] * 0 + [1, 0, 1]).policy
    assert str(constant) == "play action 1"
    assert constant.predict([[-9, -9]]).tolist() == [1]
