"""Linear rules with integer weights (scoring systems).

Read rule, labelings, geometry, supports, program, template, search_tables, search_branching, policy_class.
"""

from policies.linear.policy_class import LinearRules
from policies.linear.rule import LinearRule

__all__ = ["LinearRule", "LinearRules"]
