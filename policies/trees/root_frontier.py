"""Compiled: the root cuts of one query that are not ruled out yet, as intervals, the one of least bound first.

policies/trees/every_cut.py has the bounds. An *interval* is the cuts of one feature between two evaluated ones, its
ends; the contexts between are those of one segment, a run of 2^height codes. The search takes the interval of least
bound, evaluates the cut in its middle, and puts both halves back, until no bound is below the least cost so far.
Evaluation is the caller's, between ``take`` and ``give_back``: stumps at depth 2, another search of this kind at more.

*Lines* are the ways to go through the cuts of a feature: with which features below, and how many leaves on either side.
*Levels* are numbers of rows that leaves may be short of, root_limits.py. Side 1 is where the root cut holds, side 0
where it fails, so that costs of subtrees are (2, ...).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from milpcb.core.kernels import compiled, copy
from policies.semirings import NO_NAN, Array
from policies.trees.root_tables import RootTable

# Entries of Frontier.state: how many intervals and ends there are, the best root, and the interval in hand.
ITEMS, ENDS, BEST_LINE, BEST_CUT, LINE, HEIGHT, NUMBER, LOW, HIGH = range(9)
# Entries of Frontier.costs.
LEAST, CUT_OFF, IN_HAND = range(3)
DONE, FULL = -1, -2


class Lines(NamedTuple):
    """The root's ``features`` (n,), most ``leaves`` (n, 2) on its sides, and which features may be ``below`` (n, d)."""

    features: Array
    leaves: Array
    below: Array


class Levels(NamedTuple):
    """Slacks of leaves: ``levels`` (H,), the last infinite; ``least`` (C,) counts of a leaf; ``places`` of levels.

    ``places[n]`` is the first level that allows a slack of n rows.
    """

    levels: Array
    least: Array
    places: Array


class Segments(NamedTuple):
    """Bounds for runs of 2^h codes of feature f, h = ``lowest`` up to the height of all its codes.

    Those of height h are numbered from ``starts[f, h - lowest]`` on in ``stumps``, the S of every_cut.py, and
    ``trees``, its T. ``heights`` (d,) are those of all codes, ``lowest`` (d,) one more where there are no bounds.
    """

    heights: Array
    lowest: Array
    starts: Array
    stumps: Array
    trees: Array


class Frontier(NamedTuple):
    """The intervals as a heap, and their ends.

    ``state`` and ``costs`` have the entries named above; ``keys`` (N,) are the bounds, ``items`` (N, 5) the intervals:
    line, height, number, ends. ``cuts`` (E,) are the ends' cuts; ``sides`` (2, E, H, P) bounds on the costs of P kinds
    of subtrees, ``best`` (2, E, H) the least costs. Ends 0 and 1 are before the first cut and after the last.
    """

    state: Array
    costs: Array
    keys: Array
    items: Array
    cuts: Array
    sides: Array
    best: Array


def new_frontier(n_lines: int, n_ends: int, n_levels: int, n_parts: int, least: float, cut_off: float) -> Frontier:
    """Return a frontier without intervals, with room for those of ``n_ends`` ends."""
    room = n_lines + 2 * n_ends
    frontier = Frontier(
        np.zeros(9, np.int64),
        np.array([least, cut_off, np.inf]),
        np.empty(room),
        np.empty((room, 5), np.int32),
        np.empty(n_ends, np.int32),
        np.empty((2, n_ends, n_levels, n_parts)),
        np.empty((2, n_ends, n_levels)),
    )
    frontier.state[ENDS], frontier.state[BEST_LINE] = 2, -1
    frontier.sides[:, :2] = frontier.best[:, :2] = 0.0
    return frontier


