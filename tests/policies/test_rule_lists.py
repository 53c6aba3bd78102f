"""Rule lists: the shortest-path program and the search against the definition."""

from __future__ import annotations

from itertools import permutations, product

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

from milpcb.errors import InputError
from milpcb.oracles import open_oracle
from policies.names import Names
from policies.rule_lists import Cells, Rule, RuleList, RuleLists

BINARY = np.array([[0, 1, 1], [1, 1, 0], [0, 0, 1], [1, 1, 0], [0, 1, 1], [1, 0, 0]], dtype=float)
REALS = np.array([[0.3, -2.0], [1.7, 5.5], [0.3, -2.0], [0.9, 1.0], [2.4, 0.0], [-1.0, 5.5], [0.9, 3.0]])
MIXED = np.column_stack([BINARY[:, 0], np.full(6, 4.0), REALS[:6, 0]])  # the middle column divides nothing
INSTANCES = {
    "one rule": (RuleLists(3, max_rules=1), REALS),
    "two rules, binary": (RuleLists(3, max_rules=2), BINARY),
    "two rules, reals": (RuleLists(2, max_rules=2), REALS),
    "three rules, binary": (RuleLists(2, max_rules=3), BINARY),
    "three rules, mixed": (RuleLists(2, max_rules=3, thresholds=2), MIXED),
    "more rules than literals": (RuleLists(3, max_rules=5, thresholds=((1.0,), (0.5,))), REALS),
    "no literal": (RuleLists(3), np.full((3, 2), 7.0)),
    "one context": (RuleLists(2), REALS[:1]),
}
EVERY_INSTANCE = pytest.mark.parametrize("name", INSTANCES)


def derivations(lists, contexts):
    """Every way the search may write a list: D different literals, a side at all but the last, D + 1 actions."""
    cells = Cells(lists, contexts)
    orders = permutations(range(cells.truth.shape[1]), cells.depth)
    sides = list(product((0, 1), repeat=max(0, cells.depth - 1)))
    for literals, outcomes in product(orders, sides):
        for *actions, default in product(range(lists.n_actions), repeat=cells.depth + 1):
            steps = list(zip(literals, (*outcomes, 0), actions, strict=False))
            labels = np.full(len(cells.contexts), default)
            for f, outcome, action in reversed(steps):
                labels[cells.truth[:, f] != outcome] = action
            yield labels[cells.group]


@EVERY_INSTANCE
@settings(max_examples=20)
@given(data=st.data())
def test_the_program_answers_as_the_definition(name, data, battery):
    """Values, policies, profiles and budgets from HiGHS are those of the list of all rule lists."""
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
    """Values, policies and profiles of the search are those of the list of all rule lists."""
    lists, contexts = INSTANCES[name]
    costs = draw_costs(data, len(contexts), lists.n_actions)
    row = data.draw(st.integers(0, len(contexts) - 1))
    search, listed = (open_oracle(lists, contexts, kind=kind) for kind in ("search", "enumeration"))
    answer = search.minimise(costs)
    labels = answer.policy.predict(contexts)
    assert answer.value == pytest.approx(listed.value(costs), abs=1e-10)
    assert costs[np.arange(len(costs)), labels].sum() == pytest.approx(answer.value, abs=1e-10)
    assert search.value(costs) == answer.value
    assert search.profile(costs, row) == pytest.approx(listed.profile(costs, row), abs=1e-10)


@EVERY_INSTANCE
@settings(max_examples=3)
@given(data=st.data())
def test_action_weights_are_those_of_the_derivations(name, data, draw_costs):
    """The Exp4 distribution counts every list as often as it can be written."""
    lists, contexts = INSTANCES[name]
    costs = draw_costs(data, len(contexts), lists.n_actions)
    row = data.draw(st.integers(0, len(contexts) - 1))
    labels = np.array(list(derivations(lists, contexts)))
    logs = -0.3 * costs[np.arange(len(costs)), labels].sum(axis=1)
    weights = np.exp(logs - logs.max())
    mass = np.array([weights[labels[:, row] == a].sum() for a in range(lists.n_actions)])
    oracle = open_oracle(lists, contexts, kind="search")
    assert oracle.action_weights(costs, row, 0.3) == pytest.approx(mass / mass.sum(), abs=1e-10)
    assert np.exp(lists.search(contexts).log_count()) == pytest.approx(len(labels))


@EVERY_INSTANCE
def test_every_labeling_has_a_derivation(name):
    """The ways to write a list reach the labelings of the class, and no others."""
    lists, contexts = INSTANCES[name]
    written = {tuple(labels.tolist()) for labels in derivations(lists, contexts)}
    assert written == set(map(tuple, lists.labelings(contexts).tolist()))


def test_a_high_rate_picks_the_profile():
    """At a high rate the Exp4 distribution is on the action with the least profile, without overflow."""
    lists, contexts = INSTANCES["two rules, binary"]
    costs = np.random.default_rng(3).integers(-9, 9, (6, 3)).astype(float)
    oracle = open_oracle(lists, contexts, kind="search")
    weights = oracle.action_weights(costs, 2, 1e6)
    assert weights.argmax() == oracle.profile(costs, 2).argmin()
    assert np.isfinite(weights).all()


