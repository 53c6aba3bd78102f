"""The recursion over trees under side constraints: subtrees of equal usage are merged into one label.

This is a resource-constrained dynamic program. A *state* is a path: the contexts that follow it. A subtree below it
matters only through its cost and its usage of each side constraint (its weights), so subtrees of equal usage are merged
into one *label* of the state. The cost of a label is the sum (+) over its subtrees: the least, or -log of the summed
exp(-cost). The labels of a state of full depth are the actions; actions of equal usage everywhere share one. A subtree
of a shorter path is a test g with a label of the path on which g fails and a label of the path on which it holds: costs
and usages add up. Which label each such *pair* belongs to depends on the constraints alone and is computed once.
The two sides of the test at the root meet in policies/pairings.py.

Under a budget on one action a state of depth D - 1 has at most 2 p + 2 labels, and a shorter path one for each number
of contexts: about 8 p^4 pairs at depth 3 over p literals. Real weights without equal sums do not merge: then a state of
depth D - 1 has p K^2 labels, and depth 3 has 2 p (p K^2)^2 pairs.

Under structure limits a path may also end early, with a leaf as one more subtree; no leaf may end a path that too few
contexts follow. A limit on the number of leaves is one more constraint, of which every leaf uses 1.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from milpcb.constraints.linear import SORTING, check_rows
from milpcb.core.long_search import LongSearch
from milpcb.errors import SearchTooLargeError
from milpcb.types import Bools, Floats, Ints
from policies.derivations import too_many

# Weights are brought to between -2 and 2, and equal ones may differ by rounding: they count as equal on this grid. Side
# constraints allow 1e-9.
GRID = 2.0**-44
NUMBERS = 4  # that a label below the test at the root counts for: it has windows and costs
_AT_ONCE = 2**20  # weights of pairs that are put in order at a time


class Level(NamedTuple):
    """The states of one path length: those of path q have the labels ``start[q]`` to ``start[q + 1] - 1``.

    Labels of a state are in order of their weights (R, n), that of the first row first. A leaf that ends path q with
    actions of class c belongs to label ``ended[q, c]``, -1 where no leaf may. Of the pairs of path q and test g, which
    begin at ``first[q * p + g]``, that of the i-th label of the side where g fails and the j-th of n where it holds, at
    i * n + j, belongs to label ``label[...]``.
    """

    start: Ints
    weights: Floats
    ended: Ints
    first: Ints
    label: Ints


class Endings(NamedTuple):
    """Leaves at the ends of paths of one length: weights (R, paths, C) by class of actions, and where one may be."""

    weights: Floats
    allowed: Bools


def fewest_pairs(p: int, depth: int) -> int:
    """Return how many pairs there are under a budget on one action, or fewer: which rule will be kept is not known."""
    at_a_leaf, above = 2, 2 * p + 2
    return sum(p * (2 * p) ** level * (at_a_leaf if level == depth - 1 else above) ** 2 for level in range(1, depth))


def action_classes(weights: Floats) -> tuple[Ints, Ints]:
    """Return the first action of each class, and the class of each action, by ``weights`` (R, paths, K) of leaves.

    Actions of a class weigh the same everywhere. Where one order of weight in the last row fits all paths, it is that
    of the classes.
    """
    columns = [(column + 0.0).tobytes() for column in np.moveaxis(weights, -1, 0)]  # where -0.0 is 0.0
    first = sorted(map(columns.index, set(columns)), key=lambda action: (float(weights[-1, :, action].sum()), action))
    classes = [next(c for c, action in enumerate(first) if columns[action] == column) for column in columns]
    return np.array(first), np.array(classes)


def ended_totals(totals: Floats, p: int, depth: int) -> list[Floats]:
    """Return the totals (paths, K) of leaves at the ends of paths of length 0 to ``depth``, given those of full depth.

    Each is the sum over both sides of a test, whichever it is.
    """
    found = [totals]
    for _ in range(depth):
        found.append(found[-1].reshape(-1, p, 2, totals.shape[-1])[:, 0].sum(axis=1))
    return found[::-1]


def levels(p: int, endings: Sequence[Endings]) -> list[Level]:
    """Return the levels of path lengths 0 to D, given where and with which weights paths of these lengths may end.

    The root has the leaves alone; its tests are left to the pairing. Raises SearchTooLargeError where there are too
    many pairs.
    """
    found = [_leaves(endings[-1], 0)]
    with LongSearch(SORTING) as watched:
        for ending in endings[-2:0:-1]:
            found.append(_level(p, found[-1], ending, watched))
    if len(endings) > 1:
        _check(NUMBERS * found[-1].weights.shape[1], 1)
        found.append(_leaves(endings[0], p))
    return found[::-1]


def _check(n_numbers: int, n_rows: int) -> None:
    """Raise SearchTooLargeError where so many numbers are too many to keep, or to sort by the weights of all rows."""
    if reason := too_many(n_numbers):
        raise SearchTooLargeError(reason)
    check_rows(n_rows, n_numbers)


def _leaves(ending: Endings, p: int) -> Level:
    """Return the level of states whose labels are their leaves alone, a label for each class of actions."""
    n_rows, n_paths, n_classes = ending.weights.shape
    start = n_classes * np.cumsum(np.append(0, ending.allowed))
    ended = np.where(ending.allowed[:, None], start[:-1, None] + np.arange(n_classes), -1)
    no_pairs = np.zeros(n_paths * p, dtype=np.int64)
    return Level(start, ending.weights[:, ending.allowed].reshape(n_rows, -1), ended, no_pairs, np.zeros(0, np.int64))


def _level(p: int, below: Level, ending: Endings, watched: LongSearch) -> Level:
    """Return the level above ``below``."""
    sizes, n_rows = np.diff(below.start), len(below.weights)
    n_pairs = sizes[0::2] * sizes[1::2]
    _check(int(n_pairs.sum()), n_rows)
    n_paths = len(ending.allowed)
    n_parts = min(n_paths, 1 + n_rows * int(n_pairs.sum()) // _AT_ONCE)
    parts = []
    for part in _parts(p, below, ending, np.array_split(np.arange(n_paths), n_parts)):
        parts.append(part)
        watched.look()
    sizes = np.concatenate([part.sizes for part in parts])
    start = np.cumsum(np.append(0, sizes))
    before = start[np.cumsum([0, *(len(part.sizes) for part in parts)])]
    ended = np.full((n_paths, ending.weights.shape[2]), -1)
    ended[ending.allowed] = np.concatenate(
        [part.ended + first for part, first in zip(parts, before, strict=False)]
    ).reshape(-1, ended.shape[1])
    return Level(
        start,
        np.concatenate([part.weights for part in parts], axis=1),
        ended,
        np.cumsum(n_pairs) - n_pairs,
        np.concatenate([(part.label + first).astype(np.int32) for part, first in zip(parts, before, strict=False)]),
    )


class _Part(NamedTuple):
    """The labels of some states of a level: how many each has, their weights, and those of leaves and of pairs."""

    sizes: Ints
    weights: Floats
    ended: Ints
    label: Ints


def _parts(p: int, below: Level, ending: Endings, parts: Sequence[Ints]) -> Iterator[_Part]:
    """Yield the labels of the paths in each of the ``parts``, which are numbers of neighbouring paths."""
    for paths in parts:
        ends = paths[ending.allowed[paths]]
        blocks = np.arange(paths[0] * p, (paths[-1] + 1) * p)
        block, fails, holds = _pairs(below.start, blocks)
        weights = np.concatenate(
            [
                ending.weights[:, ends].reshape(len(below.weights), -1),
                below.weights[:, fails] + below.weights[:, holds],
            ],
            axis=1,
        )
        state = np.concatenate([np.repeat(ends, ending.weights.shape[2]), block // p]) - paths[0]
        label, first = _distinct(state, weights)
        sizes = np.bincount(state[first], minlength=len(paths))
        n_ended = len(label) - len(block)
        yield _Part(sizes, weights[:, first], label[:n_ended], label[n_ended:])


def _pairs(start: Ints, blocks: Ints) -> tuple[Ints, Ints, Ints]:
    """Return the block of each pair, and its labels below: ``blocks`` number the paths below in pairs."""
    fails, holds = np.diff(start)[2 * blocks], np.diff(start)[2 * blocks + 1]
    n_pairs = fails * holds
    number = np.repeat(np.arange(len(blocks)), n_pairs)
    place = np.arange(len(number)) - np.repeat(np.cumsum(n_pairs) - n_pairs, n_pairs)
    i, j = np.divmod(place, holds[number])
    return blocks[number], start[2 * blocks][number] + i, start[2 * blocks + 1][number] + j


def _distinct(state: Ints, weights: Floats) -> tuple[Ints, Ints]:
    """Return the number (n,) of each state and vector of ``weights`` (R, n), in their order, and a place of each."""
    number, place = state, np.zeros(0, dtype=np.int64)
    for row in weights:
        key = np.rint(row / GRID).astype(np.int64)
        key -= key.min(initial=0)
        if (1 + number.max(initial=0)) * (1 + float(key.max(initial=0))) > 2.0**62:
            key, _ = _ranks(key)
        number, place = _ranks(key + number * (1 + key.max(initial=0)))
    return number, place


def _ranks(keys: Ints) -> tuple[Ints, Ints]:
    """Return the rank (n,) of each key among the different ones, and a place of each of these."""
    order = np.argsort(keys)
    new = np.diff(keys[order], prepend=-1) != 0  # keys are not negative
    ranks = np.empty(len(keys), dtype=np.int64)
    ranks[order] = np.cumsum(new) - 1
    return ranks, order[new]
