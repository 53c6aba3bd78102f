"""Rule lists: the shortest-path program and the search against the definition."""

from dataclasses import replace

import numpy as np
import pytest

from milpcb.constraints import share_at_most
from milpcb.errors import InputError
from milpcb.oracles import open_oracle
from policies.literals import LARGEST
from policies.rule_lists import Clause, RuleList, RuleLists, shortest

from .rules import LIST, NAMES


def test_the_program_has_the_size_it_states():
    """30 literals make 1 800 columns for two rules."""
    contexts = np.random.default_rng(0).normal(size=(200, 10))
    program = RuleLists(3, max_rules=2).on(contexts).program().program
    assert (program.n_columns, program.n_rows) == (1800, 61)


def test_without_anything_to_test_the_lists_are_the_defaults():
    """Contexts that are all alike leave a list for each action, also under constraints and near the best."""
    contexts, costs = np.zeros((3, 1)), np.array([[3.0, 1.0, 2.0]] * 3)
    seldom = share_at_most(1, 0.5)
    for constraints, actions in (((), [1, 2, 0]), ((seldom,), [2, 0])):
        oracle = open_oracle(RuleLists(3, thresholds=[[]]), contexts, "search", constraints=constraints)
        assert oracle.minimise(costs).policy.predict(contexts).tolist() == [actions[0]] * 3
        near = oracle.near_best(costs, 6.0)
        assert (near.listed, near.exact) == (True, True)
        assert [policy.predict(contexts).tolist() for policy in near.policies()] == [[a] * 3 for a in actions]


@pytest.mark.parametrize("kind", ["milp", "search", "audited"])
def test_lists_too_long_for_memory_are_refused(kind):
    """Before memory is taken it is said how many columns would be needed; such lists can still be drawn."""
    contexts = np.random.default_rng(0).normal(size=(200, 12))
    lists = RuleLists(2, max_rules=6)
    message = f"lists of 6 rules over 36 literals need {373_976_064:_} columns, more than {LARGEST:_}".replace("_", " ")
    with pytest.raises(InputError, match=message):
        open_oracle(lists, contexts, kind=kind)
    assert lists.on(contexts).draw(np.random.default_rng(0)).predict(contexts).shape == (200,)


def test_the_first_rule_that_holds_plays():
    """Rules are read in order, and a context on the threshold is below it."""
    contexts = [[70, 0], [64.5, 0], [40, 1], [70, 1], [30, 0], [20, 1]]
    assert LIST.predict(contexts).tolist() == [2, 0, 1, 2, 2, 1]


def test_equal_lists_compare_equal():
    """Rules that play the default at the end vanish, and the last condition is not negated; names do not count."""
    assert RuleList((Clause(0, 1.0, True, 1), Clause(1, 2.0, True, 0)), 0) == RuleList(
        (Clause(0, 1.0, True, 1),), 0, NAMES
    )
    assert RuleList((Clause(0, 1.0, False, 1),), 0) == RuleList((Clause(0, 1.0, True, 0),), 1)
    assert RuleList((Clause(0, 1.0, True, 1),), 0) != RuleList((Clause(0, 2.0, True, 1),), 0)


@pytest.mark.parametrize("kind", ["milp", "search"])
def test_answers_have_no_idle_rule(kind):
    """When one rule is enough, the answer has one rule, though the class allows three."""
    contexts = np.arange(6.0)[:, None]
    wanted = contexts[:, 0] > 2
    costs = np.column_stack([wanted, ~wanted]).astype(float)
    policy = open_oracle(RuleLists(2, thresholds=5), contexts, kind=kind).minimise(costs).policy
    assert [(rule.threshold, rule.below, rule.action) for rule in policy.rules] == [(2.0, True, 0)]
    assert policy.default == 1


def test_the_shortest_list_keeps_what_it_plays():
    """Rules that never fire, always fire or repeat what follows are left out, all others stay."""
    contexts = np.array([[1.0], [2.0], [3.0], [4.0]])
    low, middle, high = Clause(0, 1.5, True, 1), Clause(0, 2.5, False, 2), Clause(0, 3.5, False, 1)
    for rules, labels, n_rules in (
        ((high, middle, low), [1, 0, 2, 1], 3),
        ((high, middle), [0, 0, 2, 1], 2),
        ((high, replace(high, action=2)), [0, 0, 0, 1], 1),
        ((low, replace(middle, below=True, action=1)), [1, 1, 0, 0], 1),
        ((middle, replace(middle, below=True, action=1), replace(low, action=0)), [1, 1, 2, 2], 1),
    ):
        written = shortest(RuleList(rules, 0, NAMES), contexts)
        assert written.predict(contexts).tolist() == labels
        assert len(written.rules) == n_rules
