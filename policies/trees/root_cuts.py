"""Compiled kernels of the search over all cuts at the root, which policies/trees/every_cut.py explains.

Arrays: ``orders`` (d, g), the contexts in the order of each feature; ``costs`` (d, A, g), in that order, what the
actions 1 to A cost more than action 0; ``gaps`` (d, g), whether a cut may follow the context: not within equal values,
nor after the last. A *stump* is a tree of one test; its cost is counted from that of action 0.
"""

from __future__ import annotations

import numpy as np

from milpcb.kernels import compiled
from policies.trees.semirings import NO_NAN, Array


@compiled(NO_NAN)
def evaluate(
    features: Array,
    first_only: bool,
    place: int,
    sizes: tuple[Array, Array, Array] | None,
    holds: Array,
    orders: Array,
    costs: Array,
    gaps: Array,
    base: Array,
    totals: Array,
    left_leaf: Array,
    right_leaf: Array,
    left: Array,
    right: Array,
) -> None:
    """Replace ``left`` and ``right`` (shortages, d) by the least costs of stumps, or leaves, on both sides of a root.

    In: bounds from below on these costs, and the costs (shortages,) of one leaf; ``features``, the most promising
    first; ``holds`` (g,), the side of each context; ``base`` (2,), the cost of action 0 on the side where the cut fails
    and where it holds, and ``totals`` (2, A), what the others cost more; ``sizes``, None where any leaf is large
    enough, else ``least``, ``places`` and ``counts`` of root_limits.py.

    A feature that cannot have the best stump of either side, for a shortage up to that of ``place``, keeps its bounds.
    Where ``first_only``, other stumps are compared with those of the first feature only.
    """
    least_left, least_right = left_leaf.copy(), right_leaf.copy()
    least = np.empty((2, len(left_leaf)))
    shortages = np.zeros((2, 0 if sizes is None else len(holds)), dtype=np.int32)
    for n, f in enumerate(features):
        behind = True
        for h in range(place + 1):
            behind = behind and left[h, f] >= least_left[h] and right[h, f] >= least_right[h]
        if behind:
            continue
        _fill_stumps(sizes, f, holds, orders[f], costs[f], gaps[f], totals, shortages, least)
        for h in range(len(left_leaf)):
            left[h, f] = min(left_leaf[h], base[1] + least[1, h])
            right[h, f] = min(right_leaf[h], base[0] + least[0, h])
            if n == 0 or not first_only:
                least_left[h], least_right[h] = min(least_left[h], left[h, f]), min(least_right[h], right[h, f])


@compiled(NO_NAN)
def _fill_stumps(
    sizes: tuple[Array, Array, Array] | None,
    f: int,
    holds: Array,
    order: Array,
    costs: Array,
    gaps: Array,
    totals: Array,
    shortages: Array,
    least: Array,
) -> None:
    """Fill ``least`` (2, shortages) with the costs of the best stumps of feature f where a root fails, and holds."""
    inside, outside = np.zeros(len(costs)), np.zeros(len(costs))
    least_inside = least_outside = np.inf
    least[:] = np.inf
    start, stop = 0, len(order)
    if sizes is not None:
        start, stop = _fill_shortages(sizes[0], sizes[2][f], holds, order, shortages)
    for t in range(len(order)):
        side = 1.0 if holds[order[t]] else 0.0
        below_in = above_in = below_out = above_out = 0.0
        for a in range(len(costs)):
            cost = costs[a, t]
            inside[a] += cost * side
            outside[a] += cost * (1.0 - side)
            below_in, above_in = min(below_in, inside[a]), min(above_in, totals[1, a] - inside[a])
            below_out, above_out = min(below_out, outside[a]), min(above_out, totals[0, a] - outside[a])
        if not gaps[t]:
            continue
        if sizes is None or start <= t < stop:
            least_inside = min(least_inside, below_in + above_in)
            least_outside = min(least_outside, below_out + above_out)
        else:
            place_in, place_out = sizes[1][shortages[1, t]], sizes[1][shortages[0, t]]
            least[1, place_in] = min(least[1, place_in], below_in + above_in)
            least[0, place_out] = min(least[0, place_out], below_out + above_out)
    least[0, 0], least[1, 0] = min(least[0, 0], least_outside), min(least[1, 0], least_inside)
    for h in range(1, least.shape[1]):
        least[0, h], least[1, h] = min(least[0, h], least[0, h - 1]), min(least[1, h], least[1, h - 1])
    shortages[:, :start], shortages[:, stop:] = 0, 0


@compiled(NO_NAN)
def _fill_shortages(asked: Array, counts: Array, holds: Array, order: Array, shortages: Array) -> tuple[int, int]:
    """Fill ``shortages`` (2, g) of the stumps that cut after each context, on both sides of a root; all are 0 before.

    Returns from and up to which context both leaves on both sides have all that is ``asked`` for (C,), so that nothing
    is filled there.
    """
    start, stop = 0, len(order)
    for c in range(len(asked)):
        rows = np.zeros(2)
        for t in range(len(order)):
            rows[holds[order[t]]] += counts[c, t]
            if min(rows[0], rows[1]) >= asked[c]:
                break
            for side in range(2):
                shortages[side, t] = max(shortages[side, t], int(asked[c] - rows[side]))
            start = max(start, t + 1)
        rows[:] = 0.0
        for t in range(len(order) - 1, -1, -1):
            if min(rows[0], rows[1]) >= asked[c]:
                break
            for side in range(2):
                shortages[side, t] = max(shortages[side, t], int(asked[c] - rows[side]))
            stop = min(stop, t)
            rows[holds[order[t]]] += counts[c, t]
    return start, max(start, stop)


@compiled(NO_NAN)
def segment_stumps(
    codes: Array, orders: Array, costs: Array, lowest: int, starts: Array, totals: Array, least: Array
) -> None:
    """Fill ``least`` (segments,) with the least costs of stumps on the contexts of each segment alone.

    ``codes`` (g,) are those of the root's feature. The segments of height h are runs of 2^h codes; they are numbered
    from ``starts[h - lowest]`` on, and ``totals`` (segments, A) is what the actions cost more there. A stump may cut
    between equal values here, so the costs are bounds from below.
    """
    least[:] = np.inf
    below = np.empty_like(totals)
    for f in range(len(orders)):
        below[:] = 0.0
        for t in range(len(codes)):
            code = codes[orders[f, t]] >> lowest
            for h in range(len(starts)):
                segment = starts[h] + (code >> h)
                cheapest = rest = 0.0
                for a in range(totals.shape[1]):
                    below[segment, a] += costs[f, a, t]
                    cheapest = min(cheapest, below[segment, a])
                    rest = min(rest, totals[segment, a] - below[segment, a])
                least[segment] = min(least[segment], cheapest + rest)
