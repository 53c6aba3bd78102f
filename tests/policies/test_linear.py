"""Linear rules: the list against the definition, the big-M program row by row, and the rules themselves."""

from itertools import product
from math import comb

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

from milpcb.errors import InputError
from milpcb.oracles import open_oracle
from policies.linear import LinearRule, LinearRules
from policies.linear import program as program_module
from policies.linear.program import LinearEncoding
from policies.linear.rule import points_of
from tests.instances import instances
from tests.lp import lp_text
from tests.stress.definitions import scored

from .rules import SCORE

INSTANCES = {i.name: (i.policies, i.contexts) for i in instances("linear_rules") if i.policies.scores == "one"}
EVERY_INSTANCE = pytest.mark.parametrize("name", INSTANCES)


@pytest.fixture
def _big_m(monkeypatch):
    """Have the class choose big-M rows, whatever the sizes."""
    monkeypatch.setattr(program_module, "MOST_COLUMNS", 0)


def points_by_hand(rules, contexts):
    """Columns of integers as they are, others as the number of listed thresholds at or below the value."""
    columns = list(contexts.T)
    for i, column in enumerate(columns):
        if any(value != round(value) for value in column):
            columns[i] = [sum(t <= value for t in set(rules.thresholds[i])) for value in column]
    return np.array(columns).T


def columns_of(program, letter):
    """The indices of the columns with this letter."""
    return [c for c, name in enumerate(program.names) if name.startswith(f"{letter}_")]


@pytest.mark.usefixtures("_big_m")
@EVERY_INSTANCE
@settings(max_examples=2)
@given(data=st.data())
def test_big_m_rows_answer_as_the_definition(name, data, battery):
    """Values, policies, profiles and budgets from HiGHS are those of the list of all rules, without tables too."""
    rules, contexts = INSTANCES[name]
    assert isinstance(rules.on(contexts).program(), LinearEncoding)
    battery(rules, contexts, data)


@pytest.mark.parametrize("name", [name for name in INSTANCES if name != "mixed"])
def test_labelings_are_all_those_of_the_definition(name):
    """The listed rules label as all weight vectors and all cuts do, and in no other way; log_size bounds them."""
    rules, contexts = INSTANCES[name]
    opened = rules.on(contexts)
    quantiles = isinstance(rules.thresholds, int)
    points = opened.scored.points[opened.group] if quantiles else points_by_hand(rules, contexts)
    wanted = scored(rules, points)
    assert set(map(tuple, opened.labelings().tolist())) == set(map(tuple, wanted.tolist()))
    assert np.log(len(wanted)) <= opened.log_size + 1e-12
    assert opened.log_size <= len(np.unique(contexts, axis=0)) * np.log(rules.n_actions) + 1e-12


@EVERY_INSTANCE
def test_big_m_is_the_maximum_over_the_box(name):
    """Each M is attained by some weights and cut of the box (so it cannot be less) and exceeded by none."""
    rules, contexts = INSTANCES[name]
    program = LinearEncoding(rules.on(contexts).scored).program
    matrix, lower, upper = program.matrix.toarray(), program.column_lower, program.column_upper
    w, t, n = (columns_of(program, letter) for letter in "wtn")
    labels = columns_of(program, "u")
    copies = upper[n] if n else np.inf
    limit = program.row_upper[(matrix[:, n] > 0).all(axis=1)][0] if n else np.inf
    box = np.array(list(product(*(np.arange(lower[i], upper[i] + 1) for i in w))))
    used = np.ceil(np.abs(box) / rules.max_weight)
    box = box[(used <= copies).all(axis=1) & (used.sum(axis=1) <= limit)]
    big_m = [r for r in range(program.n_rows) if np.any(matrix[r, t]) and np.any(matrix[r, labels])]
    assert len(big_m) == 2 * len(columns_of(program, "u"))
    for r in big_m:
        cut = np.maximum(matrix[r, t] * lower[t], matrix[r, t] * upper[t]).sum()
        slack = np.minimum(matrix[r, labels], 0).sum()  # the label that switches the row off, at 1
        off = program.row_upper[r] - (slack or 0.0)
        assert (box @ matrix[r, w]).max() + cut == off, lp_text(program, np.zeros(program.n_columns))


