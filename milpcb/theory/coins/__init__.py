"""Games where a learner's coins can be enumerated: exact means of regret, certificate and bound; mutants to reject."""
