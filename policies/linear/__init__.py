"""Linear rules with integer weights (scoring systems).

Read rule, each_rule, labelings, geometry, supports, program, template, search_tables, search_branching, policy_class.
"""

from policies.linear.each_rule import HighestScore
from policies.linear.policy_class import LinearRules
from policies.linear.rule import LinearRule

__all__ = ["HighestScore", "LinearRule", "LinearRules"]
