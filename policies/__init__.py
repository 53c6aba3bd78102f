"""Interpretable policy classes, one a file: set notation, program, decode, enumeration."""

from policies.trees import DecisionTrees

__all__ = ["DecisionTrees"]
