"""Threshold rules: the shortest-path program against the definition."""

import numpy as np
import pytest

from milpcb.oracles import open_oracle
from policies.names import Names
from policies.thresholds import ThresholdRule, ThresholdRules


def test_cuts_that_divide_alike_are_kept_once():
    """Of the cuts between the same two values only the lowest stays, and cuts outside the values go."""
    rules = ThresholdRules(2, thresholds=((-1.0, 0.2, 0.4, 1.0, 1.5, 9.0), (0.5,)))
    opened = rules.on(np.array([[0.0, 1.0], [1.0, 1.0], [2.0, 1.0]]))
    assert {(rule.feature, rule.cuts) for rule in opened.policies()} == {(0, ()), (0, (0.2,)), (0, (1.0,))}


@pytest.mark.parametrize("value", [0.0, 1.0, 2.0])
def test_a_constant_column_has_no_cut(value):
    """A column with one value gives no cut, not even when that value is 0 or 1."""
    rules = ThresholdRules(2).on(np.array([[value, 3.0], [value, 5.0]])).policies()
    assert {rule.feature for rule in rules if rule.cuts} == {1}


def test_without_dividing_cuts_only_constants_remain():
    """Contexts that are all alike have the K constants and the cheapest of them wins."""
    rules, contexts = ThresholdRules(3), np.full((3, 2), 7.0)
    assert [str(rule) for rule in rules.on(contexts).policies()] == ["play action 0", "play action 1", "play action 2"]
    answer = open_oracle(rules, contexts).minimise([[0, -1, 0], [0, 0, 0], [2, 0, 0]])
    assert (answer.value, str(answer.policy)) == (-1.0, "play action 1")


def test_a_context_on_the_cut_is_below_it():
    """A test is x <= theta."""
    rule = ThresholdRule(1, (0.0, 2.0), (2, 0, 1))
    assert rule.predict([[9, -1.0], [9, 0.0], [9, 0.1], [9, 2.0], [9, 2.1]]).tolist() == [2, 2, 0, 0, 1]


def test_equal_rules_compare_equal():
    """Cuts between equal actions vanish, and a constant has no feature; names do not count."""
    assert ThresholdRule(1, (0.0, 1.0), (0, 0, 1)) == ThresholdRule(1, (1.0,), (0, 1), Names(("age",)))
    assert ThresholdRule(2, (3.0,), (1, 1), binary=True) == ThresholdRule(0, (), (1,))
    assert ThresholdRule(1, (0.0,), (0, 1)) != ThresholdRule(2, (0.0,), (0, 1))


def test_the_optimum_is_decoded_without_idle_cuts():
    """When one cut is enough, the decoded rule has one cut, though the class allows three."""
    contexts = np.arange(6.0)[:, None]
    wanted = contexts[:, 0] > 2
    costs = np.column_stack([wanted, ~wanted]).astype(float)
    policy = open_oracle(ThresholdRules(2, max_cuts=3, thresholds=5), contexts).minimise(costs).policy
    assert (len(policy.cuts), policy.actions) == (1, (0, 1))
    assert policy.predict(contexts).tolist() == wanted.tolist()
