"""Compiled: root cuts that are not ruled out yet, as intervals between evaluated ones; policies/trees/every_cut.py.

At depth 2 a cut is evaluated here, by one pass over the contexts for each feature below; at more depth each side of it
is another search. A *stump* is a tree of one test. Side 1 is where a root cut holds, side 0 where it fails. The
contexts of a side are never sorted anew: their order by a feature is the order of all, without those on the other side.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from milpcb.core.kernels import compiled
from milpcb.types import Floats
from policies.literals import Literals
from policies.trees.states import NO_NAN, Array

# Entries of Frontier.state: the least cost so far, the bound of the interval in hand, line and cut of the best root.
# Entries of an interval: its line, the cuts at both ends, and from COSTS on the costs there.
LEAST, IN_HAND, BEST_LINE, BEST_CUT = range(4)
LINE, LOW, HIGH, COSTS = range(4)


class RootTable(NamedTuple):
    """n contexts with their costs, counted from the cheapest action of each, and with their C counts.

    ``numbers`` (n,) are those among all contexts; ``orders`` (d, n) sort them by each feature. ``codes`` (d, n) are how
    many of the feature's values are smaller, ``last`` (d,) the largest: cut k holds where the code is at most k.
    ``gaps`` (d, n) mark, in order, where a cut may follow. ``first`` (n,) is the cost of action 0, ``differences``
    (n, A) the extra costs of others, ``costs`` (d, A, n) in order, ``spread`` (n,) the dearest action, ``spreads``
    (d, n + 1) its sums over the codes below each.
    """

    numbers: Array
    orders: Array
    codes: Array
    first: Array
    differences: Array
    spread: Array
    counts: Array
    last: Array
    gaps: Array
    costs: Array
    spreads: Array

    def kept(self, here: Array) -> RootTable:
        """Return the rows that ``here`` (n,) marks."""
        return RootTable(*_kept(self[:7], here))


def all_rows(literals: Literals, orders: Array, costs: Floats, counts: Floats) -> RootTable:
    """Return the table of all contexts, which ``orders`` (d, g) sort, with ``costs`` (g, K) and ``counts`` (g, C)."""
    least = costs.min(axis=1)
    differences = np.ascontiguousarray(costs[:, 1:] - costs[:, :1])
    numbers, codes = np.arange(len(costs), dtype=np.int32), literals.codes.astype(np.int32)
    rows = numbers, orders, codes, costs[:, 0] - least, differences, costs.max(axis=1) - least, counts
    return RootTable(*_kept(rows, np.ones(len(costs), np.bool_)))


@compiled(NO_NAN)
def _kept(rows: tuple[Array, ...], here: Array) -> tuple[Array, ...]:
    """Return the fields of a table of the rows that ``here`` (n,) marks, from the first seven of all rows."""
    numbers, orders, codes, first, differences, spread, counts = rows
    d, n, n_differences = len(orders), here.sum(), differences.shape[1]
    place = np.cumsum(here) - 1
    new_orders, new_codes = np.empty((d, n), np.int32), np.empty((d, n), np.int32)
    last, gaps = np.empty(d, np.int32), np.zeros((d, n), np.bool_)
    costs, spreads = np.empty((d, n_differences, n)), np.zeros((d, n + 1))
    for f in range(d):
        t, code, before = 0, -1, -1
        for j in orders[f]:
            if not here[j]:
                continue
            if codes[f, j] != before:
                before, code = codes[f, j], code + 1
                spreads[f, code + 1] = spreads[f, code]
                if t > 0:
                    gaps[f, t - 1] = True
            new_orders[f, t], new_codes[f, place[j]] = place[j], code
            for a in range(n_differences):
                costs[f, a, t] = differences[j, a]
            spreads[f, code + 1] += spread[j]
            t += 1
        last[f] = code
    given = numbers[here], new_orders, new_codes, first[here], differences[here], spread[here], counts[here]
    return (*given, last, gaps, costs, spreads)


class Lines(NamedTuple):
    """Root ``features`` (n,), most ``leaves`` (n, 2) of sides, features ``below`` (n, d), ``least`` (C,) of a leaf."""

    features: Array
    leaves: Array
    below: Array
    least: Array


class Frontier(NamedTuple):
    """Intervals between cuts that are not ruled out; the cut -1 is before the first, the largest code after the last.

    size (2,) : the number of intervals, and of evaluated cuts
    bounds (N,), items (N, 3 + 2 E), in_hand (3 + 2 E,) : the intervals, and the one that ``take`` removed
    costs : of subtrees on both sides of an end, E = 2, and where sizes are limited those of subtrees with leaves of any
        size, E = 4
    """

    size: Array
    state: Array
    bounds: Array
    items: Array
    in_hand: Array


@compiled(NO_NAN)
def take(frontier: Frontier) -> int:
    """Remove the interval of least bound, as ``in_hand``; return the cut in its middle, -1 if all are ruled out."""
    size, state, bounds, items, in_hand = frontier
    n = size[0]
    chosen = np.argmin(bounds[:n]) if n else 0
    if n == 0 or bounds[chosen] >= state[LEAST]:
        return -1
    state[IN_HAND], bounds[chosen], size[0], size[1] = bounds[chosen], bounds[n - 1], n - 1, size[1] + 1
    in_hand[:] = items[chosen]
    items[chosen] = items[n - 1]
    return (int(in_hand[LOW]) + int(in_hand[HIGH])) // 2


@compiled(NO_NAN)
def give_back(table: RootTable, lines: Lines, frontier: Frontier, cut: int, costs: Array) -> None:
    """Put back both halves of the interval in hand, whose middle cut is now evaluated: its ``costs`` (E,)."""
    size, state, bounds, items, in_hand = frontier
    line, ends, free = int(in_hand[LINE]), in_hand[COSTS:].reshape(2, -1), len(costs) - 2
    if costs[0] + costs[1] < state[LEAST]:
        state[LEAST], state[BEST_LINE], state[BEST_CUT] = costs[0] + costs[1], line, cut
    spreads = table.spreads[lines.features[line]]
    for half in range(2):
        start, stop = (int(in_hand[LOW]), cut) if half == 0 else (cut, int(in_hand[HIGH]))
        low, high = (ends[0], costs) if half == 0 else (costs, ends[1])
        spread = spreads[stop + 1] - spreads[start + 1]  # what the contexts between cost at most
        bound = max(state[IN_HAND], low[free + 1] + high[free], high[1] + low[0] - spread)
        if stop > start + 1 and bound < state[LEAST]:
            n = size[0]
            bounds[n], items[n, LINE], items[n, LOW], items[n, HIGH] = bound, line, start, stop
            items[n, COSTS : COSTS + len(costs)], items[n, COSTS + len(costs) :] = low, high
            size[0] = n + 1
    state[IN_HAND] = np.inf


@compiled(NO_NAN)
def search_pairs(table: RootTable, lines: Lines, frontier: Frontier, most: int) -> bool:
    """Evaluate up to ``most`` root cuts of trees of depth 2; return whether all are ruled out."""
    costs = np.empty((frontier.items.shape[1] - COSTS) // 2)
    for _ in range(most):
        cut = take(frontier)
        if cut < 0:
            return True
        evaluate(table, lines, int(frontier.in_hand[LINE]), cut, costs)
        give_back(table, lines, frontier, cut, costs)
    return False


@compiled(NO_NAN)
def evaluate(table: RootTable, lines: Lines, line: int, cut: int, best: Array) -> None:
    """Fill best (2 or 4,) with the least costs of stumps and leaves; a side may be limited to one leaf."""
    holds = (table.codes[lines.features[line]] <= cut).view(np.uint8)
    base, totals, counts = np.zeros(2), np.zeros((2, table.differences.shape[1])), np.zeros((2, len(lines.least)))
    for j in range(len(holds)):
        side = holds[j]
        base[side] += table.first[j]
        for a in range(totals.shape[1]):
            totals[side, a] += table.differences[j, a]
        for c in range(counts.shape[1]):
            counts[side, c] += table.counts[j, c]
    for row in range(len(best)):
        enough = row >= len(best) - 2 or (counts[row] >= lines.least).all()
        best[row] = base[row % 2] + min(0.0, totals[row % 2].min()) if enough else np.inf
    leaf, least = best.copy(), np.empty(4)
    for f in np.flatnonzero(lines.below[line]):
        stumps(table, int(f), holds, lines.least, totals, counts, least)
        for row in range(len(best)):
            best[row] = min(best[row], base[row % 2] + least[row])
    for row in range(len(best)):
        best[row] = leaf[row] if lines.leaves[line, row % 2] == 1 else best[row]


@compiled(NO_NAN)
def stumps(table: RootTable, f: int, holds: Array, asked: Array, totals: Array, counts: Array, least: Array) -> None:
    """Fill ``least`` (4,): the best stumps of a feature where a root fails and holds, with ``asked`` counts, or any."""
    order, costs, gaps = table.orders[f], table.costs[f], table.gaps[f]
    sums, rows = np.zeros(totals.shape), np.zeros(counts.shape)
    now_out = now_in = any_out = any_in = least_out = least_in = np.inf
    fits_out = fits_in = len(asked) == 0
    for t in range(len(order)):
        j = np.uint32(order[t])  # numba asks of a signed number whether it is negative
        side, below, above = holds[j], 0.0, 0.0
        for a in range(len(costs)):
            total = sums[side, a] + costs[a, t]
            sums[side, a] = total
            below, above = min(below, total), min(above, totals[side, a] - total)
        fits = True
        for c in range(len(asked)):
            rows[side, c] += table.counts[j, c]
            fits = fits and min(rows[side, c], counts[side, c] - rows[side, c]) >= asked[c]
        # Both are chosen, as a branch would be guessed wrong at every other context.
        now_in = below + above if side else now_in
        now_out = now_out if side else below + above
        fits_in, fits_out = fits if side else fits_in, fits_out if side else fits
        if gaps[t]:
            any_in, any_out = min(any_in, now_in), min(any_out, now_out)
            least_in = min(least_in, now_in) if fits_in else least_in
            least_out = min(least_out, now_out) if fits_out else least_out
    least[0], least[1], least[2], least[3] = least_out, least_in, any_out, any_in
