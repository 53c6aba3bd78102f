"""Monotone rules: more of a feature never lowers the action. Read policy_class, search."""

from policies.monotone.policy_class import MonotoneRule, MonotoneRules

__all__ = ["MonotoneRule", "MonotoneRules"]
