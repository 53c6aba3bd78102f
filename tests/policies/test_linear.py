"""Linear rules: the programs against the definition, and the big-M program row by row."""

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import combinations, product
from math import comb

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

from milpcb.errors import InputError
from milpcb.oracles import open_oracle
from milpcb.testing.instances import instances
from policies import Halfspaces
from policies.linear import LinearRule, LinearRules
from policies.linear import program as program_module
from policies.linear.program import MOST_PAIRED, LinearEncoding, parallelograms
from tests.lp import lp_text

from .rules import SCORE

BINARY = np.array([[0, 1, 1], [1, 1, 0], [0, 0, 1], [1, 1, 0], [0, 1, 0], [1, 0, 0], [0, 0, 0]], dtype=float)
INTEGERS = np.array([[-3, 10], [4, 30], [0, 20], [4, 30], [-1, 40], [2, 10]], dtype=float)
REALS = np.array([[0.3, -2.5], [1.7, 5.5], [0.3, -2.5], [0.9, 1.0], [2.4, 0.0], [-1.0, 5.5]])
MIXED = np.column_stack([BINARY[:6, 0], REALS[:, 0], np.full(6, 4.0), INTEGERS[:, 0]])  # the third divides nothing
ALIKE = np.column_stack([BINARY[:, 0], 1 - BINARY[:, 0], BINARY[:, 1]])  # two columns say the same
INSTANCES = {i.name: (i.policies, i.contexts) for i in instances("linear_rules") if i.policies.scores == "one"}
EVERY_INSTANCE = pytest.mark.parametrize("name", INSTANCES)
BOTH_PROGRAMS = pytest.mark.parametrize("program", ["support tables", "big-M rows"])


@contextmanager
def only(program: str) -> Iterator[None]:
    """Have the class choose this program, whatever the sizes."""
    with pytest.MonkeyPatch.context() as patch:
        if program == "big-M rows":
            patch.setattr(program_module, "MOST_COLUMNS", 0)
        yield


def big_m_encoding(rules, contexts):
    """The big-M encoding, whatever the sizes."""
    with only("big-M rows"):
        encoding = rules.on(contexts).program()
    assert isinstance(encoding, LinearEncoding)
    return encoding


def points_by_hand(rules, contexts):
    """Columns of integers as they are, others as the number of listed thresholds at or below the value."""
    columns = list(contexts.T)
    for i, column in enumerate(columns):
        if any(value != round(value) for value in column):
            columns[i] = [sum(t <= value for t in set(rules.thresholds[i])) for value in column]
    return np.array(columns).T


def points_on(rules, contexts):
    """The points (m, d) that the class gives the contexts."""
    opened = rules.on(contexts)
    return opened.scored.points[opened.group]


def labelings_by_hand(rules, points):
    """Every labeling by every weight vector and every choice of half-integer cuts, as a set."""
    limit = points.shape[1] if rules.max_features is None else rules.max_features
    box = range(-rules.max_weight, rules.max_weight + 1)
    found = set()
    for w in product(box, repeat=points.shape[1]):
        if np.count_nonzero(w) <= limit:
            scores = [sum(a * b for a, b in zip(w, point, strict=True)) for point in points]
            cuts = sorted({score + half for score in scores for half in (-0.5, 0.5)})
            for chosen in product(cuts, repeat=rules.n_actions - 1):
                found.add(tuple(sum(cut <= score for cut in chosen) for score in scores))
    return found


def feasible(program, fixed):
    """Whether some point of the program has the ``fixed`` values {column: value}."""
    from milpcb.solvers import load_solver
    from milpcb.types import Stop

    columns = np.array(list(fixed))
    rows = np.eye(program.n_columns)[columns]
    values = np.array([float(fixed[c]) for c in columns])
    session = load_solver("highs").open(program.with_rows(rows, values, values))
    return session.solve(np.zeros(program.n_columns)).stop is Stop.OPTIMAL


def columns_of(program, letter):
    """The indices of the columns with this letter."""
    return [c for c, name in enumerate(program.names) if name.startswith(f"{letter}_")]


@EVERY_INSTANCE
@settings(max_examples=4)
@given(data=st.data())
def test_big_m_rows_answer_as_the_definition(name, data, battery):
    """Values, policies, profiles and budgets from HiGHS are those of the list of all rules, without tables too."""
    rules, contexts = INSTANCES[name]
    with only("big-M rows"):
        assert isinstance(rules.on(contexts).program(), LinearEncoding)
        battery(rules, contexts, data)


@pytest.mark.parametrize("name", ["binary", "integers, three actions, one feature", "mixed", "one context"])
@settings(max_examples=1)
@given(data=st.data())
def test_another_solver_answers_the_same(name, data, battery):
    """The same battery holds with CBC."""
    with only("big-M rows"):
        battery(*INSTANCES[name], data, "pulp:PULP_CBC_CMD")


