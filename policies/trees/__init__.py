"""Decision trees of small depth. Read rule, geometry, limits, program, search, kernels, policy_class, in this order."""

from policies.trees.policy_class import DecisionTrees
from policies.trees.rule import DecisionTree, Leaf, Split

__all__ = ["DecisionTree", "DecisionTrees", "Leaf", "Split"]