def grown(frontier: Frontier) -> Frontier:
    """Return the frontier with room for twice as many ends."""
    old, n_ends = len(frontier.cuts), 2 * len(frontier.cuts)
    keys, items = np.empty(len(frontier.keys) + 2 * old), np.empty((len(frontier.items) + 2 * old, 5), np.int32)
    cuts = np.empty(n_ends, np.int32)
    sides = np.empty((2, n_ends, *frontier.sides.shape[2:]))
    best = np.empty((2, n_ends, frontier.best.shape[2]))
    keys[: len(frontier.keys)], items[: len(frontier.items)] = frontier.keys, frontier.items
    cuts[:old], sides[:, :old], best[:, :old] = frontier.cuts, frontier.sides, frontier.best
    return Frontier(frontier.state, frontier.costs, keys, items, cuts, sides, best)


@compiled(NO_NAN)
def open_lines(lines: Lines, segments: Segments, frontier: Frontier) -> None:
    """Put all cuts of each line in."""
    for line, f in enumerate(lines.features):
        if segments.heights[f] > 0:
            _put(
                frontier, entry(segments, segments.trees, f, segments.heights[f], 0), line, segments.heights[f], 0, 0, 1
            )


@compiled(NO_NAN)
def lower_bound(frontier: Frontier) -> float:
    """Return what no tree costs less than, at any moment of the search."""
    bound = min(frontier.costs[LEAST], frontier.costs[IN_HAND])
    return float(min(bound, frontier.keys[0]) if frontier.state[ITEMS] else bound)


@compiled(NO_NAN)
def take(table: RootTable, levels: Levels, lines: Lines, segments: Segments, frontier: Frontier) -> int:
    """Take the interval of least bound in hand; return the end in its middle, with bounds, but not evaluated.

    Return DONE where no bound is below the least cost or the cut-off, and FULL where there is no room for an end.
    """
    state, costs = frontier.state, frontier.costs
    while True:
        if state[ITEMS] == 0 or frontier.keys[0] >= min(costs[LEAST], costs[CUT_OFF]):
            return DONE
        if state[ENDS] == len(frontier.cuts):
            return FULL
        costs[IN_HAND] = frontier.keys[0]
        item = frontier.items[0]
        line, height, number, low, high = item[0], item[1], item[2], item[3], item[4]
        _remove_first(frontier)
        f = lines.features[line]
        cut = ((2 * number + 1) << (height - 1)) - 1
        if cut < _cut(table, frontier, f, high):
            break
        _put(frontier, costs[IN_HAND], line, height - 1, 2 * number, low, high)
        costs[IN_HAND] = np.inf
    state[LINE], state[HEIGHT], state[NUMBER], state[LOW], state[HIGH] = line, height, number, low, high
    middle = state[ENDS]
    state[ENDS] += 1
    frontier.cuts[middle] = cut
    below, above = _cut(table, frontier, f, low), _cut(table, frontier, f, high)
    for side in range(2):
        fewer, more = (low, high) if side == 1 else (high, low)
        start, stop = (below, cut) if side == 1 else (cut, above)
        moved = _moved(table, f, start, stop)
        between = entry(segments, segments.stumps, f, height - 1, 2 * number + 1 - side)
        lost = _spread(table, f, cut, above) if side == 1 else _spread(table, f, below, cut)
        for h in range(frontier.best.shape[2]):
            near = _place(levels, levels.levels[h] + moved)
            for part in range(frontier.sides.shape[3]):
                apart = frontier.sides[side, fewer, near, part] + between
                frontier.sides[side, middle, h, part] = max(apart, frontier.sides[side, more, h, part] - lost)
            apart, together = frontier.best[side, fewer, near] + between, frontier.best[side, more, h] - lost
            frontier.best[side, middle, h] = max(apart, together)
    return int(middle)


