"""Side constraints of a config: each means what its words say, on every labeling."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from milpcb.errors import InputError
from milpcb.plugins import registry
from milpcb.plugins.injection import make

CONTEXTS = np.array([[0.0, 1.0], [1.0, 0.5], [0.0, 2.0], [1.0, 1.0]])
LABELINGS = [np.array(labels) for labels in product(range(3), repeat=4)]
OUTCOME = np.array([[0.0, 1.0, 2.0], [3.0, 1.0, 0.0], [1.0, 1.0, 1.0], [0.5, 0.0, 2.0]])


def rate(labels, action, group):
    """Return the share of the contexts of a group (column 0) that receive an action."""
    return (labels[CONTEXTS[:, 0] == group] == action).mean()


RULES = {
    "share_at_most": ({"action": 1, "share": 0.5}, lambda y: (y == 1).mean() <= 0.5),
    "never_play": ({"action": 2, "rows": (0, 3)}, lambda y: 2 not in y[[0, 3]]),
    "must_play": ({"action": 0, "rows": (1,)}, lambda y: y[1] == 0),
    "parity": ({"action": 1, "feature": 0, "delta": 0.4}, lambda y: abs(rate(y, 1, 0) - rate(y, 1, 1)) <= 0.4),
    "mean_at_most": (
        {"costs": tuple(map(tuple, OUTCOME)), "bound": 1.0},
        lambda y: OUTCOME[np.arange(4), y].mean() <= 1.0,
    ),
}


def made(name, supplied, **options):
    """Return the constraints that a section of a config makes."""
    known = {"contexts": CONTEXTS, "n_contexts": 4, "n_actions": 3, **supplied}
    found = make(registry.load("constraint", name), known, options)
    return found if isinstance(found, tuple) else (found,)


@pytest.mark.parametrize("name", RULES)
def test_a_section_means_what_it_says(name):
    """A labeling keeps the constraints exactly when it satisfies the definition."""
    options, definition = RULES[name]
    rules = made(name, {"feature_names": ()}, **options)
    kept = [
        all((rule.matrix(4, 3)[np.arange(4), labels].sum() <= rule.upper + 1e-12) for rule in rules)
        for labels in LABELINGS
    ]
    expected = [bool(definition(labels)) for labels in LABELINGS]
    assert 0 < sum(expected) < len(expected)
    assert kept == expected


def test_one_row_of_costs_holds_for_every_context():
    """A second outcome that depends on the action alone needs one row."""
    (one,) = made("mean_at_most", {}, costs=((0.0, 1.0, 2.0),), bound=1.0)
    assert np.array_equal(one.matrix(4, 3), np.tile([0.0, 1.0, 2.0], (4, 1)) / 4)


def test_a_feature_may_be_named():
    """A column by its name is that column by its number."""
    named = made("parity", {"feature_names": ("old", "rich")}, action=0, feature="old", delta=0.1)
    numbered = made("parity", {"feature_names": ()}, action=0, feature=0, delta=0.1)
    for one, other in zip(named, numbered, strict=True):
        assert np.array_equal(one.weights, other.weights)


WRONG = {
    "a name that is not there": ({"feature": "odl"}, "did you mean 'old'"),
    "a number that is not there": ({"feature": 2}, r"not one of the columns 0\.\.1"),
    "a column that is not 0 or 1": ({"feature": "rich"}, "must be 0 or 1 on every context"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_feature_is_told(case):
    """The message names the feature and what would be right."""
    options, message = WRONG[case]
    with pytest.raises(InputError, match=message):
        made("parity", {"feature_names": ("old", "rich")}, action=0, delta=0.1, **options)


@pytest.mark.parametrize("costs", [((0.0, 1.0),), ((0.0, 1.0, 2.0),) * 3, ((0.0, 1.0, 2.0), (1.0,))])
def test_costs_of_another_shape_are_told(costs):
    """The message says how many rows and numbers are needed."""
    with pytest.raises(InputError, match="need 3 numbers a row, and 1 or 4 rows"):
        made("mean_at_most", {}, costs=costs, bound=1.0)
