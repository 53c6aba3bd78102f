"""Rule lists: if, else if, ..., else. Read rule, geometry, program, search, policy_class, in this order."""

from policies.rule_lists.policy_class import RuleLists
from policies.rule_lists.rule import Clause, RuleList

__all__ = ["Clause", "RuleList", "RuleLists"]
