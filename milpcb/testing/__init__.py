"""Conformance batteries, shipped: they run over the registry, so a new entry is tested without a new test."""
