"""Linear rules with integer weights (scoring systems).

Read rule, geometry, parallelograms, program_bigm, labelings, monomials, supports, program_tables, search_tables,
search_branching, kernels, policy_class.
"""

from policies.linear.policy_class import LinearRules
from policies.linear.rule import LinearRule

__all__ = ["LinearRule", "LinearRules"]
