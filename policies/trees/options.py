"""The subtrees on either side of a root under side constraints, and how many there may be."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Leaves = npt.NDArray[np.int32]  # half the memory of other numbers: there are many


def n_listed(p: int, n_actions: int, depth: int) -> int:
    """Return how many leaves the options on both sides of all roots have together."""
    n = n_actions
    for _ in range(depth - 1):
        n = p * n**2
    return 2 * p * n << max(0, depth - 1) if depth else n_actions


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
