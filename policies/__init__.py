"""Interpretable policy classes, one a file: set notation, program, decode, enumeration."""

from policies.boxes import BoxRules
from policies.finite import FiniteClass
from policies.linear import LinearRules
from policies.listed import ListedRules
from policies.monotone import MonotoneRules
from policies.rule_lists import RuleLists
from policies.thresholds import ThresholdRules
from policies.trees import DecisionTrees

__all__ = [
    "BoxRules",
    "DecisionTrees",
    "FiniteClass",
    "LinearRules",
    "ListedRules",
    "MonotoneRules",
    "RuleLists",
    "ThresholdRules",
]
