"""Halfspaces: scores with real weights. Read separator, policy_class."""

from policies.halfspaces.policy_class import Halfspaces
from policies.halfspaces.separator import HalfspaceRule

__all__ = ["HalfspaceRule", "Halfspaces"]
