"""Threshold rules: one feature cut into pieces. Read policy_class."""

from policies.thresholds.policy_class import ThresholdRule, ThresholdRules

__all__ = ["ThresholdRule", "ThresholdRules"]
