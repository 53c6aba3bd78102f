"""Classes given by their list: FiniteClass is a table of labels, ListedRules whatever a subclass lists.

Read policy_class.
"""

from policies.listed.policy_class import FiniteClass, ListedPolicy, ListedRules

__all__ = ["FiniteClass", "ListedPolicy", "ListedRules"]