@pytest.mark.parametrize("max_rules", [1, 2, 3])
def test_program_and_search_agree_on_many_literals(max_rules):
    """Whole costs on 60 contexts and 9 literals give the same whole numbers by both routes."""
    rng = np.random.default_rng(max_rules)
    contexts, costs = rng.normal(size=(60, 3)), rng.integers(-9, 10, (60, 3)).astype(float)
    lists = RuleLists(3, max_rules)
    program, search = (open_oracle(lists, contexts, kind=kind) for kind in ("milp", "search"))
    assert search.value(costs) == program.value(costs)
    assert (search.profile(costs, 5) == program.profile(costs, 5)).all()


@EVERY_INSTANCE
def test_log_size_counts_the_lists(name):
    """log_size is the log of the number of listed rule lists, which are all different."""
    lists, contexts = INSTANCES[name]
    listed = list(lists.policies(contexts))
    assert len(set(listed)) == len(listed)
    assert np.isclose(lists.log_size(contexts), np.log(len(listed)))


@pytest.mark.parametrize("name", ["one rule", "two rules, binary", "more rules than literals", "no literal"])
def test_draw_reaches_every_list(name):
    """Every listed rule list can be drawn, and nothing else."""
    lists, contexts = INSTANCES[name]
    rng = np.random.default_rng(1)
    drawn = {lists.draw(contexts, rng) for _ in range(8_000)}
    assert drawn == set(lists.policies(contexts))


def test_cells_hold_the_contexts_that_lead_there():
    """The cell that goes on holds the contexts of the cell with the outcome, the cell that ends the others."""
    cells = Cells(RuleLists(2, max_rules=3, thresholds=2), np.random.default_rng(0).normal(size=(40, 2)))
    own = [cells.own(j) for j in range(len(cells.contexts))]
    held = [
        [{j for j, of in enumerate(own) if cell in of[level]} for cell in range(size)]
        for level, size in enumerate(cells.sizes)
    ]
    assert held[0] == [set(range(len(own)))]
    assert cells.sizes == [1, 8, 24, 32]
    for level in range(3):
        for s, cell, i in np.ndindex(*cells.on[level].shape):
            f = cells.literal[level][cell, i]
            goes_on = {j for j in held[level][cell] if cells.truth[j, f] == s}
            assert held[level + 1][cells.on[level][s, cell, i]] == goes_on
            assert held[level + 1][cells.fired[level][s, cell, i]] == held[level][cell] - goes_on


def test_cells_add_up_their_contexts():
    """C[cell, a] is the total cost of action a over the contexts in the cell, exact for whole costs."""
    cells = Cells(RuleLists(2, max_rules=3, thresholds=2), np.random.default_rng(0).normal(size=(40, 2)))
    costs = np.random.default_rng(1).integers(-9, 9, (len(cells.contexts), 2)).astype(float)
    expected = [np.zeros((2, size)) for size in cells.sizes]
    for j, row in enumerate(costs):
        for level, here in enumerate(cells.own(j)):
            expected[level][:, here] += row[:, None]
    assert all((table == sums).all() for table, sums in zip(cells.totals(costs), expected, strict=True))


@pytest.mark.parametrize("constrained", [False, True])
def test_golden_program(constrained, assert_golden):
    """The program of two literals and two rules is the one on file, with and without action columns."""
    lists = RuleLists(2, max_rules=2, thresholds=((0.5,), (0.5,)))
    encoding = lists.formulate(np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 1.0]]), constrained=constrained)
    costs = np.array([[3.0, 0.0], [-1.0, 5.0], [2.0, 7.0]])
    name = "rule_lists_constrained.lp" if constrained else "rule_lists.lp"
    assert_golden(encoding.program.to_text(encoding.objective(costs).coefficients), name)


def test_side_constraints_keep_the_cost_map_linear():
    """The cost map of a constrained encoding is linear in the costs."""
    lists, contexts = INSTANCES["two rules, binary"]
    encoding = lists.formulate(contexts, constrained=True)
    first, second = np.random.default_rng(0).normal(size=(2, len(encoding.contexts), 3))
    total = encoding.objective(first + second).coefficients
    assert np.allclose(encoding.objective(first).coefficients + encoding.objective(second).coefficients, total)


def test_the_program_has_the_size_it_states():
    """30 literals make 1 800 columns for two rules."""
    contexts = np.random.default_rng(0).normal(size=(200, 10))
    program = RuleLists(3, max_rules=2).formulate(contexts).program
    assert (program.n_columns, program.n_rows) == (1800, 61)


def test_contexts_with_the_same_literals_are_one():
    """Contexts that no rule list tells apart are merged, in the encoding and in the search."""
    lists = RuleLists(2, thresholds=((1.0,), (0.0,)))
    contexts = np.array([[0.1, 5.0], [2.0, 3.0], [0.9, 7.0], [2.0, -1.0]])
    for opened in (lists.formulate(contexts), lists.search(contexts)):
        assert opened.group.tolist() == [0, 1, 0, 2]
        assert opened.contexts.tolist() == [[0.1, 5.0], [2.0, 3.0], [2.0, -1.0]]


