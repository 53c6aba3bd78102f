"""Interpretable policy classes, one a file: set notation, program, decode, enumeration."""

from policies.finite import FiniteClass
from policies.linear import LinearRules
from policies.thresholds import ThresholdRules
from policies.trees import DecisionTrees

__all__ = ["DecisionTrees", "FiniteClass", "LinearRules", "ThresholdRules"]