@BOTH_PROGRAMS
@settings(max_examples=40)
@given(data=st.data())
def test_any_small_class_answers_as_its_definition(program, data, battery):
    """The battery holds whatever the columns, the repeats of rows and the limits of the class are."""
    rows, features = data.draw(st.integers(1, 5)), data.draw(st.integers(1, 3))
    kinds = [st.integers(0, 1), st.integers(-4, 4), st.sampled_from([0.5, 1.0, 1.5, 2.25]), st.just(7)]
    kind = [data.draw(st.sampled_from(kinds)) for _ in range(features)]
    table = np.array([[float(data.draw(k)) for k in kind] for _ in range(rows)])
    contexts = table[data.draw(st.lists(st.integers(0, rows - 1), min_size=1, max_size=6))]
    rules = LinearRules(
        n_actions=data.draw(st.integers(2, 3)),
        max_weight=data.draw(st.integers(1, 3 if features < 3 else 1)),
        max_features=data.draw(st.sampled_from([None, 1, 2])),
        thresholds=data.draw(st.integers(1, 3)),
    )
    with only(program):
        battery(rules, contexts, data)


@pytest.mark.parametrize("name", [name for name in INSTANCES if name != "mixed"])
def test_labelings_are_all_those_of_the_definition(name):
    """The listed rules label as all weight vectors and all cuts do, and in no other way."""
    rules, contexts = INSTANCES[name]
    points = points_on(rules, contexts) if isinstance(rules.thresholds, int) else points_by_hand(rules, contexts)
    assert set(map(tuple, rules.on(contexts).labelings().tolist())) == labelings_by_hand(rules, points)


@EVERY_INSTANCE
def test_every_rule_is_a_point_of_the_program(name):
    """No row cuts off a rule: with its labels and some weights the program is feasible."""
    rules, contexts = INSTANCES[name]
    encoding = big_m_encoding(rules, contexts)
    labelings = rules.on(rules.on(contexts).contexts).labelings()
    u = columns_of(encoding.program, "u")
    for labels in labelings[np.random.default_rng(0).permutation(len(labelings))[:40]]:
        above = labels[:, None] > np.arange(rules.n_actions - 1)
        assert feasible(encoding.program, dict(zip(u, above.ravel(), strict=True))), labels


@EVERY_INSTANCE
def test_big_m_is_the_maximum_over_the_box(name):
    """Each M is attained by some weights and cut of the box (so it cannot be less) and exceeded by none."""
    rules, contexts = INSTANCES[name]
    program = big_m_encoding(rules, contexts).program
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


def test_the_cost_map_is_linear_and_exact():
    """At the labels of any rule the objective is its total cost, and sums of costs have the sum of objectives."""
    rules, contexts = INSTANCES["integers, three actions, one feature"]
    encoding, distinct = big_m_encoding(rules, contexts), rules.on(contexts).contexts
    first, second = np.random.default_rng(0).normal(size=(2, len(distinct), 3))
    maps = [encoding.objective(costs) for costs in (first, second, first + second)]
    assert np.allclose(maps[0].coefficients + maps[1].coefficients, maps[2].coefficients)
    assert np.isclose(maps[0].offset + maps[1].offset, maps[2].offset)
    for labels in rules.on(distinct).labelings():
        x = np.zeros(encoding.program.n_columns)
        x[columns_of(encoding.program, "u")] = (labels[:, None] > np.arange(2)).ravel()
        assert np.isclose(maps[0].coefficients @ x + maps[0].offset, first[np.arange(len(labels)), labels].sum())


def test_golden_program(assert_golden):
    """The program of four binary contexts and one feature out of two is the one on file."""
    encoding = big_m_encoding(LinearRules(max_weight=2, max_features=1), np.array([[0.0, 0], [0, 1], [1, 0], [1, 1]]))
    costs = np.array([[3.0, 0.0], [-1.0, 5.0], [2.0, 7.0], [4.0, 1.0]])
    assert_golden(lp_text(encoding.program, encoding.objective(costs).coefficients), "linear_rules.lp")


def test_contexts_with_the_same_points_are_one():
    """Contexts that no rule tells apart are merged, and constant columns do not matter."""
    opened = LinearRules(thresholds=((1.0,), (9.0,))).on(np.array([[0.5, 2], [3.0, 2], [0.7, 2], [1.0, 2]]))
    assert opened.group.tolist() == [0, 1, 0, 1]
    assert opened.contexts.tolist() == [[0.5, 2], [3.0, 2]]


def test_shifts_and_common_factors_leave_the_program_as_it_is():
    """Columns of 10 and 30 give the program that columns of 0 and 1 give."""
    programs = [big_m_encoding(LinearRules(), table).program for table in (BINARY, 20 * BINARY + [10, -40, 0])]
    assert lp_text(programs[0], np.zeros(programs[0].n_columns)) == lp_text(
        programs[1], np.zeros(programs[1].n_columns)
    )


