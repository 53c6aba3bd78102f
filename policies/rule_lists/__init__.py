"""Rule lists: if, else if, ..., else. Read rule, policy_class."""

from policies.rule_lists.policy_class import RuleLists
from policies.rule_lists.rule import Clause, RuleList

__all__ = ["Clause", "RuleList", "RuleLists"]
