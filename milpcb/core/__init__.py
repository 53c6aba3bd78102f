"""What every part uses and no user imports: checks, files, what untrusted files may cause, compiled functions.

Read text, contrast, decimals, checks, gate, files, extras, surroundings, kernels, long_search, marks.
"""