def test_columns_alike_are_one_column_with_more_weight():
    """A feature and its complement are one column; a weight beyond the box is split between the two."""
    contexts = np.array([(x, 1 - x, z) for x in (0.0, 1.0) for z in range(5)])
    rules = LinearRules(max_weight=2)
    program = big_m_encoding(rules, contexts).program
    assert [program.column_upper[c] for c in columns_of(program, "w")] == [4, 2]
    wanted = contexts @ [3, 0, 1] >= 4  # needs the weights 2 and -1 on the first two columns, or 1 and -2
    for program in ("support tables", "big-M rows"):
        with only(program):
            answer = open_oracle(rules, contexts).minimise(np.column_stack([wanted, ~wanted]))
        assert answer.value == 0
        assert answer.policy.weights in {(2, -1, 1), (1, -2, 1)}


@given(data=st.data())
def test_parallelograms_have_equal_sums(data):
    """The two pairs have one sum, are different, and on a grid none is missed."""
    kept = data.draw(st.lists(st.integers(0, 15), min_size=1, max_size=10, unique=True))
    X = np.array(list(product(range(4), repeat=2)), dtype=float)[kept]
    found = [(tuple(p), tuple(q)) for p, q in zip(*(pairs.tolist() for pairs in parallelograms(X)), strict=True)]
    ends = [(a, b) for a in range(len(X)) for b in range(a, len(X))]
    wanted = {frozenset(pq) for pq in combinations(ends, 2) if (X[list(pq[0])].sum(0) == X[list(pq[1])].sum(0)).all()}
    assert len(found) == len(wanted)
    assert set(map(frozenset, found)) == wanted


def test_parallelograms_are_bounded():
    """A full grid has no more than 30 per context, and too many contexts have none."""
    cube = np.array(list(product((0.0, 1.0), repeat=7)))
    assert len(parallelograms(cube)[0]) == 30 * 128
    assert len(parallelograms(np.arange(MOST_PAIRED + 1.0)[:, None])[0]) == 0


@EVERY_INSTANCE
def test_log_size_bounds_the_labelings(name):
    """There are at most exp(log_size) labelings, and never more than K^g are claimed."""
    rules, contexts = INSTANCES[name]
    distinct = len(np.unique(contexts, axis=0))
    assert np.log(len(rules.on(contexts).labelings())) <= rules.log_size(contexts) + 1e-12
    assert rules.log_size(contexts) <= distinct * np.log(rules.n_actions) + 1e-12


def test_log_size_takes_the_least_bound():
    """Halfspaces for many weights, weight vectors for few, tables for few features, all labelings of few contexts."""
    line = np.arange(10.0)[:, None]
    assert np.isclose(LinearRules(max_weight=9).log_size(line), np.log(2 * 10))
    two = np.hstack([line, line**2])
    assert np.isclose(LinearRules(max_features=1).log_size(two), np.log(2 * 2 * 10))
    cube = np.array(list(product((0.0, 1.0), repeat=9)))
    assert np.isclose(LinearRules(max_weight=1).log_size(cube), np.log(3**9 * 513))
    assert np.isclose(LinearRules(max_features=2).log_size(cube), np.log(comb(9, 2) * 14))
    assert np.isclose(LinearRules(3).log_size(cube[:2]), 2 * np.log(3))


@EVERY_INSTANCE
def test_draw_reaches_every_labeling_that_splits(name):
    """Every labeling with two actions can be drawn, and no other when there is one."""
    rules, contexts = INSTANCES[name]
    rng = np.random.default_rng(1)
    wanted = {tuple(labels) for labels in rules.on(contexts).labelings().tolist() if len(set(labels)) > 1}
    wanted = wanted or {(a,) * len(contexts) for a in range(rules.n_actions)}
    found, opened = set(), rules.on(contexts)
    for _ in range(5_000):
        found.add(tuple(opened.draw(rng).predict(contexts).tolist()))
        if found == wanted:
            break
    assert found == wanted


@EVERY_INSTANCE
def test_drawn_and_decoded_rules_keep_to_the_box(name):
    """Weights are integers of the box, on no more features than allowed, with no common factor when decoded."""
    rules, contexts = INSTANCES[name]
    rng = np.random.default_rng(2)
    opened = rules.on(contexts)
    oracle = open_oracle(opened, contexts)
    decoded = [oracle.minimise(rng.normal(size=(len(contexts), rules.n_actions))).policy for _ in range(5)]
    for rule in [opened.draw(rng) for _ in range(20)] + decoded:
        assert max(map(abs, rule.weights)) <= rules.max_weight
        assert np.count_nonzero(rule.weights) <= (rules.max_features or len(rule.weights))
        assert list(rule.cuts) == sorted(rule.cuts)
    assert all(np.gcd.reduce(rule.weights) <= 1 for rule in decoded)


