"""Box rules: the program that picks a box and the search against the definition."""

from __future__ import annotations

from itertools import product

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

from milpcb.errors import InputError
from milpcb.oracles import open_oracle
from policies.boxes import Boxes, BoxRule, BoxRules, Interval
from policies.cuts import cut_points
from policies.names import Names

BINARY = np.array([[0, 1, 1], [1, 1, 0], [0, 0, 1], [1, 1, 0], [0, 1, 1], [1, 0, 0]], dtype=float)
REALS = np.array([[0.3, -2.0], [1.7, 5.5], [0.3, -2.0], [0.9, 1.0], [2.4, 0.0], [-1.0, 5.5], [0.9, 3.0]])
MIXED = np.column_stack([BINARY[:, 0], np.full(6, 4.0), REALS[:6, 0]])  # the middle column divides nothing
INSTANCES = {
    "interval, binary": (BoxRules(3), BINARY),
    "interval, reals": (BoxRules(2, thresholds=4), REALS),
    "interval, given cuts": (BoxRules(3, thresholds=((0.5, 1.0, 2.0), (0.0,))), REALS),
    "box, binary": (BoxRules(3, max_features=2), BINARY),
    "box, reals": (BoxRules(2, max_features=2), REALS),
    "box, mixed": (BoxRules(3, max_features=2, thresholds=2), MIXED),
    "box, one feature": (BoxRules(2, max_features=2), REALS[:, :1]),
    "no cut": (BoxRules(3, max_features=2), np.full((3, 2), 7.0)),
    "one context": (BoxRules(2), REALS[:1]),
}
EVERY_INSTANCE = pytest.mark.parametrize("name", INSTANCES)


def labelings_by_hand(rules, contexts):
    """Every labeling of every choice of bounds, by loops over the definition, as a set."""
    cuts = [[-np.inf, *points, np.inf] for points in cut_points(contexts, rules.thresholds)]
    sides = [[(f, low, high) for low, high in product(points, repeat=2)] for f, points in enumerate(cuts)]
    every = [side for of in sides for side in of]
    found = set()
    for first, second in product(every, every if rules.max_features == 2 else [(0, -np.inf, np.inf)]):
        held = [all(low < x[f] <= high for f, low, high in (first, second)) for x in contexts]
        for inside, outside in product(range(rules.n_actions), repeat=2):
            found.add(tuple(inside if h else outside for h in held))
    return found


@EVERY_INSTANCE
@settings(max_examples=20)
@given(data=st.data())
def test_the_program_answers_as_the_definition(name, data, battery):
    """Values, policies, profiles and budgets from HiGHS are those of the list of all rules."""
    battery(*INSTANCES[name], data)


@EVERY_INSTANCE
@settings(max_examples=1)
@given(data=st.data())
def test_another_solver_answers_the_same(name, data, battery):
    """The same battery holds with CBC."""
    battery(*INSTANCES[name], data, "pulp:PULP_CBC_CMD")


@EVERY_INSTANCE
@given(seed=st.integers(0, 2**32))
@settings(max_examples=5)
def test_the_relaxation_is_integral(name, seed, assert_integral):
    """Every LP optimum is whole, whatever the objective, with and without action columns."""
    assert_integral(*INSTANCES[name], seed)


@EVERY_INSTANCE
@settings(max_examples=20)
@given(data=st.data())
def test_the_search_answers_as_the_definition(name, data, draw_costs):
    """Values, policies, profiles and Exp4 distributions of the search are those of the list of all labelings."""
    rules, contexts = INSTANCES[name]
    costs = draw_costs(data, len(contexts), rules.n_actions)
    row = data.draw(st.integers(0, len(contexts) - 1))
    search, listed = (open_oracle(rules, contexts, kind=kind) for kind in ("search", "enumeration"))
    answer = search.minimise(costs)
    labels = answer.policy.predict(contexts)
    assert answer.value == pytest.approx(listed.value(costs), abs=1e-10)
    assert costs[np.arange(len(costs)), labels].sum() == pytest.approx(answer.value, abs=1e-10)
    assert search.value(costs) == answer.value
    assert search.profile(costs, row) == pytest.approx(listed.profile(costs, row), abs=1e-10)
    for rate in (0.0, 0.3, 5.0):
        expected = listed.action_weights(costs, row, rate)
        assert search.action_weights(costs, row, rate) == pytest.approx(expected, abs=1e-10)


