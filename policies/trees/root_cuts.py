"""Compiled kernels of the search over all cuts at the root, which policies/trees/every_cut.py explains.

Arrays: ``orders`` (d, g), the contexts in the order of each feature; ``costs`` (d, A, g), in that order, what the
actions 1 to A cost more than action 0; ``gaps`` (d, g), whether a cut may follow the context: not within equal values,
nor after the last. A *stump* is a tree of one test; its cost is counted from that of action 0.
"""

from __future__ import annotations

import numpy as np

from milpcb.kernels import compiled
from policies.trees.kernels import _NO_NAN, Array


@compiled(_NO_NAN)
def evaluate(
    features: Array,
    holds: Array,
    orders: Array,
    costs: Array,
    gaps: Array,
    base: Array,
    totals: Array,
    left: Array,
    right: Array,
) -> None:
    """Replace ``left`` and ``right`` (d,) by the least costs of stumps of each feature on both sides of a root cut.

    In: bounds from below on these costs; ``features`` (d,), the most promising first; ``holds`` (g,), the side of each
    context; ``base`` (2,), the cost of action 0 on the side where the cut fails and where it holds, and ``totals`` (2,
    A), what the others cost more. A feature that cannot have the best stump of either side keeps its bounds.
    """
    least_left, least_right = base[1] + min(0.0, totals[1].min()), base[0] + min(0.0, totals[0].min())
    for f in features:
        if left[f] >= least_left and right[f] >= least_right:
            continue
        fails, stump = _stumps(holds, orders[f], costs[f], gaps[f], totals)
        left[f], right[f] = base[1] + stump, base[0] + fails
        least_left, least_right = min(least_left, left[f]), min(least_right, right[f])


@compiled(_NO_NAN)
def _stumps(holds: Array, order: Array, costs: Array, gaps: Array, totals: Array) -> tuple[float, float]:
    """Return the least costs of the stumps of a feature where the root cut fails, and where it holds."""
    inside, outside = np.zeros(len(costs)), np.zeros(len(costs))
    least_inside = least_outside = np.inf
    for t in range(len(order)):
        side = holds[order[t]]
        below_in = above_in = below_out = above_out = 0.0
        for a in range(len(costs)):
            cost = costs[a, t]
            inside[a] += cost * side
            outside[a] += cost * (1 - side)
            below_in, above_in = min(below_in, inside[a]), min(above_in, totals[1, a] - inside[a])
            below_out, above_out = min(below_out, outside[a]), min(above_out, totals[0, a] - outside[a])
        if gaps[t]:
            least_inside = min(least_inside, below_in + above_in)
            least_outside = min(least_outside, below_out + above_out)
    return least_outside, least_inside


@compiled(_NO_NAN)
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
