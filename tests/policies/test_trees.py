"""Decision trees: the AND/OR program against the definition."""

from itertools import product

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from matplotlib.figure import Figure

from milpcb.errors import InputError
from milpcb.oracles import open_oracle
from policies.literals import Literals
from policies.trees import DecisionTree, DecisionTrees, Leaf
from policies.trees.routes import Route
from policies.trees.rule import path_totals

from .rules import TREE

REALS = np.array([[0.3, -2.0], [1.7, 5.5], [0.3, -2.0], [0.9, 1.0], [2.4, 0.0]])
DEEP = (DecisionTrees(2, depth=3), np.array([[0, 0], [0, 1], [1, 0], [0, 1], [1, 1]], dtype=float))


@settings(max_examples=2)
@given(data=st.data())
def test_depth_3_answers_as_the_definition(data, battery):
    """The recursion goes on at depth 3."""
    battery(*DEEP, data)


def test_the_relaxation_is_integral_at_depth_3(assert_integral):
    """Every LP optimum is whole, whatever the objective, at depth 3."""
    assert_integral(*DEEP, seed=3)


@pytest.mark.parametrize("depth", [0, 1, 2, 3])
@given(data=st.data())
@settings(max_examples=20)
def test_path_totals_add_up_each_path(depth, data, draw_costs):
    """H[path, a] is the total cost of action a over the contexts that follow the path."""
    g, p = 5, 2
    truth = np.array(data.draw(st.lists(st.lists(st.integers(0, 1), min_size=p, max_size=p), min_size=g, max_size=g)))
    costs = draw_costs(data, g, 2)
    totals = path_totals(truth.astype(float), costs, depth)
    assert totals.shape == (p, 2) * depth + (2,)
    for path in product(*[range(p), range(2)] * depth):
        follows = [all(truth[j, f] == s for f, s in zip(path[::2], path[1::2], strict=True)) for j in range(g)]
        assert np.allclose(totals[path], costs[follows].sum(axis=0), atol=1e-9), path


def test_whole_path_totals_are_exact():
    """Whole costs give whole totals on both sides of every test."""
    rng = np.random.default_rng(0)
    totals = path_totals(rng.integers(0, 2, (50, 4)).astype(float), rng.integers(-9, 9, (50, 3)).astype(float), 2)
    assert (totals == np.rint(totals)).all()


def test_predict_follows_the_tests():
    """A context on the threshold goes to the yes side."""
    assert TREE.predict([[40, 1], [40.5, 0], [41, 1]]).tolist() == [2, 0, 1]


def test_names_do_not_count_in_comparisons():
    """Two trees with the same tests and leaves are equal whatever they are called."""
    assert DecisionTree(TREE.root) == TREE


def test_graph_has_a_node_for_each_test_and_leaf():
    """Nodes carry the printed tests and actions, edges the answer, yes first."""
    graph = TREE.graph()
    labels = [graph.nodes[n]["label"] for n in range(5)]
    assert labels == ["age <= 40", "play refer", "insured = 0", "play wait", "play treat"]
    answers = [(a, b, answer) for a, b, answer in graph.edges(data="label")]
    assert answers == [(0, 1, "yes"), (0, 2, "no"), (2, 3, "yes"), (2, 4, "no")]


def test_draw_writes_every_test_leaf_and_answer():
    """The picture shows each node of the graph and the answer on each edge, parents above children."""
    axes = Figure().subplots()
    TREE.draw(axes)
    texts = {text.get_text(): text.get_position() for text in axes.texts}
    assert set(texts) == {"age ≤ 40", "insured = 0", "play wait", "play treat", "play refer", "yes", "no"}
    assert texts["age ≤ 40"][1] > texts["insured = 0"][1] > texts["play wait"][1]
    assert texts["play refer"][0] < texts["play wait"][0] < texts["play treat"][0]


def test_a_single_leaf_can_be_drawn():
    """A tree without tests has a picture too."""
    axes = Figure().subplots()
    DecisionTree(Leaf(0)).draw(axes)
    assert [text.get_text() for text in axes.texts] == ["play action 0"]


