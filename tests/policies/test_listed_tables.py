"""Finite classes: the one-hot program and labelings as functions of the row."""

from collections.abc import Callable

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from milpcb.errors import InputError
from milpcb.oracles import open_oracle
from milpcb.types import Floats
from policies.listed import FiniteClass

BINARY = np.array([[0, 1], [1, 1], [0, 1], [1, 0]], dtype=float)
REALS = np.array([[0.3, -2.0], [1.7, 5.5], [0.3, -2.0], [0.9, 1.0], [1.7, 5.5]])
AGREE = [[0, 1, 0, 1, 1], [2, 2, 2, 0, 2], [1, 0, 1, 1, 0], [0, 1, 0, 1, 1]]  # equal rows of REALS, equal labels
DIFFER = [[0, 1, 1, 1, 1], [1, 0, 1, 1, 0], [0, 0, 0, 0, 1]]  # equal rows of REALS, different labels
INSTANCES = {
    "binary, all labelings": (FiniteClass(np.indices((2,) * 4).reshape(4, -1).T, 2), BINARY),
    "equal rows agree": (FiniteClass(AGREE, 3), REALS),
    "equal rows differ": (FiniteClass(DIFFER, 2), REALS),
    "one labeling": (FiniteClass([[1, 0, 2, 1]], 3), BINARY),
}
EVERY_INSTANCE = pytest.mark.parametrize("name", INSTANCES)


@EVERY_INSTANCE
@given(data=st.data())
def test_the_value_is_the_least_of_the_list(name, data, draw_costs):
    """The value is the least total cost over the labelings as they were given."""
    policies, contexts = INSTANCES[name]
    costs = draw_costs(data, len(contexts), policies.n_actions)
    totals = [sum(costs[j, label] for j, label in enumerate(labels)) for labels in policies.table]
    assert np.isclose(open_oracle(policies, contexts).value(costs), min(totals), atol=1e-6)


def test_equal_rows_that_agree_are_one_context():
    """Rows with equal contexts are merged when every labeling agrees on them."""
    assert FiniteClass(AGREE, 3).on(REALS).group.tolist() == [0, 1, 0, 2, 1]


def test_equal_rows_that_differ_stay_apart():
    """Rows with equal contexts stay apart when some labeling tells them apart."""
    assert FiniteClass(DIFFER, 2).on(REALS).group.tolist() == [0, 1, 2, 3, 4]


def test_the_table_itself_is_answered_row_by_row():
    """On the table it was made on, a labeling answers equal rows with their own labels, and keeps them safe."""
    policy = next(FiniteClass(DIFFER, 2).on(REALS).policies())
    labels = policy.predict(REALS.tolist())
    assert labels.tolist() == DIFFER[0]
    labels[:] = 9
    assert policy.predict(REALS).tolist() == DIFFER[0]


def test_other_tables_are_looked_up_by_value():
    """Any choice of listed contexts is answered by value; -0 is 0."""
    policy = next(FiniteClass([[1, 0, 1]], 2).on(np.array([[0.0, 2.0], [3.0, 4.0], [5.0, 6.0]])).policies())
    assert policy.predict([[5, 6], [-0.0, 2], [3, 4], [5, 6]]).tolist() == [1, 1, 0, 1]
    assert policy.predict([[3, 4], [0, 2], [5, 6]]).tolist() == [0, 1, 1]


def test_an_ambiguous_context_is_refused():
    """A context listed with two labels raises InputError; the others of the table are still answered."""
    policy = next(FiniteClass(DIFFER, 2).on(REALS).policies())
    assert policy.predict(REALS[[3, 1]]).tolist() == [1, 1]
    with pytest.raises(InputError, match=r"contexts\[1\] is listed several times"):
        policy.predict(REALS[[3, 0]])


def test_repeated_labelings_count_once():
    """log_size is the log of the number of distinct labelings."""
    policies = FiniteClass(AGREE, 3)
    assert np.isclose(policies.log_size(REALS), np.log(3))
    assert len(policies.on(REALS).labelings()) == 3


def test_draw_is_uniform():
    """Each of the N labelings is drawn with probability 1 / N."""
    rng = np.random.default_rng(0)
    policies = FiniteClass(AGREE, 3)
    counts = np.bincount([policies.on(REALS).draw(rng).index for _ in range(2000)], minlength=4)
    assert np.abs(counts - 500).max() < 100  # five standard deviations


def test_a_labeling_prints_its_counts():
    """A labeling prints its number and how often it plays each action."""
    first, second, *_ = FiniteClass([[0, 1, 0], [1, 1, 1], [2, 1, 0]], 3).on(REALS[:3]).policies()
    assert str(first) == "labeling 0: action 0 on 2 contexts, action 1 on 1"
    assert str(second) == "labeling 1: action 1 on 3 contexts"
    assert [first.predict(REALS[:3]).tolist(), second.predict(REALS[:3]).tolist()] == [[0, 1, 0], [1, 1, 1]]
    assert str(next(FiniteClass([[1]], 2).on(REALS[:1]).policies())) == "labeling 0: action 1 on 1 context"


@given(data=st.data())
def test_search_equals_enumeration(draw_costs: Callable[..., Floats], data: st.DataObject) -> None:
    """Value, policy, profile and Exp4 weights of the list are those of the enumeration oracle."""
    contexts = np.array([[0.0], [1.0], [1.0], [2.0]])
    policies = FiniteClass([[0, 1, 1, 2], [2, 0, 0, 1], [1, 1, 1, 1]], 3)
    search, listed = (open_oracle(policies, contexts, kind=kind) for kind in ("search", "enumeration"))
    costs, row = draw_costs(data, 4, 3), data.draw(st.integers(0, 3))
    answer = search.minimise(costs)
    assert answer.value == pytest.approx(listed.value(costs))
    assert search.value(costs) == answer.value
    labels = answer.policy.predict(contexts)  # type: ignore[union-attr]
    assert costs[np.arange(4), labels].sum() == pytest.approx(answer.value)
    assert search.profile(costs, row) == pytest.approx(listed.profile(costs, row))
    assert search.action_weights(costs, row, 0.3) == pytest.approx(listed.action_weights(costs, row, 0.3), abs=1e-10)