@compiled(NO_NAN)
def give_back(
    table: RootTable, levels: Levels, lines: Lines, segments: Segments, frontier: Frontier, end: int, exact: bool
) -> None:
    """Put both halves of the interval in hand back, now that the end in its middle is evaluated."""
    state, costs = frontier.state, frontier.costs
    cost = frontier.best[0, end, 0] + frontier.best[1, end, 0]
    if exact and cost < costs[LEAST]:
        costs[LEAST], state[BEST_LINE], state[BEST_CUT] = cost, state[LINE], frontier.cuts[end]
    f, height = lines.features[state[LINE]], state[HEIGHT] - 1
    for half in range(2):
        low, high = (state[LOW], end) if half == 0 else (end, state[HIGH])
        below, above = _cut(table, frontier, f, low), _cut(table, frontier, f, high)
        if above <= below + 1:
            continue
        number = 2 * state[NUMBER] + half
        place = _place(levels, _moved(table, f, below, above))
        apart = frontier.best[1, low, place] + frontier.best[0, high, place]
        apart += entry(segments, segments.trees, f, height, number)
        together = frontier.best[1, high, 0] + frontier.best[0, low, 0] - _spread(table, f, below, above)
        bound = max(costs[IN_HAND], apart, together)
        if bound < costs[LEAST]:
            _put(frontier, bound, state[LINE], height, number, low, high)
    costs[IN_HAND] = np.inf


@compiled(NO_NAN)
def entry(segments: Segments, entries: Array, f: int, height: int, number: int) -> float:
    """Return the bound of a segment, 0 for one too small to have one, or beyond the codes."""
    at = height - segments.lowest[f]
    if at < 0 or height > segments.heights[f]:
        return 0.0
    place = segments.starts[f, at] + number
    return float(entries[place]) if place < segments.starts[f, at + 1] else 0.0


@compiled(NO_NAN)
def _place(levels: Levels, slack: float) -> int:
    last = len(levels.levels) - 1
    return int(levels.places[int(slack)]) if slack < len(levels.places) else last


@compiled(NO_NAN)
def _moved(table: RootTable, f: int, low: int, high: int) -> float:
    """Return the most counts of a kind between two cuts."""
    most = 0.0
    for c in range(table.rows.shape[1]):
        most = max(most, table.rows[f, c, high + 1] - table.rows[f, c, low + 1])
    return most


@compiled(NO_NAN)
def _spread(table: RootTable, f: int, low: int, high: int) -> float:
    """Return D of the contexts between two cuts."""
    return float(table.spreads[f, high + 1] - table.spreads[f, low + 1])


@compiled(NO_NAN)
def _cut(table: RootTable, frontier: Frontier, f: int, end: int) -> int:
    """Return the cut of an end: -1 before the first, the largest code after the last."""
    if end < 2:
        return -1 if end == 0 else int(table.last[f])
    return int(frontier.cuts[end])


@compiled(NO_NAN)
def _put(frontier: Frontier, key: float, line: int, height: int, number: int, low: int, high: int) -> None:
    """Add an interval to the heap."""
    keys, items = frontier.keys, frontier.items
    at = frontier.state[ITEMS]
    frontier.state[ITEMS] += 1
    while at > 0 and keys[(at - 1) // 2] > key:
        keys[at] = keys[(at - 1) // 2]
        copy(items[(at - 1) // 2], items[at])
        at = (at - 1) // 2
    keys[at] = key
    items[at, 0], items[at, 1], items[at, 2], items[at, 3], items[at, 4] = line, height, number, low, high


@compiled(NO_NAN)
def _remove_first(frontier: Frontier) -> None:
    """Take the interval of least bound from the heap."""
    keys, items = frontier.keys, frontier.items
    frontier.state[ITEMS] -= 1
    n = frontier.state[ITEMS]
    key, item = keys[n], items[n].copy()
    at = 0
    while 2 * at + 1 < n:
        child = 2 * at + 1
        if child + 1 < n and keys[child + 1] < keys[child]:
            child += 1
        if keys[child] >= key:
            break
        keys[at] = keys[child]
        copy(items[child], items[at])
        at = child
    keys[at] = key
    copy(item, items[at])
