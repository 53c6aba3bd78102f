"""Compiled lists of the labelings of a diagram: paths from its root whose total cost is at most a bound."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from milpcb.core.kernels import compiled

Array = npt.NDArray[Any]


class SideRoom(NamedTuple):
    """Side constraints on labelings: R sums of the weights of labels (R, K, P), and their ``bounds`` (R, 2).

    ``lowest`` and ``highest`` (R, P + 1) are what patterns from each on weigh at the least and at the most; ``sums``
    (R, P + 1) what a labeling in the making weighs before each pattern.
    """

    weights: Array
    bounds: Array
    lowest: Array
    highest: Array
    sums: Array


@compiled()
def list_paths(
    child: Array,
    first: Array,
    cost: Array,
    room: SideRoom,
    bound: float,
    low: Array,
    totals: Array,
    labels: Array,
    found: int,
) -> int:
    """List the labelings of total cost at most ``bound`` after those ``found``; return how many there are in all.

    ``child`` (states, K) and ``first`` (P + 1,) are those of a diagram, ``cost`` (K, P) that of each label. Only
    labelings count that keep the constraints of ``room``, of which weights and bounds are given. They go to ``totals``
    (n,) and ``labels`` (n, P); where these are full it ends, and returns n + 1. ``low`` (states + 2,) is room for what
    the labelings below each state cost at least: no way is gone that no labeling within the bound ends.
    """
    K, P = cost.shape
    weigh_ahead(room)
    low[first[P]], low[first[P] + 1] = 0.0, np.inf
    for p in range(P - 1, -1, -1):
        for s in range(first[p], first[p + 1]):
            low[s] = np.inf
            for a in range(K):
                low[s] = min(low[s], cost[a, p] + low[child[s, a]])
    total = np.zeros(P + 1)
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
        if total[p + 1] + low[onward] > bound or not may_keep(room, p, a):
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
def weigh_ahead(room: SideRoom) -> None:
    """Fill ``lowest`` and ``highest`` from the weights."""
    R, K, P = room.weights.shape
    for r in range(R):
        for p in range(P - 1, -1, -1):
            low = high = room.weights[r, 0, p]
            for a in range(1, K):
                low, high = min(low, room.weights[r, a, p]), max(high, room.weights[r, a, p])
            room.lowest[r, p], room.highest[r, p] = room.lowest[r, p + 1] + low, room.highest[r, p + 1] + high


@compiled()
def may_keep(room: SideRoom, p: int, a: int) -> bool:
    """Return whether labelings that go on with a label at a pattern may keep the constraints; the sums move on."""
    for r in range(len(room.weights)):
        total = room.sums[r, p] + room.weights[r, a, p]
        room.sums[r, p + 1] = total
        if total + room.lowest[r, p + 1] > room.bounds[r, 1] or total + room.highest[r, p + 1] < room.bounds[r, 0]:
            return False
    return True
