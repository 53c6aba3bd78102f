"""One mechanism for classes whose derivations are paths. Read policy_class, kernels, walks."""
