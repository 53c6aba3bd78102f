"""Linear rules with integer weights (scoring systems).

Read rule, geometry, parallelograms, program_bigm, diagram, labelings, nested_sums, supports, program_tables, fold,
table_kernels, walks, search_tables, terms, near, search_branching, kernels, policy_class.
"""

from policies.linear.policy_class import LinearRules
from policies.linear.rule import LinearRule

__all__ = ["LinearRule", "LinearRules"]
