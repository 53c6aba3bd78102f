"""Environments: where contexts and costs come from."""
