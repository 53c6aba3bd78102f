"""Relaxations: the noise law of hallucinated futures, and the guarantee it gives; one a file."""
