"""Rules print what they do: read literally by an interpreter of its own they label each context as ``predict`` does."""

from itertools import product

import numpy as np
import pytest

from policies import BoxRules, DecisionTrees, RuleLists, ThresholdRules
from policies.boxes import BoxRule, Interval
from policies.names import Names
from policies.rule_lists import Clause, RuleList
from policies.thresholds import ThresholdRule
from policies.trees import DecisionTree, Leaf, Split

from .interpreter import Reader

CLASSES = {
    "threshold_rules": ThresholdRules(3, max_cuts=3, thresholds=7),
    "decision_trees": DecisionTrees(3, depth=3, thresholds=7),
    "rule_lists": RuleLists(3, max_rules=4, thresholds=7),
    "box_rules": BoxRules(3, max_features=2, thresholds=7),
}
N_POLICIES = 100  # on contexts of each of four kinds


def normal(rng):
    """Three standard normal features and a feature of 0 and 1."""
    return np.column_stack([rng.normal(size=(40, 3)), rng.integers(0, 2, 40)])


def millions(rng):
    """The same, a million times as large."""
    return np.column_stack([1e6 * rng.normal(size=(40, 3)), rng.integers(0, 2, 40)])


def unix_times(rng):
    """Seconds since 1970 with fractions, two of them within a second, and a tiny feature."""
    return np.column_stack([1.7e9 + 1e7 * rng.random((40, 2)), 1.7e9 + rng.random(40), 1e-9 * rng.normal(size=40)])


def neighbours(rng):
    """Values that are next to each other among the floating-point numbers, so that a digit less would mislabel."""
    steps = rng.integers(-4, 5, (40, 4))
    table = np.array([0.1 + 0.2, 1.7e9 + 0.1, 1e23, -5e-324])
    return table + steps * np.spacing(table)


CONTEXTS = [normal, millions, unix_times, neighbours]
ODD_NAMES = [
    ["age", "age <= 3", "if x and y", "else:"],
    ["a > 1 and a", "a", "b c ", "1.5"],
    ["día de nacimiento", "年", "=", "play"],
    ["x0 < x1", "x1 <= 2", "%(s)s {}", "\\n$x$"],
]
ODD_ACTIONS = ["play wait", "wait:", "if"]


def assert_says_what_it_does(policy, contexts, reader):
    """The printed rule plays on each context what ``predict`` does."""
    text = str(policy)
    labels = policy.predict(contexts).tolist()
    assert reader.play(text, contexts.tolist()) == labels, text
    if isinstance(policy, DecisionTree):
        assert reader.play_exported(policy.export_text(), contexts.tolist()) == labels, text


def fresh(contexts, rng):
    """Contexts that were not there: mixed columns, values in between, next to each other, and beyond."""
    mixed = rng.permuted(contexts, axis=0)
    between = (contexts + mixed) / 2
    beyond = np.vstack([10 * contexts, -contexts])
    table = np.vstack([mixed, between, beyond, np.nextafter(contexts, np.inf), np.nextafter(contexts, -np.inf)])
    binary = np.isin(contexts, (0.0, 1.0)).all(axis=0)
    table[:, binary] = rng.integers(0, 2, (len(table), binary.sum()))  # "= 0" and "= 1" are for features of 0 and 1
    return table


@pytest.mark.parametrize("make", CONTEXTS)
@pytest.mark.parametrize("name", CLASSES)
def test_printed_rules_are_the_rules(name, make):
    """A hundred drawn policies label known and fresh contexts as printed, whatever the size of the numbers."""
    rng = np.random.default_rng(11)
    contexts = make(rng)
    opened = CLASSES[name].on(contexts)
    reader = Reader(["x0", "x1", "x2", "x3"], ["action 0", "action 1", "action 2"])
    known_and_fresh = np.vstack([contexts, fresh(contexts, rng)])
    for _ in range(N_POLICIES):
        assert_says_what_it_does(opened.draw(rng), known_and_fresh, reader)


@pytest.mark.parametrize(("name", "features"), list(product(CLASSES, ODD_NAMES)))
def test_names_do_not_change_what_is_read(name, features):
    """Whatever features and actions are called, the rule is the same."""
    rng = np.random.default_rng(3)
    contexts = normal(rng)
    named = type(CLASSES[name])(3, thresholds=5, feature_names=features, action_names=ODD_ACTIONS)
    opened, reader = named.on(contexts), Reader(features, ODD_ACTIONS)
    for _ in range(30):
        assert_says_what_it_does(opened.draw(rng), contexts, reader)


CUTS = [
    0.1 + 0.2,
    1e-7,
    1.0000000000000002,
    123456789.123456789,
    1e16,
    1e22,
    5e-324,
    9.876543210987654e99,
    -0.0,
    -1e-5,
]


@pytest.mark.parametrize("cut", CUTS)
def test_explicit_cuts_are_printed_in_full(cut):
    """A cut point that somebody gave is read back as the very number, on both sides of it and at it."""
    contexts = np.array([[cut], [np.nextafter(cut, -np.inf)], [np.nextafter(cut, 1e300)], [0.0], [1.0], [-1.0]])
    reader = Reader(["x0"], ["action 0", "action 1"])
    for policy in (
        ThresholdRule(0, (cut,), (0, 1)),
        BoxRule((Interval(0, cut, None),), 0, 1),
        BoxRule((Interval(0, None, cut),), 0, 1),
        BoxRule((Interval(0, cut, 2 * abs(cut)),), 0, 1),
        RuleList((Clause(0, cut, False, 1), Clause(0, -7.0, True, 1)), 0),
        DecisionTree(Split(0, cut, Leaf(0), Leaf(1))),
    ):
        assert_says_what_it_does(policy, contexts, reader)


def test_the_reader_reads():
    """What the interpreter itself makes of a string, by hand."""
    reader = Reader(["a", "b"], ["stop", "go"])
    nested = "if a <= 1.5:\n    if b = 0:\n        play stop\n    else:\n        play go\nelse:\n    play stop"
    assert reader.play(nested, [[1.5, 0], [1.5, 1], [1.6, 1]]) == [0, 1, 0]
    chained = "if 1 < a <= 2 and b > -3e-05:\n    play go\nelif a <= 1:\n    play go\nelse:\n    play stop"
    assert reader.play(chained, [[2, 0], [2, -1], [1, -1], [3, 0]]) == [1, 0, 1, 0]
    for wrong in (
        "play jump",
        "if a < 1:\n    play go\nelse:\n    play stop",
        "if a <= 1:\n    play go",
        nested + "\nplay go",
    ):
        with pytest.raises(AssertionError):
            reader.play(wrong, [[1.0, 0.0]])


def test_six_digits_would_not_do():
    """The interpreter notices a rule that is printed with fewer digits than it has."""
    rule = ThresholdRule(0, (1.7e9 + 0.25,), (0, 1), Names())
    rounded = str(rule).replace("1700000000.25", "1.7e+09")
    assert (
        Reader(["x0"], ["action 0", "action 1"]).play(rounded, [[1.7e9 + 0.2]])
        != rule.predict([[1.7e9 + 0.2]]).tolist()
    )