def test_golden_program(assert_golden):
    """The program of four binary contexts and one feature out of two is the one on file."""
    rules = LinearRules(max_weight=2, max_features=1)
    encoding = LinearEncoding(rules.on(np.array([[0.0, 0], [0, 1], [1, 0], [1, 1]])).scored)
    costs = np.array([[3.0, 0.0], [-1.0, 5.0], [2.0, 7.0], [4.0, 1.0]])
    assert_golden(lp_text(encoding.program, encoding.objective(costs).coefficients), "linear_rules.lp")


@pytest.mark.parametrize("columns", [0, 200_000])
def test_columns_alike_are_one_column_with_more_weight(columns, monkeypatch):
    """A feature and its complement are one column; a weight beyond the box is split between the two."""
    contexts = np.array([(x, 1 - x, z) for x in (0.0, 1.0) for z in range(5)])
    rules = LinearRules(max_weight=2)
    program = LinearEncoding(rules.on(contexts).scored).program
    assert [program.column_upper[c] for c in columns_of(program, "w")] == [4, 2]
    wanted = contexts @ [3, 0, 1] >= 4  # needs the weights 2 and -1 on the first two columns, or 1 and -2
    monkeypatch.setattr(program_module, "MOST_COLUMNS", columns)
    answer = open_oracle(rules, contexts).minimise(np.column_stack([wanted, ~wanted]))
    assert answer.value == 0
    assert answer.policy.weights in {(2, -1, 1), (1, -2, 1)}


LINE, CUBE = np.arange(10.0)[:, None], np.array(list(product((0.0, 1.0), repeat=9)))


@pytest.mark.parametrize(
    ("rules", "contexts", "number"),
    [
        (LinearRules(max_weight=9), LINE, 2 * 10),
        (LinearRules(max_features=1), np.hstack([LINE, LINE**2]), 2 * 2 * 10),
        (LinearRules(max_weight=1), CUBE, 3**9 * 513),
        (LinearRules(max_features=2), CUBE, comb(9, 2) * 14),
        (LinearRules(3), CUBE[:2], 3**2),
    ],
    ids=["halfspaces", "halfspaces of one column", "weight vectors", "tables", "all labelings"],
)
def test_log_size_takes_the_least_bound(rules, contexts, number):
    """Halfspaces for many weights, weight vectors for few, tables for few features, all labelings of few contexts."""
    assert np.isclose(rules.log_size(contexts), np.log(number))


@EVERY_INSTANCE
def test_draws_reach_every_labeling_that_splits_and_keep_to_the_box(name):
    """Every labeling with two actions can be drawn, and no other when there is one; weights are integers of the box."""
    rules, contexts = INSTANCES[name]
    rng, opened = np.random.default_rng(1), rules.on(contexts)
    wanted = {tuple(labels) for labels in opened.labelings().tolist() if len(set(labels)) > 1}
    wanted = wanted or {(a,) * len(contexts) for a in range(rules.n_actions)}
    found = set()
    for _ in range(5_000):
        rule = opened.draw(rng)
        assert max(map(abs, rule.weights)) <= rules.max_weight
        assert np.count_nonzero(rule.weights) <= (rules.max_features or len(rule.weights))
        assert list(rule.cuts) == sorted(rule.cuts)
        found.add(tuple(rule.predict(contexts).tolist()))
        if found == wanted:
            break
    assert found == wanted
    oracle = open_oracle(opened, contexts)
    decoded = [oracle.minimise(rng.normal(size=(len(contexts), rules.n_actions))).policy for _ in range(3)]
    assert all(np.gcd.reduce(rule.weights) <= 1 for rule in decoded)