@pytest.mark.parametrize("constrained", [False, True])
def test_decode_prunes_equal_sides(constrained):
    """A test whose sides both play the same action is no part of the decoded tree."""
    contexts = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], dtype=float)
    encoding = DecisionTrees(3, depth=2).on(contexts).program(constrained=constrained)
    costs = np.array([[1, 2, 0], [1, 2, 0], [1, 2, 0], [1, 0, 2]], dtype=float)
    x = np.zeros(encoding.program.n_columns)
    chosen = ["y_0", "y_0_0_1", "y_0_1_1"]  # feature 0, then feature 1 on both sides; x[0] = 0 is side 1
    if constrained:
        chosen += ["u_0_1_1_0_2", "u_0_1_1_1_2", "u_0_0_1_0_1", "u_0_0_1_1_2"]
    x[[encoding.program.names.index(name) for name in chosen]] = 1.0
    assert str(encoding.decode(x, costs)) == (
        "if x0 = 0:\n    play action 2\nelse:\n    if x1 = 0:\n        play action 2\n    else:\n        play action 1"
    )


def test_explicit_thresholds_are_the_literals():
    """Given cut points are used as they are; those that divide no contexts are dropped."""
    trees = DecisionTrees(2, depth=1, thresholds=[[0.5, 2.0, 99.0], [-7.0]])
    literals = Literals.of(np.array([[0.0, 1.0], [1.0, 5.0], [3.0, 5.0]]), trees.thresholds)
    assert literals.tests == [(0, 0.5, False), (0, 2.0, False)]


def test_thresholds_are_quantiles():
    """Three thresholds divide the column as its quartiles 2.5, 4 and 5.5 do, each the shortest decimal that does."""
    literals = Literals.of(np.arange(1.0, 8.0)[:, None], 3)
    assert [threshold for _, threshold, _ in literals.tests] == [2.0, 4.0, 5.0]


def test_binary_columns_give_one_literal_each():
    """A column of 0 and 1 gives the cut 0.5, a constant or complementary column gives none."""
    a, b = np.array([0, 1, 0, 1]), np.array([0, 0, 1, 1])
    literals = Literals.of(np.column_stack([a, 1 - a, np.zeros(4), b]).astype(float), 9)
    assert literals.tests == [(0, 0.5, True), (3, 0.5, True)]


@pytest.mark.parametrize("kind", ["milp", "search", "enumeration", "audited"])
def test_leaves_larger_than_the_contexts_are_refused(kind):
    """When not even one leaf holds ``min_leaf_size`` rows, that is said at opening the class, whatever the oracle."""
    with pytest.raises(InputError, match=r"5 rows of contexts keeps min_leaf_size.*make them smaller"):
        open_oracle(DecisionTrees(2, min_leaf_size=6), REALS, kind=kind)
    answer = open_oracle(DecisionTrees(2, min_leaf_size=5), REALS).minimise(np.eye(5, 2))
    assert str(answer.policy) in {"play action 0", "play action 1"}


def test_trees_too_large_for_a_program_can_still_be_searched():
    """A program beyond memory is refused before it is built; the search has another size."""
    contexts = np.random.default_rng(0).integers(0, 2, (60, 40)).astype(float)
    trees = DecisionTrees(2, depth=4)
    assert "search" in trees.on(contexts).capabilities
    with pytest.raises(InputError, match=r"over 40 literals need 20 480 000 columns, more than 5 000 000"):
        open_oracle(trees, contexts, kind="milp")
    costs = np.column_stack([contexts[:, 3], 1 - contexts[:, 3]])
    assert open_oracle(trees, contexts, kind="search").value(costs) == 0.0


def test_deep_trees_over_few_literals_are_searched():
    """Depth 9 over ten literals: subtrees are more than anybody could list, but states are few."""
    contexts = np.random.default_rng(0).integers(0, 2, (60, 10)).astype(float)
    costs = np.random.default_rng(1).integers(0, 9, (60, 2)).astype(float)
    opened = DecisionTrees(2, depth=9).on(contexts)
    assert opened.route is Route.LITERALS
    costs = costs[: len(opened.contexts)]
    assert opened.search().value(costs) == costs.min(axis=1).sum()


def test_where_features_are_not_counted_a_split_is_one_literal() -> None:
    """A split that no limit asks for costs nothing: splits are merged unless the number of features binds."""
    nested = np.array([[0.0, 0.0], [1.0, 1.0], [1.0, 2.0]])  # the second column divides as the first does, and more
    for depth, limit, n_literals in [(2, None, 2), (2, 2, 2), (1, 1, 2), (2, 1, 3)]:
        opened = DecisionTrees(3, depth=depth, thresholds="all", max_features=limit).on(nested)
        assert len(opened._literals) == n_literals
