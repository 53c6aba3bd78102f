"""Rules print what they do: run as the Python that they nearly are, they label each context as ``predict`` does."""

import re
from textwrap import indent

import numpy as np
import pytest

from policies import BoxRules, DecisionTrees, RuleLists, ThresholdRules
from policies.boxes import BoxRule, Interval
from policies.rule_lists import Clause, RuleList
from policies.thresholds import ThresholdRule
from policies.trees import DecisionTree, Leaf, Split

from .rules import RULES

CLASSES = {
    "threshold_rules": ThresholdRules(3, max_cuts=3, thresholds=7),
    "decision_trees": DecisionTrees(3, depth=3, thresholds=7),
    "rule_lists": RuleLists(3, max_rules=4, thresholds=7),
    "box_rules": BoxRules(3, max_features=2, thresholds=7),
}
N_POLICIES = 40


def contexts_of_many_sizes(rng):
    """Normal features of three sizes, unix times, floats that are next to each other, and 0 and 1."""
    table = np.column_stack([rng.normal(size=(40, 3)), 1.7e9 + rng.random(40), np.zeros(40), rng.integers(0, 2, 40)])
    table[:, 4] = 0.1 + 0.2 + rng.integers(-4, 5, 40) * np.spacing(0.1 + 0.2)  # so that a digit less would mislabel
    return table * [1.0, 1e6, 1e-9, 1.0, 1.0, 1.0]


def played(text, rows):
    """Return the actions of printed rules on contexts: Python reads "play action 1" as ``return 1``, and = as ==."""
    source = re.sub(r"play action (\d+)", r"return \1", text)
    source = re.sub(r"(?<![<>])=", "==", source)
    scope = {"inf": np.inf}
    exec(f"def rule(x0, x1=0, x2=0, x3=0, x4=0, x5=0):\n{indent(source, '    ')}", scope)  # noqa: S102 - what a rule prints
    return [scope["rule"](*row) for row in rows]


def assert_says_what_it_does(policy, contexts):
    """The printed rule plays on each context what ``predict`` does."""
    assert played(str(policy), contexts.tolist()) == policy.predict(contexts).tolist(), str(policy)


def fresh(contexts, rng):
    """Contexts that were not there: mixed columns, values in between, next to each other, and beyond."""
    mixed = rng.permuted(contexts, axis=0)
    between = (contexts + mixed) / 2
    beyond = np.vstack([10 * contexts, -contexts])
    table = np.vstack([mixed, between, beyond, np.nextafter(contexts, np.inf), np.nextafter(contexts, -np.inf)])
    binary = np.isin(contexts, (0.0, 1.0)).all(axis=0)
    table[:, binary] = rng.integers(0, 2, (len(table), binary.sum()))  # "= 0" and "= 1" are for features of 0 and 1
    return table


@pytest.mark.parametrize("name", CLASSES)
def test_printed_rules_are_the_rules(name):
    """Drawn policies label known and fresh contexts as printed, whatever the size of the numbers."""
    rng = np.random.default_rng(11)
    contexts = contexts_of_many_sizes(rng)
    opened = CLASSES[name].on(contexts)
    known_and_fresh = np.vstack([contexts, fresh(contexts, rng)])
    for _ in range(N_POLICIES):
        assert_says_what_it_does(opened.draw(rng), known_and_fresh)


CUTS = [0.1 + 0.2, 1e-7, 1.0000000000000002, 123456789.123456789, 1e16, 1e22, 5e-324, 9.876543210987654e99, -0.0, -1e-5]


@pytest.mark.parametrize("cut", CUTS)
def test_explicit_cuts_are_printed_in_full(cut):
    """A cut point that somebody gave is read back as the very number, on both sides of it and at it."""
    contexts = np.array([[cut], [np.nextafter(cut, -np.inf)], [np.nextafter(cut, 1e300)], [0.0], [1.0], [-1.0]])
    for policy in (
        ThresholdRule(0, (cut,), (0, 1)),
        BoxRule((Interval(0, cut, None),), 0, 1),
        BoxRule((Interval(0, None, cut),), 0, 1),
        BoxRule((Interval(0, cut, 2 * abs(cut)),), 0, 1),
        RuleList((Clause(0, cut, False, 1), Clause(0, -7.0, True, 1)), 0),
        DecisionTree(Split(0, cut, Leaf(0), Leaf(1))),
    ):
        assert_says_what_it_does(policy, contexts)


def test_rules_read_aloud(assert_golden):
    """Names of features and actions, = 0 and = 1 for features of 0 and 1, what always holds left out."""
    assert_golden("\n\n".join(str(rule) for rule in RULES) + "\n", "rules.txt")
