"""Compiled: root cuts that are not ruled out yet, as intervals between evaluated ones; policies/trees/every_cut.py.

The search takes the interval of least bound in hand, evaluates the cut in its middle, and puts both halves back, until
no bound is below the least cost so far. At depth 2 a cut is evaluated here, by one pass over the contexts for each
feature below; at more depth each side of it is another search. A *stump* is a tree of one test. Side 1 is where a root
cut holds, side 0 where it fails. *Levels* are numbers of rows that leaves may be short of: costs of subtrees are those
of trees within the limits at level 0, and those of trees with leaves of any size at the last.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from milpcb.core.kernels import compiled
from policies.semirings import NO_NAN, Array
from policies.trees.root_tables import RootTable

# Entries of Frontier.state: how many intervals and ends there are, line and cut of the best root, and of the interval
# in hand the line and both ends.
INTERVALS, ENDS, BEST_LINE, BEST_CUT, LINE, LOW, HIGH = range(7)
LEAST, CUT_OFF, IN_HAND = range(3)  # entries of Frontier.costs: the least so far, where to stop, the bound in hand
DONE, FULL = -1, -2


class Lines(NamedTuple):
    """Ways to go through the cuts of a feature: root ``features`` (n,), most ``leaves`` (n, 2) on its sides.

    ``below`` (n, d) are the features that may be tested there, and ``least`` (C,) the counts that a leaf must have.
    ``levels`` (H,) are slacks of these, the last infinite; ``places[n]`` is the first that allows a slack of n rows.
    """

    features: Array
    leaves: Array
    below: Array
    least: Array
    levels: Array
    places: Array


class Frontier(NamedTuple):
    """Intervals that are not ruled out, and their ends: 0 is before the first cut, and 1 after the last.

    keys (N,), items (N, 3) : bound, line, low and high end; cuts (E,) of the ends
    best (2, levels, E) : costs of subtrees on both sides of an end; parts (2, levels, E, d) : those with the feature at
        their root; bounds from below before they are evaluated
    """

    state: Array
    costs: Array
    keys: Array
    items: Array
    cuts: Array
    best: Array
    parts: Array


@compiled(NO_NAN)
def cut_of(table: RootTable, frontier: Frontier, f: int, end: int) -> int:
    """Return the cut of an end: -1 before the first, the largest code after the last."""
    if end < 2:
        return -1 if end == 0 else int(table.last[f])
    return int(frontier.cuts[end])


@compiled(NO_NAN)
def take(table: RootTable, lines: Lines, frontier: Frontier) -> int:
    """Take the interval of least bound in hand; return the end in its middle, with bounds; DONE, or FULL."""
    state, costs, keys, items, cuts, best, parts = frontier
    n = state[INTERVALS]
    chosen = np.argmin(keys[:n]) if n else 0
    if n == 0 or keys[chosen] >= min(costs[LEAST], costs[CUT_OFF]):
        return DONE
    if state[ENDS] == len(cuts):
        return FULL
    line, low, high, middle = items[chosen, 0], items[chosen, 1], items[chosen, 2], state[ENDS]
    costs[IN_HAND], keys[chosen] = keys[chosen], keys[n - 1]
    for i in range(3):
        items[chosen, i] = items[n - 1, i]
    state[INTERVALS], state[ENDS], state[LINE], state[LOW], state[HIGH] = n - 1, middle + 1, line, low, high
    f = lines.features[line]
    start, stop = cut_of(table, frontier, f, low), cut_of(table, frontier, f, high)
    cuts[middle] = (start + stop) // 2
    for side in range(2):
        (fewer, near), (more, far) = ((low, start), (high, stop)) if side else ((high, stop), (low, start))
        lost, moved = spread(table, f, cuts[middle], far), most_rows(table, f, near, cuts[middle])
        for h in range(len(lines.levels)):
            short = level_of(lines, lines.levels[h] + moved)
            best[side, h, middle] = max(best[side, short, fewer], best[side, h, more] - lost)
            for part in range(parts.shape[3]):
                bound = max(parts[side, short, fewer, part], parts[side, h, more, part] - lost)
                parts[side, h, middle, part] = bound
    return int(middle)


@compiled(NO_NAN)
def spread(table: RootTable, f: int, one: int, other: int) -> float:
    """Return what the contexts between two cuts cost at most."""
    return abs(float(table.spreads[f, other + 1] - table.spreads[f, one + 1]))


@compiled(NO_NAN)
def most_rows(table: RootTable, f: int, one: int, other: int) -> float:
    """Return the most counts of a kind between two cuts."""
    most = 0.0
    for c in range(table.rows.shape[1]):
        most = max(most, abs(table.rows[f, c, other + 1] - table.rows[f, c, one + 1]))
    return most


@compiled(NO_NAN)
def level_of(lines: Lines, slack: float) -> int:
    """Return the first level that allows a slack."""
    return int(lines.places[int(slack)]) if slack < len(lines.places) else len(lines.levels) - 1


@compiled(NO_NAN)
def give_back(table: RootTable, lines: Lines, frontier: Frontier, end: int, exact: bool) -> None:
    """Put both halves of the interval in hand back, now that the end in its middle is evaluated."""
    state, costs, keys, items, cuts, best, _ = frontier
    f = lines.features[state[LINE]]
    cost = best[0, 0, end] + best[1, 0, end]
    if exact and cost < costs[LEAST]:
        costs[LEAST], state[BEST_LINE], state[BEST_CUT] = cost, state[LINE], cuts[end]
    for half in range(2):
        low, high = (state[LOW], end) if half == 0 else (end, state[HIGH])
        start, stop = cut_of(table, frontier, f, low), cut_of(table, frontier, f, high)
        short = level_of(lines, most_rows(table, f, start, stop))
        apart = best[1, short, low] + best[0, short, high]
        together = best[1, 0, high] + best[0, 0, low] - spread(table, f, start, stop)
        bound = max(costs[IN_HAND], apart, together)
        if stop > start + 1 and bound < costs[LEAST]:
            n = state[INTERVALS]
            keys[n], items[n, 0], items[n, 1], items[n, 2] = bound, state[LINE], low, high
            state[INTERVALS] = n + 1
    costs[IN_HAND] = np.inf


@compiled(NO_NAN)
def search_pairs(table: RootTable, lines: Lines, frontier: Frontier, most: int) -> int:
    """Evaluate up to ``most`` root cuts of trees of depth 2; return DONE, FULL, or 0."""
    for _ in range(most):
        end = take(table, lines, frontier)
        if end < 0:
            return end
        line = frontier.state[LINE]
        evaluate(table, lines, line, frontier.cuts[end], frontier.best[:, :, end], frontier.parts[:, :, end])
        give_back(table, lines, frontier, end, True)
    return 0


@compiled(NO_NAN)
def evaluate(table: RootTable, lines: Lines, line: int, cut: int, best: Array, parts: Array) -> None:
    """Fill best (2, levels), and parts (2, levels, d), bounds until now, with the least costs of stumps and leaves.

    A feature that cannot have a better stump keeps its bounds. Where a side may have one leaf only, that is its best.
    """
    holds = (table.codes[lines.features[line]] <= cut).view(np.uint8)
    base, totals, counts = np.zeros(2), np.zeros((2, table.differences.shape[1])), np.zeros((2, len(lines.least)))
    add_up(table, holds, base, totals, counts)
    n_levels = len(lines.levels)
    for side in range(2):
        for h in range(n_levels):
            enough = (counts[side] + lines.levels[h] >= lines.least).all()
            best[side, h] = base[side] + min(0.0, totals[side].min()) if enough else np.inf
    leaf, least = best.copy(), np.empty((2, n_levels))
    slacks = np.zeros((2, len(holds) if len(lines.least) else 0), np.int32)
    for f in np.argsort(parts[0, n_levels - 1] + parts[1, n_levels - 1]):
        if not lines.below[line, f] or not (parts[:, :, f] < best).any():
            continue
        stumps(table, f, holds, lines, totals, slacks, least)
        for side in range(2):
            for h in range(n_levels):
                parts[side, h, f] = min(leaf[side, h], base[side] + least[side, h])
                best[side, h] = min(best[side, h], parts[side, h, f])
    for side in range(2):
        if lines.leaves[line, side] == 1:
            best[side] = leaf[side]


@compiled(NO_NAN)
def add_up(table: RootTable, holds: Array, base: Array, totals: Array, counts: Array) -> None:
    """Add the contexts of both sides to base (2,), what action 0 costs, totals (2, A) and counts (2, C)."""
    for j in range(len(holds)):
        side = holds[j]
        base[side] += table.first[j]
        for a in range(totals.shape[1]):
            totals[side, a] += table.differences[j, a]
        for c in range(counts.shape[1]):
            counts[side, c] += table.counts[j, c]


@compiled(NO_NAN)
def stumps(table: RootTable, f: int, holds: Array, lines: Lines, totals: Array, slacks: Array, least: Array) -> None:
    """Fill ``least`` (2, levels) with the costs of the best stumps of a feature where a root fails, and holds.

    They are counted from action 0; totals (2, A) are those of both sides, and slacks (2, n) are 0 before and after.
    """
    order, costs, gaps = table.orders[f], table.costs[f], table.gaps[f]
    sums = np.zeros(totals.shape)
    now_out, now_in = min(0.0, totals[0].min()), min(0.0, totals[1].min())
    least_out = least_in = np.inf
    least[:] = np.inf
    start, stop = fill_slacks(lines.least, table.sizes[f], holds, order, slacks)
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
            place_in, place_out = lines.places[slacks[1, t]], lines.places[slacks[0, t]]
            least[1, place_in], least[0, place_out] = min(least[1, place_in], now_in), min(least[0, place_out], now_out)
    least[0, 0], least[1, 0] = min(least[0, 0], least_out), min(least[1, 0], least_in)
    for h in range(1, least.shape[1]):
        least[0, h], least[1, h] = min(least[0, h], least[0, h - 1]), min(least[1, h], least[1, h - 1])
    slacks[:, :start], slacks[:, stop:] = 0, 0


@compiled(NO_NAN)
def fill_slacks(asked: Array, counts: Array, holds: Array, order: Array, slacks: Array) -> tuple[int, int]:
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