def test_a_column_is_scored_by_its_thresholds_unless_all_values_are_integers():
    """Thresholds at or below the value count, the largest value included; integers count for themselves."""
    contexts = np.array([[0.5, 7.0], [1.0, -2.0], [2.5, 0.0]])
    scored = LinearRules(thresholds=((1.0, 2.5, 9.0), (0.0,))).on(contexts).scored
    assert scored.steps == ((1.0, 2.5), None)
    assert scored.points.tolist() == [[0, 7], [1, -2], [2, 0]]


def test_quantile_thresholds_are_at_or_below_the_value():
    """The quartiles of 0.1, 0.2, ..., 0.5 give one point each, those that divide nothing none."""
    column = np.array([[0.1], [0.2], [0.3], [0.4], [0.5]])
    assert points_on(LinearRules(), column).ravel().tolist() == [0, 1, 2, 3, 3]
    assert LinearRules(thresholds=1).on(np.array([[0.5], [0.5], [0.7]])).scored.steps == ((),)


def test_predict_scores_new_contexts():
    """Contexts that the rule was not made on are scored with the steps it was made with."""
    rule = LinearRule((2, -1, 0), (1, 3), ((0.2, 0.7), None, None))
    contexts = [[0.1, 0, 5], [0.2, 0, 5], [0.2, 1.5, 5], [0.7, 1, 5], [9.0, 0, 5], [0.5, -1, 5]]
    assert rule.predict(contexts).tolist() == [0, 1, 0, 2, 2, 2]


def test_leaves_and_drawing_are_one_for_each_range():
    """The score is one box, the ranges are its edges in the printed order, and a constant is one leaf."""
    contexts = [[-2, 0, 0.0], [-1, 0, 0.1], [1, 0, 0.2], [1, 0, 0.3]]
    leaves = SCORE.leaves(contexts, np.arange(12.0).reshape(4, 3))
    assert [(leaf.name, leaf.share, leaf.mean_cost) for leaf in leaves] == [
        ("wait", 0.25, 0.0),
        ("treat", 0.25, 4.0),
        ("refer", 0.5, 9.5),
    ]
    graph = SCORE.graph(leaves)
    assert graph.nodes[0]["label"] == "score = +1*age_bin +3*points(dose)\n" + str(SCORE).splitlines()[1]
    assert [label for *_, label in graph.edges(data="label")] == ["score < -1", "-1 <= score < 4", "score >= 4"]
    assert graph.nodes[3]["label"] == "play refer\n50.0 % of contexts\nmean cost 9.5"
    two = LinearRule((1,), (0,), (None,))
    assert [(leaf.action, leaf.share) for leaf in two.leaves([[-1], [0], [1]])] == [(1, 2 / 3), (0, 1 / 3)]
    assert list(two.graph().edges(data="label")) == [(0, 1, "score >= 0"), (0, 2, "score < 0")]
    assert list(LinearRule((0,), (0, 1), (None,)).graph().nodes(data="action")) == [(0, 1)]
    assert LinearRule((1,), (2, 2), (None,)).leaf_actions == (0, 2)


def test_a_constant_answer_has_no_weights():
    """When one action is best everywhere, the rule says only that."""
    answer = open_oracle(LinearRules(3), INTEGERS).minimise(np.tile([2.0, 1.0, 3.0], (6, 1)))
    assert str(answer.policy) == "play action 1"


def test_scores_that_a_solver_cannot_tell_apart_are_refused():
    """A span of scores beyond the solver's tolerance is an error that names the feature; other ways still work."""
    rules = LinearRules(max_weight=2, feature_names=["smoker", "income"])
    contexts = np.array([[0, 10_000], [1, 72_001], [0, 35_010]])
    with pytest.raises(InputError, match="income in larger units"):
        big_m_encoding(rules, contexts.astype(float))
    for kind in ("enumeration", "search", "milp"):
        assert open_oracle(rules, contexts, kind=kind).value([[0, 1], [1, 0], [0, 1]]) == 0


def test_a_config_can_ask_for_real_weights():
    """TOML has no None: "real" is the same class, and hands over to halfspaces with its names."""
    assert LinearRules(max_weight="real") == LinearRules(max_weight=None)
    names = {"feature_names": ["age", "dose"], "action_names": ["wait", "treat"]}
    rules = [LinearRules(max_weight="real", **names), Halfspaces(**names)]
    costs = np.random.default_rng(0).normal(size=(6, 2))
    printed = [str(open_oracle(policies, REALS).minimise(costs).policy) for policies in rules]
    assert printed[0] == printed[1]
    assert "age" in printed[0]
