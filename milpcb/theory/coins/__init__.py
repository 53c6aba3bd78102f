"""Learners themselves on small games: exact means over their coins, runs of BISTRO+ as verified, mutants to reject."""
