"""Policies as JSON: what is damaged, foreign or of another format is one line, whatever it is."""

import json
import sys
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from milpcb.data.columns import Membership
from milpcb.data.fields import Field
from milpcb.errors import MilpcbError, UnknownNameError
from policies import BoxRules, DecisionTrees, RuleLists, ThresholdRules, from_json
from policies.boxes import BoxRule, Interval
from policies.linear import HighestScore, LinearRule
from policies.listed import ListedPolicy
from policies.monotone.rule import Axis, MonotoneRule
from policies.names import Names
from policies.rule_lists import Clause, RuleList
from policies.thresholds import ThresholdRule
from policies.trees import DecisionTree, Leaf, Split

CONTEXTS = np.random.default_rng(0).normal(size=(20, 2))
RULES = [
    cls(3, feature_names=["a", "b"], **options).on(CONTEXTS).draw(np.random.default_rng(1))
    for cls, options in ((DecisionTrees, {}), (RuleLists, {}), (BoxRules, {"max_features": 2}), (ThresholdRules, {}))
]
WRONG = [None, [], {}, "x", -1.5, 10**400, True, [[None]], {"action": []}, {"feature": "a", "threshold": "b"}]


def places(document, path=()):
    """Yield the way to every entry of a document."""
    inner = (
        document.items() if isinstance(document, dict) else enumerate(document) if isinstance(document, list) else ()
    )
    for key, value in inner:
        yield (*path, key)
        yield from places(value, (*path, key))


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: type(rule).__name__)
@settings(max_examples=20)
@given(data=st.data())
def test_a_document_with_a_wrong_entry_is_refused_in_one_line(rule, data):
    """An entry that is gone or something else is found: an error of ours, or an equal rule where it did not count."""
    document = json.loads(rule.to_json())
    *path, last = data.draw(st.sampled_from(list(places(document))))
    at = document
    for key in path:
        at = at[key]
    if data.draw(st.booleans()):
        del at[last]
    else:
        at[last] = data.draw(st.sampled_from(WRONG))
    try:
        again = from_json(json.dumps(document))
        labels = again.predict(CONTEXTS)
    except MilpcbError as error:
        assert "\n" not in str(error)  # noqa: PT017 - either outcome is allowed
    else:
        assert str(again) == str(rule)
        assert (labels == rule.predict(CONTEXTS)).all()


def test_a_class_that_is_none_is_refused():
    """Only registered names of policies are looked up: a document cannot name code to run."""
    for name in ("antigravity:geohash", "os:system", "DecisionTrees", "decisiontree", None, []):
        document = json.loads(RULES[0].to_json()) | {"class": name}
        with pytest.raises(UnknownNameError):
            from_json(json.dumps(document))
    assert "antigravity" not in sys.modules
    assert from_json(RULES[0].to_json()) == RULES[0]


THREE = ThresholdRule(0, (1.0, 2.0), (0, 1, 2), Names(("a", "b"), ("x", "y", "z")))
MONOTONE = MonotoneRule(0, ((1, ((1.0, 0.5),)),), (Axis(0, 1, (0.5, 1.5)), Axis(1, -1)))
BINARY = "a feature that is 0 or 1 is not cut between the two"
FLOORS, AXES = "its floors are not places on its axes", "its axes are not those of so many features, up or down"
SIZES = "its bases, weights and steps are not one for each action and feature"
LISTED = ListedPolicy(0, np.array([[0.0], [1.0]]), np.array([0, 1]), Names((), ("x", "y")))


@pytest.mark.parametrize(
    ("rule", "path", "entry", "message"),
    [
        (THREE, ("cuts",), [2.0, 1.0], "its cuts are not in increasing order"),
        (THREE, ("cuts",), [1.0, float("inf")], "Infinity is no number"),
        *((THREE, ("feature",), feature, f"its feature {feature} is out of range") for feature in (-1, 2)),
        *((THREE, ("actions", 2), action, f"its actions {action} is out of range") for action in (-2, 7)),
        (DecisionTree(Split(0, 0.5, Leaf(0), Leaf(1), binary=True)), ("root", "threshold"), 7.0, BINARY),
        (ThresholdRule(0, (0.5,), (0, 1), binary=True), ("cuts", 0), 1.0, BINARY),
        (BoxRule((Interval(0, 0.5, None, binary=True),), 0, 1), ("intervals", 0, "lower"), -1.0, BINARY),
        (RuleList((Clause(0, 0.5, True, 1, binary=True),), 0), ("rules", 0, "threshold"), 2.0, BINARY),
        (MONOTONE, ("levels", 0, 1, 0, 0), 1.5, FLOORS),
        (MONOTONE, ("levels", 0, 1, 0, 0), -1.0, FLOORS),
        (MONOTONE, ("levels", 0, 1, 0, 0), 3.0, FLOORS),
        (MONOTONE, ("levels", 0, 1), [], "ValueError"),
        (MONOTONE, ("axes", 0, "sign"), 2, AXES),
        (MONOTONE, ("axes", 1, "feature"), 5, AXES),
        (LinearRule((1, 2), (1,), (None, None)), ("steps",), [None, None, [0.5]], "its steps are not one entry for"),
        (HighestScore(((1, 0), (0, 1)), (0, 0), (None, None)), ("steps",), [None, None, [0.5]], SIZES),
        (HighestScore(((0, 0), (0, 0)), (0, 0), (None, None)), ("bases",), [0, 0, 1], SIZES),
        (LISTED, ("labels", 0), -1, "a context is no number, or a label no action"),
        (LISTED, ("labels", 0), 2, "a context is no number, or a label no action"),
        (LISTED, ("labels", 0), 0.5, "a context is no number, or a label no action"),
        (LISTED, ("contexts", 0, 0), None, "a context is no number, or a label no action"),
    ],
)
def test_words_that_would_say_something_else_than_predict_are_refused(rule, path, entry, message):
    """Each of these was read, and then printed one thing and played another, or ended in an error of numpy's."""
    document = json.loads(rule.to_json())
    assert from_json(json.dumps(document)) == rule
    *way, last = ("fields", *path)
    at = document
    for key in way:
        at = at[key]
    at[last] = entry
    with pytest.raises(MilpcbError, match=message):
        from_json(json.dumps(document))


@pytest.mark.parametrize("inside", [-1, 2])
def test_a_column_that_is_neither_0_nor_1_inside_is_refused(inside):
    """A score would add 2 or -1 for it where its SQL adds 1 or 0."""
    fields = (Field("colour", "category", ("blue", "red")),)
    names = Names(("colour",), ("x", "y"), (Membership("colour", ("red",), 1),), fields)
    rule = DecisionTree(Split(0, 0.5, Leaf(0), Leaf(1)), names)
    document = json.loads(rule.to_json())
    assert from_json(json.dumps(document)) == rule
    document["names"]["columns"][0]["inside"] = inside
    with pytest.raises(MilpcbError, match=f"its inside {inside} is out of range"):
        from_json(json.dumps(document))
    with pytest.raises(MilpcbError, match=BINARY):
        from_json(replace(rule, root=replace(rule.root, threshold=float(inside))).to_json())
