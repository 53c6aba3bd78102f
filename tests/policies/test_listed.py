"""Classes given by their list: labelings as functions of the row, and a list of policies of one's own."""

import sys
from itertools import product
from pathlib import Path
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

import milpcb
from milpcb import open_oracle, testing
from milpcb.errors import InputError
from milpcb.testing.instances import Instance
from policies import DecisionTrees, FiniteClass, ListedRules

STARTER = Path(milpcb.__file__).parent / "starters" / "class" / "my_rules.py.txt"
REALS = np.array([[0.3, -2.0], [1.7, 5.5], [0.3, -2.0], [0.9, 1.0], [1.7, 5.5]])
AGREE = [[0, 1, 0, 1, 1], [2, 2, 2, 0, 2], [1, 0, 1, 1, 0], [0, 1, 0, 1, 1]]  # equal rows of REALS, equal labels
DIFFER = [[0, 1, 1, 1, 1], [1, 0, 1, 1, 0], [0, 0, 0, 0, 1]]  # equal rows of REALS, different labels
CONTEXTS = np.array([[0.0, 1.0], [1.0, 0.0], [1.0, 1.0], [2.0, 5.0]])


def bands() -> ListedRules:
    """Return the class of ``milpcb new class``, three actions and two cuts."""
    module = sys.modules["my_rules"] = ModuleType("my_rules")  # dataclasses look their module up
    exec(compile(STARTER.read_text(), STARTER, "exec"), vars(module))  # noqa: S102 - ours
    return module.Bands(3, (0.5, 1.5))


# ------------------------------------------------------------------- tables of labels


@pytest.mark.parametrize(("labelings", "group"), [(AGREE, [0, 1, 0, 2, 1]), (DIFFER, [0, 1, 2, 3, 4])])
def test_equal_rows_are_one_context_unless_some_labeling_differs_on_them(labelings, group):
    """The value is the least total cost over the labelings as they were given, by program, search and list."""
    policies, costs = FiniteClass(labelings, 3), np.random.default_rng(0).normal(size=(5, 3))
    assert policies.on(REALS).group.tolist() == group
    least = min(sum(costs[j, label] for j, label in enumerate(labels)) for labels in labelings)
    for kind in ("milp", "search", "enumeration"):
        assert open_oracle(policies, REALS, kind=kind).value(costs) == pytest.approx(least)


def test_weights_count_each_entry_of_the_list():
    """Kind "search" counts repeats, an enumeration each labeling once; at the rate 0 all count alike."""
    costs, labels = np.random.default_rng(0).normal(size=(5, 3)), np.array(AGREE)
    for (kind, counted), rate in product((("search", labels), ("enumeration", labels[:3])), (0, 0.3)):
        weights = np.exp(-rate * costs[np.arange(5), counted].sum(axis=1))
        expected = [weights[counted[:, 1] == a].sum() / weights.sum() for a in range(3)]
        assert open_oracle(FiniteClass(AGREE, 3), REALS, kind).action_weights(costs, 1, rate) == pytest.approx(expected)


def test_the_table_itself_is_answered_row_by_row():
    """On the table it was made on, a labeling answers equal rows with their own labels, and keeps them safe."""
    policy = next(FiniteClass(DIFFER, 2).on(REALS).policies())
    labels = policy.predict(REALS.tolist())
    assert labels.tolist() == DIFFER[0]
    labels[:] = 9
    assert policy.predict(REALS).tolist() == DIFFER[0]


def test_other_tables_are_looked_up_by_value():
    """Any choice of listed contexts is answered by value, -0 is 0; a context with two labels is refused."""
    policy = next(FiniteClass([[1, 0, 1]], 2).on(np.array([[0.0, 2.0], [3.0, 4.0], [5.0, 6.0]])).policies())
    assert policy.predict([[5, 6], [-0.0, 2], [3, 4], [5, 6]]).tolist() == [1, 1, 0, 1]
    assert policy.predict([[3, 4], [0, 2], [5, 6]]).tolist() == [0, 1, 1]
    policy = next(FiniteClass(DIFFER, 2).on(REALS).policies())
    assert policy.predict(REALS[[3, 1]]).tolist() == [1, 1]
    with pytest.raises(InputError, match=r"contexts\[1\] is listed several times"):
        policy.predict(REALS[[3, 0]])


def test_repeated_labelings_count_once():
    """log_size is the log of the number of distinct labelings."""
    policies = FiniteClass(AGREE, 3)
    assert np.isclose(policies.log_size(REALS), np.log(3))
    assert len(policies.on(REALS).labelings()) == 3


def test_a_labeling_prints_its_counts():
    """A labeling prints its number and how often it plays each action."""
    first, second, *_ = FiniteClass([[0, 1, 0], [1, 1, 1], [2, 1, 0]], 3).on(REALS[:3]).policies()
    assert str(first) == "labeling 0: action 0 on 2 contexts, action 1 on 1"
    assert str(second) == "labeling 1: action 1 on 3 contexts"
    assert [first.predict(REALS[:3]).tolist(), second.predict(REALS[:3]).tolist()] == [[0, 1, 0], [1, 1, 1]]
    assert str(next(FiniteClass([[1]], 2).on(REALS[:1]).policies())) == "labeling 0: action 1 on 1 context"


# ------------------------------------------------------------------- lists of one's own


@pytest.mark.parametrize("check", testing.battery("policies", Instance("bands", bands(), CONTEXTS)), ids=str)
def test_battery(check):
    """The list answers like any class: by program, by search, by enumeration."""
    check.run()


@pytest.mark.parametrize("kind", ["milp", "search", "audited", "enumeration"])
def test_a_list_of_stumps_answers_as_the_stumps(kind):
    """Also where its policies predict lists, which every kind of oracle reads as arrays."""
    stumps = open_oracle(DecisionTrees(3, 1, thresholds=[[0.5, 1.5], []]), CONTEXTS, kind="search")
    rules, costs = bands(), np.random.default_rng(0).normal(size=(4, 3))
    answer = open_oracle(rules, CONTEXTS, kind=kind).minimise(costs)
    assert answer.value == pytest.approx(stumps.value(costs))
    assert str(answer.policy).startswith("up to")
    made = list(rules.policies(CONTEXTS))
    rules.policies = lambda _: (
        SimpleNamespace(predict=lambda contexts, own=policy: own.predict(contexts).tolist()) for policy in made
    )
    assert open_oracle(rules, CONTEXTS, kind=kind).profile(costs, 1) == pytest.approx(stumps.profile(costs, 1))


def test_what_is_no_policy_is_told():
    """A prediction out of range, and a list that is empty, are one clear line."""
    wrong, none = bands(), bands()
    wrong.n_actions = 2
    wrong.policies = lambda contexts: bands().policies(contexts)
    none.cuts = ()
    with pytest.raises(InputError, match=r"must predict one action in 0\.\.1"):
        open_oracle(wrong, CONTEXTS)
    with pytest.raises(InputError, match="yield at least one"):
        open_oracle(none, CONTEXTS)
    wrong.n_actions = 3  # as its predictions have it
    assert open_oracle(wrong, CONTEXTS).value(np.eye(4, 3)) == open_oracle(bands(), CONTEXTS).value(np.eye(4, 3))
