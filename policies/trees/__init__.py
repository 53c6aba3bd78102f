"""Decision trees of small depth.

Read rule, geometry, limits, program; search, block, state_arrays, passes, pairs, kernels, limited, options; set_ranks,
last_tests, states, tracing, state_search; adding; routes, feature_search, feature_pairs, feature_triples; root_tables,
root_frontier, root_cuts, root_search, every_cut; folds, near_trees, terms; constrained, side_states, side_arrays,
side_kernels; policy_class.
"""

from policies.trees.policy_class import DecisionTrees
from policies.trees.rule import DecisionTree, Leaf, Split

__all__ = ["DecisionTree", "DecisionTrees", "Leaf", "Split"]
