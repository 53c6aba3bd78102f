"""Compiled: the search for trees of depth 2 by root cuts, where a cut is evaluated by one pass for each feature below.

A *stump* is a tree of one test; its cost is counted from that of action 0. policies/trees/root_frontier.py has the
intervals, sides, levels and lines.
"""

from __future__ import annotations

import numpy as np

from milpcb.core.kernels import compiled, copy
from policies.semirings import NO_NAN, Array
from policies.trees.root_frontier import LINE, Frontier, Levels, Lines, Segments, give_back, take
from policies.trees.root_tables import RootTable


@compiled(NO_NAN)
def search_pairs(
    table: RootTable, levels: Levels, lines: Lines, segments: Segments, frontier: Frontier, most: int
) -> int:
    """Evaluate up to ``most`` root cuts; return DONE at the end, FULL where there is no more room, else 0."""
    for _ in range(most):
        end = take(table, levels, lines, segments, frontier)
        if end < 0:
            return end
        line = frontier.state[LINE]
        evaluate(
            table,
            levels,
            lines.features[line],
            frontier.cuts[end],
            lines.leaves[line],
            lines.below[line],
            frontier.sides[:, end],
            frontier.best[:, end],
        )
        give_back(table, levels, lines, segments, frontier, end, True)
    return 0


@compiled(NO_NAN)
def evaluate(
    table: RootTable,
    levels: Levels,
    feature: int,
    cut: int,
    leaves: Array,
    below: Array,
    sides: Array,
    best: Array,
) -> None:
    """Replace ``sides`` (2, H, d) by the least costs of stumps or leaves on both sides of a root, ``best`` (2, H) too.

    In: bounds from below on ``sides``. A feature that cannot have the best stump of either side, at any level, keeps
    its bounds. Where a side may have one leaf only, that is its best.
    """
    holds = (table.codes[feature] <= cut).view(np.uint8)
    base, totals = np.zeros(2), np.zeros((2, table.differences.shape[1]))
    for j in range(len(holds)):
        base[holds[j]] += table.first[j]
        for a in range(totals.shape[1]):
            totals[holds[j], a] += table.differences[j, a]
    for side in range(2):
        _fill_leaf(table, levels, feature, cut, side, base[side] + min(0.0, totals[side].min()), best[side])
    leaf, found = best.copy(), best.copy()
    slacks = np.zeros((2, len(holds) if len(levels.least) else 0), np.int32)
    least = np.empty_like(best)
    for f in np.argsort(sides[0, 0] + sides[1, 0]):
        if not below[f] or _behind(sides, found, f):
            continue
        counts, gaps = table.sizes[f], table.gaps[f]
        _fill_stumps(levels, counts, holds, table.orders[f], table.costs[f], gaps, totals, slacks, least)
        for side in range(2):
            for h in range(least.shape[1]):
                sides[side, h, f] = min(leaf[side, h], base[side] + least[side, h])
                found[side, h] = min(found[side, h], sides[side, h, f])
    for side in range(2):
        if leaves[side] > 1:
            copy(found[side], best[side])


@compiled(NO_NAN)
def _behind(sides: Array, found: Array, f: int) -> bool:
    """Return whether a feature cannot have a better stump than those ``found`` (2, H), by its bounds ``sides``."""
    for side in range(2):
        for h in range(found.shape[1]):
            if sides[side, h, f] < found[side, h]:
                return False
    return True


@compiled(NO_NAN)
def _fill_leaf(table: RootTable, levels: Levels, f: int, cut: int, side: int, cost: float, leaf: Array) -> None:
    """Fill ``leaf`` (H,) with the cost of one leaf on a side of a cut, infinity where it has too few rows."""
    leaf[:] = cost
    for c in range(len(levels.least)):
        here = table.rows[f, c, cut + 1]
        if side == 0:
            here = table.rows[f, c, table.last[f] + 1] - here
        for h in range(len(leaf)):
            if levels.levels[h] < levels.least[c] - here:
                leaf[h] = np.inf