@pytest.mark.parametrize(
    ("rules", "contexts", "steps", "points"),
    [
        (
            LinearRules(thresholds=((1.0, 2.5, 9.0), (0.0,))),
            [[0.5, 7.0], [1.0, -2.0], [2.5, 0.0]],
            ((1.0, 2.5), None),
            [[0, 7], [1, -2], [2, 0]],
        ),
        (LinearRules(), [[0.1], [0.2], [0.3], [0.4], [0.5]], ((0.2, 0.3, 0.4),), [[0], [1], [2], [3]]),
        (LinearRules(thresholds=1), [[0.5], [0.5], [0.7]], ((),), [[0]]),
    ],
    ids=["given cuts, integers", "quartiles", "a median that divides nothing"],
)
def test_a_column_is_scored_by_its_thresholds_unless_all_values_are_integers(rules, contexts, steps, points):
    """Thresholds at or below the value count, those that divide nothing not; integers count for themselves."""
    opened = rules.on(np.array(contexts))
    assert opened.scored.steps == steps
    assert opened.scored.points.tolist() == points
    assert opened.contexts.tolist() == [contexts[list(opened.group).index(i)] for i in range(len(points))]


def test_predict_scores_new_contexts():
    """Contexts that the rule was not made on are scored with its steps, a value at a cut point with its point."""
    rule = LinearRule((2, -1, 0), (1, 3), ((0.2, 0.7), None, None))
    contexts = [[0.1, 0, 5], [0.2, 0, 5], [0.2, 1.5, 5], [0.7, 1, 5], [9.0, 0, 5], [0.5, -1, 5]]
    assert rule.predict(contexts).tolist() == [0, 1, 0, 2, 2, 2]
    assert points_of(np.array(contexts), rule.steps)[:, 0].tolist() == [0, 1, 1, 2, 2, 1]
    assert ">= 0.2, 0.7" in str(rule)


def test_a_drawing_has_an_edge_for_each_range():
    """The score is one box, the ranges are its edges in the printed order, and a constant is one leaf."""
    contexts = [[-2, 0, 0.0], [-1, 0, 0.1], [1, 0, 0.2], [1, 0, 0.3]]
    graph = SCORE.graph(SCORE.leaves(contexts, np.arange(12.0).reshape(4, 3)))
    assert graph.nodes[0]["label"] == "score = +1*age_bin +3*points(dose)\n" + str(SCORE).splitlines()[1]
    assert [label for *_, label in graph.edges(data="label")] == ["score < -1", "-1 <= score < 4", "score >= 4"]
    assert graph.nodes[3]["label"] == "play refer\n50.0 % of contexts\nmean cost 9.5"
    two = LinearRule((1,), (0,), (None,))
    assert [(leaf.action, leaf.share) for leaf in two.leaves([[-1], [0], [1]])] == [(1, 2 / 3), (0, 1 / 3)]
    assert list(two.graph().edges(data="label")) == [(0, 1, "score >= 0"), (0, 2, "score < 0")]
    assert list(LinearRule((0,), (0, 1), (None,)).graph().nodes(data="action")) == [(0, 1)]
    assert LinearRule((1,), (2, 2), (None,)).leaf_actions == (0, 2)


def test_scores_that_a_solver_cannot_tell_apart_are_refused(monkeypatch):
    """A span of scores beyond the solver's tolerance is an error that names the feature; other ways still work."""
    rules = LinearRules(max_weight=2, feature_names=["smoker", "income"])
    contexts = np.array([[0, 10_000], [1, 72_001], [0, 35_010]])
    for kind in ("enumeration", "search", "milp"):
        assert open_oracle(rules, contexts, kind=kind).value([[0, 1], [1, 0], [0, 1]]) == 0
    monkeypatch.setattr(program_module, "MOST_COLUMNS", 0)
    with pytest.raises(InputError, match="income in larger units"):
        rules.on(contexts.astype(float)).program()
