"""Relaxations: the law of the noise on imagined future rounds, and the guarantee it gives."""