@compiled(NO_NAN)
def _fill_stumps(
    levels: Levels,
    counts: Array,
    holds: Array,
    order: Array,
    costs: Array,
    gaps: Array,
    totals: Array,
    slacks: Array,
    least: Array,
) -> None:
    """Fill ``least`` (2, slacks) with the costs of the best stumps of feature f where a root fails, and holds."""
    sums = np.zeros(totals.shape)
    now_out, now_in = min(0.0, totals[0].min()), min(0.0, totals[1].min())
    least_out = least_in = np.inf
    least[:] = np.inf
    start, stop = _fill_slacks(levels.least, counts, holds, order, slacks)
    for t in range(len(order)):
        side = holds[np.uint32(order[t])]  # numba asks of a signed number whether it is negative
        below = above = 0.0
        for a in range(len(costs)):
            total = sums[side, a] + costs[a, t]
            sums[side, a] = total
            below, above = min(below, total), min(above, totals[side, a] - total)
        # Both are chosen, as a branch would be guessed wrong at every other context.
        now_in = below + above if side else now_in
        now_out = now_out if side else below + above
        if not gaps[t]:
            continue
        if start <= t < stop:
            least_in, least_out = min(least_in, now_in), min(least_out, now_out)
        else:
            place_in, place_out = levels.places[slacks[1, t]], levels.places[slacks[0, t]]
            least[1, place_in], least[0, place_out] = min(least[1, place_in], now_in), min(least[0, place_out], now_out)
    least[0, 0], least[1, 0] = min(least[0, 0], least_out), min(least[1, 0], least_in)
    for h in range(1, least.shape[1]):
        least[0, h], least[1, h] = min(least[0, h], least[0, h - 1]), min(least[1, h], least[1, h - 1])
    slacks[:, :start], slacks[:, stop:] = 0, 0


@compiled(NO_NAN)
def _fill_slacks(asked: Array, counts: Array, holds: Array, order: Array, slacks: Array) -> tuple[int, int]:
    """Fill ``slacks`` (2, g) of the stumps that cut after each context, on both sides of a root; all are 0 before.

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
                slacks[side, t] = max(slacks[side, t], int(asked[c] - rows[side]))
            start = max(start, t + 1)
        rows[:] = 0.0
        for t in range(len(order) - 1, -1, -1):
            if min(rows[0], rows[1]) >= asked[c]:
                break
            for side in range(2):
                slacks[side, t] = max(slacks[side, t], int(asked[c] - rows[side]))
            stop = min(stop, t)
            rows[holds[order[t]]] += counts[c, t]
    return start, max(start, stop)


@compiled(NO_NAN)
def fill_segments(table: RootTable, lines: Lines, segments: Segments) -> None:
    """Fill in the bounds of the segments of the features of all lines, those that have any.

    S is the least cost of stumps on the contexts of each segment alone. A stump may cut between equal values here, so
    these are bounds from below. T of a segment is from those of its halves.
    """
    n_actions = table.differences.shape[1]
    known = np.zeros(len(table.codes), np.bool_)
    for f in lines.features:
        lowest, height = segments.lowest[f], segments.heights[f]
        if known[f] or lowest > height:
            continue
        known[f] = True
        starts = segments.starts[f]
        first = starts[0]
        n_segments = starts[height - lowest + 1] - first
        base, totals = np.zeros(n_segments), np.zeros((n_segments, n_actions))
        for j in range(len(table.first)):
            for h in range(height - lowest + 1):
                segment = starts[h] - first + (table.codes[f, j] >> (lowest + h))
                base[segment] += table.first[j]
                for a in range(n_actions):
                    totals[segment, a] += table.differences[j, a]
        stumps = segments.stumps[first : first + n_segments]
        _segment_stumps(table, f, lowest, starts[: height - lowest + 1] - first, totals, stumps)
        stumps += base
        _fill_trees(lowest, starts[: height - lowest + 2] - first, stumps, segments.trees[first : first + n_segments])


@compiled(NO_NAN)
def _segment_stumps(table: RootTable, root: int, lowest: int, starts: Array, totals: Array, least: Array) -> None:
    """Fill ``least`` (segments,) with the least costs of stumps, counted from action 0."""
    least[:] = np.inf
    below = np.empty_like(totals)
    for f in range(len(table.orders)):
        below[:] = 0.0
        for t in range(len(table.first)):
            code = np.uint32(table.codes[root, np.uint32(table.orders[f, t])] >> lowest)
            for h in range(len(starts)):
                segment = np.uint64(starts[h] + np.int64(code))  # numba asks of a signed one whether it is negative
                code >>= np.uint32(1)
                cheapest = rest = 0.0
                for a in range(totals.shape[1]):
                    total = below[segment, a] + table.costs[f, a, t]
                    below[segment, a] = total
                    cheapest, rest = min(cheapest, total), min(rest, totals[segment, a] - total)
                least[segment] = min(least[segment], cheapest + rest)


@compiled(NO_NAN)
def _fill_trees(lowest: int, starts: Array, stumps: Array, trees: Array) -> None:
    """Fill in T from S: a segment's root cut is in one of its halves, and the other half has a stump alone."""
    for n in range(starts[1]):
        trees[n] = 0.0 if lowest else stumps[n]
    for h in range(1, len(starts) - 1):
        for n in range(starts[h + 1] - starts[h]):
            first, second = starts[h - 1] + 2 * n, starts[h - 1] + 2 * n + 1
            if second < starts[h]:
                trees[starts[h] + n] = min(trees[first] + stumps[second], stumps[first] + trees[second])
            else:
                trees[starts[h] + n] = min(trees[first], stumps[first])
