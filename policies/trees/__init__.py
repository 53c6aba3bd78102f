"""Decision trees of small depth.

Read rule, geometry, limits, program, search, kernels, routes, feature_pairs, every_cut, folds, terms, policy_class.
"""

from policies.trees.policy_class import DecisionTrees
from policies.trees.rule import DecisionTree, Leaf, Split

__all__ = ["DecisionTree", "DecisionTrees", "Leaf", "Split"]
