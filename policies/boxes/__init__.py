"""Box rules: one action inside a box, another outside. Read rule, policy_class."""

from policies.boxes.policy_class import BoxRules
from policies.boxes.rule import BoxRule, Interval

__all__ = ["BoxRule", "BoxRules", "Interval"]
