"""Box rules: the program that picks a box and the search against the definition."""

from itertools import product

import numpy as np
import pytest

from milpcb.errors import InputError
from policies import boxes
from policies.boxes import BoxList, BoxRule, BoxRules, Interval
from policies.names import Names


@pytest.mark.parametrize(("max_features", "columns"), [(1, 61), (2, 3706)])
def test_the_program_has_the_size_it_states(max_features, columns):
    """10 features of 3 cuts make 60 intervals and 3 705 boxes, and all contexts."""
    contexts = np.random.default_rng(0).normal(size=(1000, 10))
    program = BoxRules(3, max_features).on(contexts).program().program
    assert (program.n_columns, program.n_rows) == (columns, 1)


def test_boxes_that_divide_alike_are_one():
    """A box, one with the same contexts and one with all others are the first of them."""
    boxes = BoxRules(2, max_features=2).on(np.array([[0.0, 1.0], [1.0, 0.0]]))._boxes
    assert len(boxes) == 2
    assert boxes.intervals(1) == (Interval(0, None, 0.5, True),)


NAMES = Names(("age", "insured"), ("wait", "treat", "refer"))


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


def test_an_interval_without_bounds_says_nothing():
    """It always holds, so it is left out: no source has an infinite number."""
    rule = BoxRule((Interval(0, None, None), Interval(1, 0.5, None)), 1, 0)
    assert rule == BoxRule((Interval(1, 0.5, None),), 1, 0)
    constant = BoxRule((Interval(0, None, None),), 1, 0)
    assert (constant.to_sql(), str(constant), constant.predict([[3.0]]).tolist()) == ("1", "play action 1", [1])
    assert "inf" not in constant.to_python()


@pytest.mark.parametrize("pairs", [False, True])
def test_boxes_of_the_space_are_those_of_contexts_in_every_cell(pairs):
    """The same are listed without contexts as with one in each cell, up to what a box leaves out; all comes first."""
    cuts, cells = [np.array([0.5, 1.5]), np.array([0.5])], np.array(list(product((0.0, 1.0, 2.0), (0.0, 1.0))))
    found = [BoxList(cuts, [False, False], pairs=pairs, contexts=contexts).holding(cells) for contexts in (None, cells)]
    assert [held[:, 0].tolist() for held in found] == [[True] * 6] * 2
    assert [len(np.unique(held, axis=1).T) for held in found] == [len(held.T) for held in found]
    space, divided = ({tuple(column ^ column[0]) for column in held.T} for held in found)
    assert space == divided


def test_boxes_that_memory_does_not_hold_are_refused(monkeypatch):
    """With two cuts a feature there are 5 bounds on each and 25 on both: 35 boxes on 4 rows are 140 entries."""
    contexts = np.array([[0.0, 0.0], [1.0, 2.0], [2.0, 1.0], [2.0, 2.0]])
    rules = BoxRules(2, max_features=2, thresholds="all")
    monkeypatch.setattr(boxes, "MOST_ENTRIES", 140)
    assert rules.on(contexts).log_size > 0.0
    monkeypatch.setattr(boxes, "MOST_ENTRIES", 139)
    with pytest.raises(InputError, match=r"^35 boxes on 4 rows of contexts have 140 entries, more than 139; use fewer"):
        rules.on(contexts)
