"""Linear rules with integer weights (scoring systems).

Read rule, each_rule, labelings, each_tables, geometry, program_bigm, program_each, diagram,
table_kernels, supports, program_tables, template, fold, terms, near, search_branching,
kernels, opened, each_class, policy_class.
"""

from policies.linear.each_rule import HighestScore
from policies.linear.policy_class import LinearRules
from policies.linear.rule import LinearRule

__all__ = ["HighestScore", "LinearRule", "LinearRules"]
