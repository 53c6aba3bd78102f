"""Interpretable policy classes, one a folder: rule, geometry, program, search, class."""

from policies.boxes import BoxRules
from policies.documents import from_json
from policies.halfspaces import Halfspaces
from policies.linear import LinearRules
from policies.listed import FiniteClass, ListedRules
from policies.monotone import MonotoneRules
from policies.rule_lists import RuleLists
from policies.thresholds import ThresholdRules
from policies.trees import DecisionTrees

__all__ = [
    "BoxRules",
    "DecisionTrees",
    "FiniteClass",
    "Halfspaces",
    "LinearRules",
    "ListedRules",
    "MonotoneRules",
    "RuleLists",
    "ThresholdRules",
    "from_json",
]
