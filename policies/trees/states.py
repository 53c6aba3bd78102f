"""Compiled recursion over the states of all trees of one depth D: sets of tests with their outcomes, in two semirings.

A state is a set S of k literals with an outcome o, one bit for each of them, the lowest literal's the lowest; its
contexts come out so. Which test came first does not matter, so a state is answered once. T_h[S, o] is the sum (+) over
the trees of height h on these contexts, less what action 0 costs there, by

    T_1[S, o] = (+)_g  (+)_a H[o, a, g] (x) (+)_a (N[o, a] - H[o, a, g])
    T_h[S, o] = (+)_g  T_{h-1}[S + g, o with g = 1] (x) T_{h-1}[S + g, o with g = 0]

where H[o, a, g] is the total where S comes out as o and g holds, and N[o, a] that without g. These follow from the
totals of policies/trees/passes.py by inclusion and exclusion, without the contexts. Where ``soft`` is None, (+) is the
minimum and (x) the sum; where it is a float (its value is not used), costs are -log weights, a (+) b is -log(e^-a +
e^-b), and (x) the sum.

A literal of S may be tested again: that is T_{h-1}[S, o] (x) T_{h-1} of no contexts at all. Sums need these
derivations, and the tree of lowest numbers needs them to break ties; the least total alone does not, as long as there
are other literals. So heights h are answered for the sets of D - h literals, and where ``every`` is true, of less too.

For the profile at a context x, of each set the state of x has K numbers, ``own``, by the action played at x.

All arrays are allocated once (policies/trees/state_arrays.py gives their shapes).
"""

from __future__ import annotations

import numpy as np

from milpcb.core.kernels import compiled
from policies.semirings import NO_NAN, Array, Soft, add_all
from policies.trees.kernels import differences
from policies.trees.last_tests import last_test, last_tests, outcomes, own_outcome
from policies.trees.passes import fill_totals
from policies.trees.set_ranks import children, next_set, number
from policies.trees.state_arrays import Answers, AtContext, Given, Room, Sets


@compiled(NO_NAN)
def climb(
    soft: Soft,
    height: int,
    size: int,
    near: bool,
    every: bool,
    sets: Sets,
    point: AtContext,
    room: Room,
    found: Answers,
) -> None:
    """Fill least and own of a ``height`` > 1 for all sets of ``size`` literals, from those of the height below."""
    p, chosen, ways, least, own = len(point.turned), sets.chosen, room.ways, found.least, found.own
    for i in range(size):
        chosen[i] = i
    for rank in range(sets.binomial[p, size]):
        at = own_outcome(chosen, size, point)
        children(chosen, size, sets)
        for o in range(1 << size):
            fill_ways(height, size, rank, o, every, sets, found, ways)
            least[sets.cells[height, size] + (rank << size) + o] = add_all(soft, ways)
        if near:
            place = sets.owns[height, size] + rank
            for a in range(own.shape[1]):
                for g in range(p):
                    if sets.child[g] >= 0:
                        other = _cell(height, size, g, at, sets) + ((1 - point.turned[g]) << sets.place[g])
                        ways[g] = own[sets.owns[height - 1, size + 1] + sets.child[g], a] + least[other]
                    else:
                        ways[g] = np.inf
                        if every:
                            ways[g] = own[sets.owns[height - 1, size] + rank, a] + found.empty[height - 1]
                own[place, a] = add_all(soft, ways)
        next_set(chosen, size)


@compiled()
def _cell(height: int, size: int, g: int, o: int, sets: Sets) -> int:
    """Return where the state with the literal g more, which fails, is at the height below."""
    place = sets.place[g]
    spread = (o >> place << (place + 1)) | (o & ((1 << place) - 1))
    return int(sets.cells[height - 1, size + 1] + (sets.child[g] << (size + 1)) + spread)


@compiled(NO_NAN)
def fill_ways(height: int, size: int, rank: int, o: int, every: bool, sets: Sets, found: Answers, ways: Array) -> None:
    """Fill ways (p,): what each test at the top of a state leads to."""
    least = found.least
    for g in range(len(ways)):
        if sets.child[g] >= 0:
            fails = _cell(height, size, g, o, sets)
            ways[g] = least[fails] + least[fails + (1 << sets.place[g])]
        else:
            ways[g] = np.inf
            if every:
                ways[g] = least[sets.cells[height - 1, size] + (rank << size) + o] + found.empty[height - 1]