@EVERY_INSTANCE
def test_labelings_are_all_those_of_the_definition(name):
    """Every choice of bounds and actions gives a labeling of the class, and there are no others."""
    rules, contexts = INSTANCES[name]
    assert set(map(tuple, rules.labelings(contexts).tolist())) == labelings_by_hand(rules, contexts)


@EVERY_INSTANCE
def test_log_size_counts_the_labelings(name):
    """log_size is the log of the number of labelings, each of which the search counts once."""
    rules, contexts = INSTANCES[name]
    number = len(rules.labelings(contexts))
    assert np.exp(rules.log_size(contexts)) == pytest.approx(number)
    assert np.exp(rules.search(contexts).log_count()) == pytest.approx(number)


@EVERY_INSTANCE
def test_draw_reaches_every_labeling(name):
    """Every labeling of the class can be drawn."""
    rules, contexts = INSTANCES[name]
    rng = np.random.default_rng(1)
    missing = set(map(tuple, rules.labelings(contexts).tolist()))
    for _ in range(10_000):
        missing.discard(tuple(rules.draw(contexts, rng).predict(contexts).tolist()))
        if not missing:
            break
    assert not missing


@pytest.mark.parametrize("max_features", [1, 2])
def test_program_and_search_agree_on_many_cuts(max_features):
    """Whole costs on 80 contexts of 4 features give the same whole numbers by both routes."""
    rng = np.random.default_rng(max_features)
    contexts, costs = rng.normal(size=(80, 4)), rng.integers(-9, 10, (80, 3)).astype(float)
    rules = BoxRules(3, max_features, thresholds=6)
    program, search = (open_oracle(rules, contexts, kind=kind) for kind in ("milp", "search"))
    assert search.value(costs) == program.value(costs)
    assert (search.profile(costs, 5) == program.profile(costs, 5)).all()


def test_a_high_rate_picks_the_profile():
    """At a high rate the Exp4 distribution is on the action with the least profile, without overflow."""
    rules, contexts = INSTANCES["box, binary"]
    costs = np.random.default_rng(4).integers(-9, 9, (6, 3)).astype(float)
    oracle = open_oracle(rules, contexts, kind="search")
    weights = oracle.action_weights(costs, 2, 1e6)
    assert weights.argmax() == oracle.profile(costs, 2).argmin()
    assert np.isfinite(weights).all()


@pytest.mark.parametrize(("max_features", "columns"), [(1, 61), (2, 3706)])
def test_the_program_has_the_size_it_states(max_features, columns):
    """10 features of 3 cuts make 60 intervals and 3 705 boxes, and all contexts."""
    contexts = np.random.default_rng(0).normal(size=(1000, 10))
    program = BoxRules(3, max_features).formulate(contexts).program
    assert (program.n_columns, program.n_rows) == (columns, 1)


def test_boxes_that_divide_alike_are_one():
    """A box, one with the same contexts and one with all others are the first of them."""
    boxes = Boxes(BoxRules(2, max_features=2), np.array([[0.0, 1.0], [1.0, 0.0]]))
    assert len(boxes) == 2
    assert boxes.rule(1, 1, 0) == BoxRule((Interval(0, None, 0.5, True),), 1, 0)


@pytest.mark.parametrize("constrained", [False, True])
def test_golden_program(constrained, assert_golden):
    """The program of three contexts and two features is the one on file, with and without action columns."""
    rules = BoxRules(2, max_features=2)
    encoding = rules.formulate(np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 1.0]]), constrained=constrained)
    costs = np.array([[3.0, 0.0], [-1.0, 5.0], [2.0, 7.0]])
    name = "box_rules_constrained.lp" if constrained else "box_rules.lp"
    assert_golden(encoding.program.to_text(encoding.objective(costs).coefficients), name)


def test_side_constraints_keep_the_cost_map_linear():
    """The cost map of a constrained encoding is linear in the costs."""
    rules, contexts = INSTANCES["box, reals"]
    encoding = rules.formulate(contexts, constrained=True)
    first, second = np.random.default_rng(0).normal(size=(2, len(encoding.contexts), 2))
    total = encoding.objective(first + second).coefficients
    assert np.allclose(encoding.objective(first).coefficients + encoding.objective(second).coefficients, total)


