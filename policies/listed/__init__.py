"""Classes given by their list: FiniteClass is a table of labels, ListedRules whatever a subclass lists.

Read rule, program, policy_class.
"""

from policies.listed.policy_class import FiniteClass, ListedRules
from policies.listed.rule import ListedPolicy

__all__ = ["FiniteClass", "ListedPolicy", "ListedRules"]