@compiled(NO_NAN)
def search(
    soft: Soft,
    depth: int,
    largest: float,
    near: bool,
    every: bool,
    traced: bool,
    table: Array,
    pattern: Array,
    literals: Array,
    costs: Array,
    weighted: Array,
    pairs: Array,
    totals: Array,
    least: Array,
    own: Array,
    tests: Array,
    binomial: Array,
    begins: Array,
    flipped: Array,
) -> tuple[float, float]:
    """Search all trees of a depth >= 3 for the costs ``table`` (g, K), at the context with ``pattern`` (p,).

    ``near``: the profile is asked for; ``traced``, and with it ``every``: the tests of a best tree, found by walking
    the kept states from the root down (policies/trees/tracing.py). The other arrays are those of ``StateArrays``.
    Returns what ``differences`` does; where the bound is over ``largest``, nothing is filled.
    """
    everywhere, bound = differences(table, costs[0, 0])
    if bound > largest:
        return everywhere, bound
    p = len(flipped)
    numbers, subsets = np.empty((3, max(p, depth + 2)), np.int64), np.empty((2, 1 << depth), np.int64)
    first, cells, owns = begins[0, 0], begins[1], begins[2]
    sets = Sets(binomial, first, cells, owns, numbers[0], numbers[1, :p], numbers[2, :p], subsets[0], subsets[1])
    rows = np.empty((2, len(table) if depth > 3 else 0), np.int64)
    given = Given(literals, costs, weighted, pairs, rows, totals)
    point = _point(pattern, flipped, totals)
    room = _room(depth, p, totals)
    found = Answers(least, own, _empty(soft, depth, p, own))
    fill_totals(depth, len(table), given, sets)
    for size in range(depth - 1, -1 if every else depth - 2, -1):
        last_tests(soft, size, near, sets, point, given, room, found)
    for height in range(2, depth + 1):
        for size in range(depth - height, -1 if every else depth - height - 1, -1):
            climb(soft, height, size, near, every, sets, point, room, found)
    if traced:
        for node in range(len(tests)):
            tests[node] = _best_test(node, depth, flipped, sets.chosen, totals, tests, sets, room, found)
    return everywhere, bound


@compiled()
def _point(pattern: Array, flipped: Array, totals: Array) -> AtContext:
    """Return the context with ``pattern`` (p,)."""
    turned, sides = np.zeros(len(flipped), np.int64), np.zeros((2, totals.shape[2]), totals.dtype)
    for g in range(len(flipped)):
        holds = pattern[g] != flipped[g]
        turned[g] = 1 if holds else 0
        sides[0, g], sides[1, g] = (0, 1) if holds else (1, -1)
    return AtContext(flipped, turned, sides)


@compiled()
def _room(depth: int, p: int, totals: Array) -> Room:
    """Return working space."""
    width, outcomes = totals.shape[1] * totals.shape[2], 1 << (depth - 1)
    work, sides = np.empty((2, outcomes, width), totals.dtype), np.ones((8, totals.shape[2]), totals.dtype)
    terms = np.empty((2, 2 * (totals.shape[1] + 1) * totals.shape[2]), totals.dtype)
    firsts = np.empty((4, totals.shape[2]), totals.dtype)
    return Room(work[0], work[1], sides, firsts, terms, np.empty(p, totals.dtype))


@compiled()
def _empty(soft: Soft, depth: int, p: int, own: Array) -> Array:
    """Return (D,) what trees of each height come to on no contexts at all: -log of how many derivations there are."""
    empty = np.zeros(depth, own.dtype)
    if soft is not None:
        empty[0] = -np.log(own.shape[1])
        for height in range(1, depth):
            empty[height] = 2.0 * empty[height - 1] - np.log(p)
    return empty


@compiled(NO_NAN)
def _best_test(
    node: int,
    depth: int,
    flipped: Array,
    chosen: Array,
    totals: Array,
    tests: Array,
    sets: Sets,
    room: Room,
    found: Answers,
) -> int:
    """Return the test at a node whose ancestors' tests are known; 0 where no context may come."""
    size = o = level = 0
    while node:
        parent, holds = (node - 1) // 2, node % 2 == 0
        f = tests[parent]
        bit, i = 1 if holds != flipped[f] else 0, 0
        while i < size and chosen[i] < f:
            i += 1
        if i < size and chosen[i] == f:
            if o >> i & 1 != bit:
                return 0
        else:
            for j in range(size, i, -1):
                chosen[j] = chosen[j - 1]
            chosen[i] = f
            o = (o >> i << (i + 1)) | (bit << i) | (o & ((1 << i) - 1))
            size += 1
        node, level = parent, level + 1
    p, ways = len(room.ways), room.ways
    if depth - level == 1:
        width = totals.shape[1] * totals.shape[2]
        outcomes(chosen, 0, size, -1, sets, totals.reshape(len(totals), width), room.work, 0)
        last_test(p, room.work.reshape(len(room.work), totals.shape[1], totals.shape[2])[o], room.sides)
        for g in range(p):
            ways[g] = room.sides[0, g] + room.sides[1, g]
    else:
        rank = number(chosen, size, size, sets) - sets.first[size]
        children(chosen, size, sets)
        fill_ways(depth - level, size, rank, o, True, sets, found, ways)
    best = 0
    for g in range(p):
        if ways[g] < ways[best]:
            best = g
    return best
