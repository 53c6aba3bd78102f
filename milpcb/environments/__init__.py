"""Environments: one cost and context process a file."""
