"""A rule or two of every form, as they are printed in tests/golden/rules.txt."""

from typing import Any

from policies.boxes import BoxRule, Interval
from policies.halfspaces import HalfspaceRule
from policies.linear import LinearRule
from policies.monotone.rule import Axis, MonotoneRule
from policies.names import Names
from policies.rule_lists import Clause, RuleList
from policies.thresholds import ThresholdRule
from policies.trees import DecisionTree, Leaf, Split

NAMES = Names(("age", "insured"), ("wait", "treat", "refer"))
SCORED = Names(("age_bin", "smoker", "dose"), ("wait", "treat", "refer"))
ORDERED = Names(("age", "insured", "weight"), ("wait", "treat", "refer"))
AXES = (Axis(0, 1), Axis(1, 1, (0.5,), binary=True), Axis(2, -1, (60.0, 80.0)))
LEVELS = ((1, ((40.0, 0.0, -1.0), (60.0, 0.0, -2.0))), (2, ((50.0, 1.0, 0.0),)))
TREE = DecisionTree(Split(0, 40.0, Leaf(2), Split(1, 0.5, Leaf(0), Leaf(1), binary=True)), NAMES)
LIST = RuleList((Clause(0, 64.5, False, 2), Clause(1, 0.5, False, 1, True), Clause(0, 30.0, True, 2)), 0, NAMES)
MONOTONE = MonotoneRule(0, LEVELS, AXES, ORDERED)
THRESHOLD = ThresholdRule(1, (0.5,), (2, 0), NAMES, binary=True)
BOX = BoxRule((Interval(0, None, 64.5), Interval(1, 0.5, None, binary=True)), 1, 0, NAMES)
SCORE = LinearRule((1, 0, 3), (-1, 4), (None, None, (0.2, 0.7)), SCORED)
HALFSPACE = HalfspaceRule((0.1, -2.5e-9), (1_700_000_000.25,), NAMES)

RULES: list[Any] = [
    TREE,
    DecisionTree(Leaf(1)),
    ThresholdRule(0, (30.0, 64.5), (0, 1, 2), NAMES),
    THRESHOLD,
    ThresholdRule(1, (0.5,), (2, 2), NAMES),
    BoxRule((Interval(0, 30.0, 64.5),), 1, 0, NAMES),
    BOX,
    BoxRule((Interval(0, 30.0, None), Interval(1, None, 0.5, binary=True)), 1, 0, NAMES),
    LIST,
    RuleList((Clause(1, 0.5, True, 1, True),), 0),
    RuleList((), 1, NAMES),
    LinearRule((2, -1, 0), (3,), (None, None, None), SCORED),
    SCORE,
    LinearRule((1,), (2, 2), ((0.5,),)),
    LinearRule((0, 0, 0), (0, 1), (None,) * 3, SCORED),
    LinearRule((0, 0), (0,), ((), (1.5,))),
    MONOTONE,
    MonotoneRule(1, (), AXES, ORDERED),
    MonotoneRule(1, (), AXES),
    HALFSPACE,
    HalfspaceRule((0.0, 0.0), (0.0,)),
]
