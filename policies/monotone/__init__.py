"""Monotone rules: more of a feature never lowers the action. Read rule, search, policy_class."""

from policies.monotone.policy_class import MonotoneRules
from policies.monotone.rule import MonotoneRule

__all__ = ["MonotoneRule", "MonotoneRules"]
