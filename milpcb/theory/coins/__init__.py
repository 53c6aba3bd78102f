"""Games on which a learner's coins can be enumerated: exact means of regret, certificate and bound, and mutants to reject."""
