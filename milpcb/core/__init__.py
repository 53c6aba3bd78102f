"""Foundations that no user imports: checks, files, limits on untrusted files, compiled functions.

Read text, decimals, checks, gate, files, surroundings, kernels, long_search, zobrist, kept.
"""