def test_contexts_between_the_same_cuts_are_one():
    """Contexts that no box tells apart are merged, in the encoding and in the search."""
    rules = BoxRules(2, thresholds=((1.0,), (0.0,)))
    contexts = np.array([[0.1, 5.0], [2.0, 3.0], [0.9, 7.0], [2.0, -1.0]])
    for opened in (rules.formulate(contexts), rules.search(contexts)):
        assert opened.group.tolist() == [0, 1, 0, 2]
        assert opened.contexts.tolist() == [[0.1, 5.0], [2.0, 3.0], [2.0, -1.0]]


NAMES = Names(("age", "insured"), ("wait", "treat", "refer"))


@pytest.mark.parametrize(
    ("intervals", "text"),
    [
        ((Interval(0, 30.0, 64.5),), "if 30 < age <= 64.5"),
        ((Interval(0, None, 64.5), Interval(1, 0.5, None, binary=True)), "if age <= 64.5 and insured = 1"),
        ((Interval(0, 30.0, None), Interval(1, None, 0.5, binary=True)), "if age > 30 and insured = 0"),
    ],
)
def test_a_rule_prints_as_one_reads_it_aloud(intervals, text):
    """Names, open ends left out, = 0 and = 1 for features of 0 and 1."""
    assert str(BoxRule(intervals, 1, 0, NAMES)) == f"{text}:\n    play treat\nelse:\n    play wait"


def test_predict_follows_the_bounds():
    """A context on the upper bound is inside, one on the lower bound outside; all intervals must hold."""
    rule = BoxRule((Interval(0, 1.0, 2.0), Interval(1, None, 0.0)), 2, 1)
    assert rule.predict([[1, 0], [1.1, 0], [2, 0], [2.1, 0], [2, 0.1]]).tolist() == [1, 2, 2, 1, 1]


def test_equal_rules_compare_equal():
    """Equal actions make a constant, which has no interval; names do not count."""
    constant = BoxRule((Interval(0, 1.0, 2.0),), 1, 1)
    assert constant == BoxRule((), 1, 0, NAMES)
    assert str(constant) == "play action 1"
    assert constant.predict([[1.5]]).tolist() == [1]


def test_a_feature_is_binary_only_if_all_its_values_are():
    """A column whose merged representatives happen to be 0 and 1 is still said with its threshold."""
    answer = open_oracle(BoxRules(2, thresholds=((0.5,),)), [[0.0], [1.0], [0.25]]).minimise([[0, 1], [1, 0], [0, 1]])
    assert str(answer.policy).startswith("if x0 <= 0.5:")


@pytest.mark.parametrize("kind", ["milp", "search"])
def test_the_class_hands_its_names_to_its_rules(kind):
    """Answers print with the names given to the class."""
    rules = BoxRules(2, feature_names=["age", "insured"], action_names=["wait", "treat"])
    answer = open_oracle(rules, [[20, 0], [70, 0], [30, 0]], kind=kind).minimise([[0, 1], [1, 0], [0, 1]])
    assert str(answer.policy).startswith("if age <= ")
    assert "play treat" in str(answer.policy)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_actions": 1}, "n_actions"),
        ({"n_actions": 2, "max_features": 0}, "max_features"),
        ({"n_actions": 2, "max_features": 3}, "max_features must be 1 or 2, got 3"),
        ({"n_actions": 2, "thresholds": 0}, "thresholds"),
    ],
)
def test_wrong_arguments_are_named(arguments, message):
    """A wrong constructor argument is named in an InputError."""
    with pytest.raises(InputError, match=message):
        BoxRules(**arguments)


@pytest.mark.parametrize(
    ("contexts", "message"), [([[1.0]], "1 columns, but the policy reads 2"), ([[1.0, np.nan]], "nan")]
)
def test_predict_refuses_wrong_contexts(contexts, message):
    """Contexts without the feature or with NaN raise InputError."""
    with pytest.raises(InputError, match=message):
        BoxRule((Interval(1, 0.0, None),), 0, 1).predict(contexts)
