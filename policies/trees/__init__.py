"""Decision trees of small depth.

Read rule, geometry, limits, program, search, kernels, limited, routes, feature_pairs, feature_triples, small_leaves,
every_cut, root_bounds, root_limits, folds, terms, policy_class.
"""

from policies.trees.policy_class import DecisionTrees
from policies.trees.rule import DecisionTree, Leaf, Split

__all__ = ["DecisionTree", "DecisionTrees", "Leaf", "Split"]
