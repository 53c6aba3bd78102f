"""The AND/OR graph of trees under side constraints: subtrees of equal usage are one node.

A resource-constrained dynamic program: a side constraint, lower <= sum_j weights[j, pi(x_j)] <= upper, sees a subtree
only through its *usage*, the sum of weights on its contexts. So the subtrees of one state (contexts that passed the
same tests) and height that have the same usage are one *node*, and its cost is the sum (+) over them. A node of T_h is
made of pairs of nodes of T_{h-1}, where a test fails and where it holds: costs and usages add up. Which pairs make
which node depends on the constraints alone, and is written down once, in *blocks*: all nodes of one state with all of
another, a label for each pair. Both sides of the root's test meet last, in windows of the usage that is allowed.

Under structure limits a state may also end as a leaf, and a limit on the number of leaves is one more constraint, of
which every leaf uses 1. States are sets of tests with their outcomes for costs of contexts, and sequences of tests, of
which there are more, for leaf totals that hold noise.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from milpcb.constraints.linear import SORTING, SideConstraint, check_rows
from milpcb.core.decimals import beyond
from milpcb.core.long_search import LongSearch
from milpcb.errors import SearchTooLargeError
from milpcb.types import Bools, Floats, Ints
from policies.trees.routes import too_many_pairs
from policies.trees.sets import number
from policies.trees.states import Array

# The largest weight is brought to between 1/2 and 1, by powers of 2. Equal ones may differ by rounding: they count as
# equal on this grid. Side constraints allow 1e-9.
GRID = 2.0**-44
MOST_LEFT = 10**9  # pairs that the first of several rows leaves: a few seconds a query at worst
AT_ONCE = 2**20  # weights of pairs that are put in order at a time


class UsageBlocks(NamedTuple):
    """Tests (n,) of states, in order of state and test: the test, -1 for a leaf, and the states on both sides of it."""

    state: Ints
    test: Ints
    fails: Ints
    holds: Ints


class Space(NamedTuple):
    """States, numbered through: state 0 is nothing, states 1 to D are trees of height 0 to D - 1 on no contexts.

    Next are the leaves, then, level by level, states with tests, the root last; blocks of a level count from 0.
    """

    n_leaves: int
    levels: list[tuple[int, UsageBlocks]]


def paths(p: int, depth: int) -> Space:
    """Return the sequences of tests of p literals with their outcomes, numbered as in policies/trees/terms.py."""
    begin = [1 + depth]
    levels = list[tuple[int, UsageBlocks]]()
    for length in range(depth - 1, -1, -1):
        n = (2 * p) ** length
        fails = begin[-1] + 2 * np.arange(n * p)
        levels.append((n, UsageBlocks(np.repeat(np.arange(n), p), np.tile(np.arange(p), n), fails, fails + 1)))
        begin.append(begin[-1] + (2 * p) * n)
    return Space((2 * p) ** depth, levels or [(1, _one_leaf(1))])


def sets(members: Sequence[Ints], start: Ints, depth: int, flipped: Bools, *, ends: bool) -> Space:
    """Return the sets of tests with outcomes, given ``members`` (n, k) by size; if it ``ends`` each may be a leaf."""
    n_states = [len(each) << k for k, each in enumerate(members)]
    leaves = (1 + depth + np.cumsum([0, *n_states])).tolist()
    below, state, levels = dict(enumerate(leaves)), leaves[-1], list[tuple[int, UsageBlocks]]()
    for height in range(1, depth + 1):
        place = dict[int, int]()
        for k in range(min(depth - height, len(members) - 1), 0 if height < depth else -1, -1):
            parts = [_tested(members[k], start, below.get(k, 0), below.get(k + 1, 0), height, flipped)]
            if ends:
                own = np.arange(n_states[k])
                parts.append(np.stack([own, np.full_like(own, -1), leaves[k] + own, np.zeros_like(own)]))
            every = np.concatenate(parts, axis=1)
            levels.append((n_states[k], UsageBlocks(*every[:, np.lexsort(every[1::-1])])))
            place[k], state = state, state + n_states[k]
        below = place
    return Space(leaves[-1] - leaves[0], levels or [(1, _one_leaf(leaves[0]))])


def _one_leaf(state: int) -> UsageBlocks:
    return UsageBlocks(*np.array([[0], [-1], [state], [0]]))


def _tested(members: Ints, start: Ints, same: int, larger: int, nothing: int, flipped: Bools) -> Ints:
    """Return the blocks (4, n) of all tests; one that a state holds already leaves ``nothing`` on one side."""
    n, k = members.shape
    row, test = (each.reshape(-1, 1) for each in np.indices((n, len(flipped))))
    own, outcome = members[row[:, 0]], np.arange(1 << k)
    i, again = (own < test).sum(axis=1, keepdims=True), (own == test).any(axis=1, keepdims=True)
    rank = number(np.column_stack([own, test]), start)[:, None]
    rank -= rank[~again].min(initial=rank.max(initial=0))  # of the first set of one test more
    state, spread = (row << k) + outcome, (outcome >> i << (i + 1)) | (outcome & ((1 << i) - 1))
    sides = []
    for bit in (flipped[test], ~flipped[test]):
        kept = np.where((outcome >> i & 1) == bit, same + state, nothing)
        sides.append(np.where(again, kept, larger + (rank << (k + 1)) + spread + (bit << i)))
    return np.stack(np.broadcast_arrays(state, test, *sides)).reshape(4, -1)


class UsageGraph(NamedTuple):
    """Nodes of states: those of state s are ``start[s]`` up to ``start[s + 1]``.

    classes (K,) : the place of each action among the nodes of a leaf, states ``first`` to before ``last``
    blocks (n, 6) : nodes i0 to i1 where a test fails, j0 to j1 where it holds, the place of the first label, and the
        test, -1 for a leaf; those of state s are ``first_block[s]`` up to ``first_block[s + 1]``
    labels : the node that each pair of a block is part of, row by row
    T, M (nodes,) : the sums; room (2, n) : working space for the n tails of a root at most
    """

    first: int
    last: int
    classes: Array
    start: Array
    first_block: Array
    blocks: Array
    labels: Array
    T: Array
    M: Array
    room: Array


class Meeting(NamedTuple):
    """Nodes on both sides of each root: heads, where it fails, with falling weight, and tails, with rising weight.

    Those of root s are from ``head_start[s]`` and ``tail_start[s]`` on. Head i may go with the tails ``low[i]`` to
    before ``high[i]``, its window, whose further weights (n, R) with its own are within ``bounds`` (2, R).
    """

    heads: Array
    tails: Array
    head_start: Array
    tail_start: Array
    low: Array
    high: Array
    head_weights: Array
    tail_weights: Array
    bounds: Array


def usage_of(
    space: Space, rows: Sequence[SideConstraint], allowed: Bools, empty: Floats, most: int | None
) -> tuple[UsageGraph, Meeting, Ints]:
    """Return the graph under ``rows`` (n_leaves, K), its meeting and roots; ``empty`` is that of TreeQuestion."""
    weights, bounds = np.array([row.weights for row in rows]), np.array([(row.lower, row.upper) for row in rows])
    exponent = -np.frexp(np.abs(weights).max(axis=(1, 2), initial=0.0))[1]
    weights, bounds = np.ldexp(weights, exponent[:, None, None]), np.ldexp(bounds.T, exponent)
    first, classes = _action_classes(weights)
    empty = empty if most else empty.sum(axis=1, keepdims=True)
    masses = [np.ones(1), *(each[each > 0] for each in empty)]
    fixed = np.zeros((len(rows), sum(map(len, masses))))
    leaves = weights[:, allowed][:, :, first].reshape(len(rows), -1)
    if most:
        counts = np.concatenate([np.zeros(1), *(1.0 + np.flatnonzero(each) for each in empty)])
        fixed, leaves = np.vstack([counts, fixed]), np.vstack([np.ones_like(leaves[:1]), leaves])
        bounds = np.column_stack([(-np.inf, most), bounds])
    sizes, found = np.array([*map(len, masses), *(len(first) * allowed)]), [fixed, leaves]
    blocks, labels, n_labels = [np.zeros((0, 7), np.int64)], [np.zeros(0, np.int32)], 0
    with LongSearch(SORTING) as watched:
        for n, level in space.levels[:-1]:
            start, weights = np.append(0, np.cumsum(sizes)), np.concatenate(found, axis=1)
            kept, level_sizes, of_level, label = _nodes(n, level, start, weights, watched)
            blocks.append(kept + np.array([len(sizes), 0, 0, 0, 0, n_labels, 0]))
            labels.append((start[-1] + label).astype(np.int32))
            sizes, n_labels = np.append(sizes, level_sizes), n_labels + len(label)
            found.append(of_level)
    start, weights = np.append(0, np.cumsum(sizes)), np.concatenate(found, axis=1)
    _check(4 * found[-1].shape[1], 1)  # below the root, nodes have windows too
    meeting, roots = _meeting(space.levels[-1][1], start, weights, bounds)
    M, every = np.concatenate([*masses, np.zeros(start[-1] - len(fixed[0]))]), np.concatenate(blocks)
    graph = UsageGraph(
        len(masses),
        len(masses) + space.n_leaves,
        classes,
        start,
        np.searchsorted(every[:, 0], np.arange(len(start))),
        np.ascontiguousarray(every[:, 1:]),
        np.concatenate(labels),
        np.zeros(start[-1]),
        M,
        np.empty((2, len(meeting.tails))),
    )
    return graph, meeting, roots


def _action_classes(weights: Floats) -> tuple[Ints, Ints]:
    """Return the first action of each class of equal ``weights`` (R, leaves, K), and the class of each action."""
    columns = [(column + 0.0).tobytes() for column in np.moveaxis(weights, -1, 0)]  # where -0.0 is 0.0
    alike = [columns.index(column) for column in columns]
    first = sorted(set(alike), key=lambda action: (float(weights[-1, :, action].sum()), action))
    return np.array(first), np.array([first.index(action) for action in alike])


def _check(n_numbers: int, n_rows: int) -> None:
    if reason := too_many_pairs(n_numbers):
        raise SearchTooLargeError(reason)
    check_rows(n_rows, n_numbers)


def _nodes(
    n: int, blocks: UsageBlocks, start: Ints, weights: Floats, watched: LongSearch
) -> tuple[Ints, Ints, Floats, Ints]:
    """Return the blocks (n, 7) of a level that have a pair, how many nodes there are, their weights, and the labels."""
    count = (start[blocks.fails + 1] - start[blocks.fails]) * (start[blocks.holds + 1] - start[blocks.holds])
    _check(int(count.sum()), len(weights))
    state, test, fails, holds = (each[count > 0] for each in blocks)
    count = count[count > 0]
    begin = np.cumsum(count) - count
    i0, j0, width = start[fails], start[holds], start[holds + 1] - start[holds]
    kept = np.column_stack([state, i0, start[fails + 1], j0, j0 + width, begin, test])
    n_parts = min(n, 1 + len(weights) * int(count.sum()) // AT_ONCE)
    sizes, found, labels = np.zeros(n, np.int64), [weights[:, :0]], [np.zeros(0, np.int64)]
    for part in np.array_split(np.arange(n), n_parts):
        own = np.arange(*np.searchsorted(state, [part[0], part[-1] + 1]))
        block = np.repeat(own, count[own])
        i, j = np.divmod(np.arange(len(block)) - np.repeat(begin[own] - begin[own[:1]], count[own]), width[block])
        sums = weights[:, i0[block] + i] + weights[:, j0[block] + j]
        label, first = _distinct(state[block] - part[0], sums)
        labels.append(sizes.sum() + label)
        sizes[part] = np.bincount(state[block[first]] - part[0], minlength=len(part))
        found.append(sums[:, first])
        watched.look()
    return kept, sizes, np.concatenate(found, axis=1), np.concatenate(labels)


def _distinct(state: Ints, weights: Floats) -> tuple[Ints, Ints]:
    """Return the number (n,) of each state and vector of ``weights`` (R, n), in their order, and a place of each."""
    number_of, place = state, np.zeros(0, np.int64)
    for row in weights:
        keys = number_of * len(row) + np.unique(np.rint(row / GRID), return_inverse=True)[1]
        _, place, number_of = np.unique(keys, return_index=True, return_inverse=True)
    return number_of, place


_Way = tuple[Ints, Ints]  # nodes that may go together: where a root fails, and where it holds


def _meeting(roots: UsageBlocks, start: Ints, weights: Floats, bounds: Floats) -> tuple[Meeting, Ints]:
    """Return the nodes on both sides of each root in order of the row that leaves the fewest pairs, and the roots."""
    sides = [[np.arange(start[state], start[state + 1]) for state in states] for states in roots[2:]]
    ways = list(zip(*sides, strict=True))
    sorted_by = [_sorted(ways, row, bound) for row, bound in zip(weights, bounds.T, strict=True)]
    best = int(np.argmin([(high - low).sum() for *_, low, high in sorted_by]))
    heads, tails, low, high = sorted_by[best]
    others = np.arange(len(weights)) != best
    n_left = int((high - low).sum())
    counted = "under several side constraints the search compares {} policies"
    reason = beyond(n_left, MOST_LEFT, counted, "use oracle kind 'milp', or a smaller class")
    if others.any() and reason:
        raise SearchTooLargeError(reason)
    head_start, tail_start = (np.cumsum([0, *map(len, nodes)]) for nodes in sides)
    of_heads, of_tails = (np.ascontiguousarray(weights[others][:, nodes].T) for nodes in (heads, tails))
    found = Meeting(
        heads, tails, head_start, tail_start, low, high, of_heads, of_tails, np.ascontiguousarray(bounds[:, others])
    )
    return found, roots.test


def _sorted(ways: Sequence[_Way], row: Floats, bound: Floats) -> tuple[Ints, Ints, Ints, Ints]:
    """Return heads with falling weight and tails with rising weight, and the windows of heads, low and high."""
    parts, n_tails = [(np.zeros(0, np.int64),) * 4], 0
    for heads, tails in ways:
        by_head, by_tail = heads[np.argsort(-row[heads], kind="stable")], tails[np.argsort(row[tails], kind="stable")]
        low = np.searchsorted(row[by_tail], bound[0] - row[by_head], side="left")
        high = np.searchsorted(row[by_tail], bound[1] - row[by_head], side="right")
        parts.append((by_head, by_tail, n_tails + low, n_tails + high))
        n_tails += len(tails)
    by_head, by_tail, low, high = map(np.concatenate, zip(*parts, strict=True))
    return by_head, by_tail, low, high
