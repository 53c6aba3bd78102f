"""Linear rules with integer weights (scoring systems).

Read rule, geometry, program_bigm (parallelograms), tables, monomials, supports, program_tables, search_tables,
search_branching (its kernels), policy_class, in this order.
"""

from policies.linear.policy_class import LinearRules
from policies.linear.rule import LinearRule

__all__ = ["LinearRule", "LinearRules"]
