"""The options of trees under side constraints: the subtrees on either side of a root, and how many there may be."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Leaves = npt.NDArray[np.int32]  # half the memory of other numbers: there are many

MOST_OPTIONS = 10**7  # of all sides: 100 ms a question
MOST_PAIRS = 10**9  # a few seconds a question at worst


def too_many(p: int, n_actions: int, depth: int, *, pairs: bool = False) -> str:
    """Return why trees under one side constraint, or ``pairs`` under several, are too many to list, or nothing."""
    n = n_actions
    for _ in range(depth - 1):
        n = p * n**2
    if pairs and p * n**2 > MOST_PAIRS:
        return (
            f"several side constraints on trees of depth {depth} over {p} literals pair more than {MOST_PAIRS:,} "
            "subtrees a question; use oracle kind 'milp', less depth or fewer thresholds"
        )
    if 2 * p * n > MOST_OPTIONS:
        return (
            f"side constraints on trees of depth {depth} over {p} literals list more than {MOST_OPTIONS:,} subtrees; "
            "use oracle kind 'milp', less depth or fewer thresholds"
        )
    return ""


def subtrees(p: int, n_actions: int, depth: int) -> Leaves:
    """Return the leaves (2^depth, n) of all derivations of a depth: any literal at a node, any action at a leaf.

    A leaf has the number that it has in an array of shape (p, 2) * depth + (K,); those where the test of a node fails
    come before those where it holds.
    """
    if depth == 0:
        return np.arange(n_actions, dtype=np.int32)[None]
    below = subtrees(p, n_actions, depth - 1)
    size, n = (2 * p) ** (depth - 1) * n_actions, below.shape[1]
    pairs = np.concatenate([np.repeat(below, n, axis=1), np.tile(below, n) + size])
    return np.asarray((pairs[:, None, :] + 2 * size * np.arange(p, dtype=np.int32)[:, None]).reshape(len(pairs), -1))
