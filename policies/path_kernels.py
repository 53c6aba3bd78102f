"""Compiled lists of the labelings of a diagram: paths from its root whose total cost is at most a bound."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from milpcb.core.kernels import compiled

Array = npt.NDArray[Any]


@compiled()
def list_paths(
    child: Array,
    first: Array,
    cost: Array,
    weights: Array,
    limits: Array,
    bound: float,
    low: Array,
    totals: Array,
    labels: Array,
    found: int,
) -> int:
    """List the labelings of total cost at most ``bound`` after those ``found``; return how many there are in all.

    ``child`` (states, K) and ``first`` (P + 1,) are those of a diagram, ``cost`` (K, P) that of each label. Only
    labelings count whose sums of ``weights`` (R, K, P) are within ``limits`` (R, 2). They go to ``totals`` (n,) and
    ``labels`` (n, P); where these are full it ends, and returns n + 1. ``low`` (states + 2,) is room for what the
    labelings below each state cost at least: no way is gone that no labeling within the bound ends.
    """
    K, P = cost.shape
    R = len(weights)
    ahead = np.zeros((R, P + 1, 2))
    _look_ahead(child, first, cost, weights, low, ahead)
    total, sums = np.zeros(P + 1), np.zeros((R, P + 1))
    state, tried = np.zeros(P + 1, np.int64), np.zeros(P + 1, np.int64)
    p = 0
    while p >= 0:
        if tried[p] == K:
            p -= 1
            continue
        a = tried[p]
        tried[p] += 1
        onward = child[state[p], a]
        total[p + 1] = total[p] + cost[a, p]
        if total[p + 1] + low[onward] > bound or not _goes(p, a, weights, limits, ahead, sums):
            continue
        if p + 1 < P:
            p += 1
            state[p], tried[p] = onward, 0
            continue
        if found == len(totals):
            return found + 1
        totals[found] = total[P]
        for q in range(P):
            labels[found, q] = tried[q] - 1
        found += 1
    return found


@compiled()
def _look_ahead(child: Array, first: Array, cost: Array, weights: Array, low: Array, ahead: Array) -> None:
    """Fill what the labelings below each state cost at least, and the least and the most that later patterns weigh."""
    K, P = cost.shape
    low[first[P]], low[first[P] + 1] = 0.0, np.inf
    for p in range(P - 1, -1, -1):
        for s in range(first[p], first[p + 1]):
            low[s] = np.inf
            for a in range(K):
                low[s] = min(low[s], cost[a, p] + low[child[s, a]])
        for r in range(len(weights)):
            ahead[r, p, 0] = ahead[r, p + 1, 0] + weights[r, :, p].min()
            ahead[r, p, 1] = ahead[r, p + 1, 1] + weights[r, :, p].max()


@compiled()
def _goes(p: int, a: int, weights: Array, limits: Array, ahead: Array, sums: Array) -> bool:
    """Return whether labelings that go on with a label at a pattern may keep the limits; the sums move on."""
    for r in range(len(weights)):
        total = sums[r, p] + weights[r, a, p]
        sums[r, p + 1] = total
        if total + ahead[r, p + 1, 0] > limits[r, 1] or total + ahead[r, p + 1, 1] < limits[r, 0]:
            return False
    return True
