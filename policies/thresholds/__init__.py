"""Threshold rules: one feature cut into pieces. Read rule, policy_class."""

from policies.thresholds.policy_class import ThresholdRules
from policies.thresholds.rule import ThresholdRule

__all__ = ["ThresholdRule", "ThresholdRules"]
