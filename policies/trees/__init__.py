"""Decision trees of small depth.

Read rule, limits, program; sets, totals, states, recursion, search; routes; root_cuts, every_cut; usage, constrained,
several, terms; policy_class.
"""

from policies.trees.policy_class import DecisionTrees
from policies.trees.rule import DecisionTree, Leaf, Split

__all__ = ["DecisionTree", "DecisionTrees", "Leaf", "Split"]
