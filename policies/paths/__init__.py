"""Classes whose derivations are the paths of a graph: one mechanism for all of their questions.

Read graph, kernels, walks, terms, lanes.
"""