NAMES = Names(("age", "insured"), ("wait", "treat", "refer"))
LIST = RuleList((Rule(0, 64.5, False, 2), Rule(1, 0.5, False, 1, True), Rule(0, 30.0, True, 2)), 0, NAMES)


def test_a_list_prints_as_one_reads_it_aloud():
    """Names, elif for the further rules, = 0 and = 1 for features of 0 and 1."""
    assert str(LIST) == (
        "if age > 64.5:\n    play refer\nelif insured = 1:\n    play treat\nelif age <= 30:\n    play refer\n"
        "else:\n    play wait"
    )
    assert str(RuleList((Rule(1, 0.5, True, 1, True),), 0)) == "if x1 = 0:\n    play action 1\nelse:\n    play action 0"
    assert str(RuleList((), 1, NAMES)) == "play treat"


def test_the_first_rule_that_holds_plays():
    """Rules are read in order, and a context on the threshold is below it."""
    contexts = [[70, 0], [64.5, 0], [40, 1], [70, 1], [30, 0], [20, 1]]
    assert LIST.predict(contexts).tolist() == [2, 0, 1, 2, 2, 1]


def test_equal_lists_compare_equal():
    """Rules that play the default at the end vanish, and the last condition is not negated; names do not count."""
    assert RuleList((Rule(0, 1.0, True, 1), Rule(1, 2.0, True, 0)), 0) == RuleList((Rule(0, 1.0, True, 1),), 0, NAMES)
    assert RuleList((Rule(0, 1.0, False, 1),), 0) == RuleList((Rule(0, 1.0, True, 0),), 1)
    assert RuleList((Rule(0, 1.0, True, 1),), 0) != RuleList((Rule(0, 2.0, True, 1),), 0)


@pytest.mark.parametrize("kind", ["milp", "search"])
def test_answers_have_no_idle_rule(kind):
    """When one rule is enough, the answer has one rule, though the class allows three."""
    contexts = np.arange(6.0)[:, None]
    wanted = contexts[:, 0] > 2
    costs = np.column_stack([wanted, ~wanted]).astype(float)
    policy = open_oracle(RuleLists(2, thresholds=5), contexts, kind=kind).minimise(costs).policy
    assert [(rule.threshold, rule.below, rule.action) for rule in policy.rules] == [(2.5, True, 0)]
    assert policy.default == 1


def test_a_decoded_list_keeps_what_it_plays():
    """Rules that never fire, always fire or repeat what follows are left out, all others stay."""
    cells = Cells(RuleLists(3, thresholds=((1.5, 2.5, 3.5),)), np.array([[1.0], [2.0], [3.0], [4.0]]))
    low, middle, high = (cells.truth[:, f].astype(int) for f in range(3))
    nested = [(2, int(high[0]), 1), (1, int(middle[0]), 2), (0, int(low[3]), 1)]  # fire above 3.5, 2.5, up to 1.5
    for steps, labels, n_rules in (
        (nested, [1, 0, 2, 1], 3),
        (nested[:2], [0, 0, 2, 1], 2),
        ([nested[0], (*nested[0][:2], 2)], [0, 0, 0, 1], 1),
        ([nested[2], (1, int(middle[3]), 1)], [1, 1, 0, 0], 1),
        ([nested[1], (1, int(middle[3]), 1), (0, int(low[0]), 0)], [1, 1, 2, 2], 1),
    ):
        written = cells.rule_list(steps, 0)
        assert written.predict(cells.contexts).tolist() == labels
        assert len(written.rules) == n_rules


def test_the_class_hands_its_names_to_its_lists():
    """Answers print with the names given to the class."""
    lists = RuleLists(2, feature_names=["age", "insured"], action_names=["wait", "treat"])
    answer = open_oracle(lists, [[20, 0], [70, 0], [30, 0]], kind="search").minimise([[0, 1], [1, 0], [0, 1]])
    assert str(answer.policy).startswith("if age <= ")
    assert "play treat" in str(answer.policy)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_actions": 1}, "n_actions"),
        ({"n_actions": 2, "max_rules": 0}, "max_rules"),
        ({"n_actions": 2, "thresholds": 0}, "thresholds"),
        ({"n_actions": 2, "thresholds": [[np.inf]]}, "finite"),
    ],
)
def test_wrong_arguments_are_named(arguments, message):
    """A wrong constructor argument is named in an InputError."""
    with pytest.raises(InputError, match=message):
        RuleLists(**arguments)


@pytest.mark.parametrize(
    ("contexts", "message"), [([[1.0]], "1 columns, but the policy reads 2"), ([[1.0, np.nan]], "nan")]
)
def test_predict_refuses_wrong_contexts(contexts, message):
    """Contexts without the feature or with NaN raise InputError."""
    with pytest.raises(InputError, match=message):
        LIST.predict(contexts)
