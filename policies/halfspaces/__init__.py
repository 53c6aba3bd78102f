"""Halfspaces: scores with real weights. Read rule, separator, policy_class."""

from policies.halfspaces.policy_class import Halfspaces
from policies.halfspaces.rule import HalfspaceRule

__all__ = ["HalfspaceRule", "Halfspaces"]
