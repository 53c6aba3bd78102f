"""One mechanism for classes whose derivations are paths. Read graph, kernels, walks, policy_class."""
