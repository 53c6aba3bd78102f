"""Foundations that no user imports: checks, files, limits on untrusted files, compiled functions.

Read text, decimals, checks, gate, files, extras, surroundings, kernels, long_search, marks, kept.
"""
