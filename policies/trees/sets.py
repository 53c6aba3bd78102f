"""Numbers of sets of literals, and the places of the answers of their states.

Sets of at most D of the p literals are numbered by size, and within a size in lexicographic order. So the sets that a
set u becomes by one literal g above all of its own have neighbouring numbers, ``start[u] + g``: the numbers of all of
them are a row, and every loop of the recursion runs along such rows.

A *state* is a set with an outcome for each literal, bit i that of its i-th lowest. The answers T_h of all states of
size k, h being the height of the trees below, begin at ``least[h, k]``: a block for each set u of size k - 1, in order;
in it by the number of leaves (where it is limited), then by the outcome, then by g. In the same way ``own[h, k]`` holds
K answers for the one outcome of each set at the context x that is asked about, by the action played there: by leaves,
action, g.
"""

from collections.abc import Iterator
from math import comb
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from milpcb.types import Ints

MOST_NUMBERS = 2**27  # of the totals and the states: 1 GB
CHUNK = 2**20  # sets of which rows are made at a time


class StateLayout(NamedTuple):
    """start (sets of less than D,); where (2 D + 4, D + 2): first numbers by size, leaves by height, least, own.

    ``room`` is the count of all numbers, with the working space in front.
    """

    start: Ints
    where: Ints
    room: int


def layout(p: int, depth: int, n_actions: int, most_leaves: int | None) -> StateLayout:
    """Return the places for trees of a depth, with at most so many leaves where they count."""
    where, room = _places(p, depth, n_actions, most_leaves)
    return StateLayout(_starts(p, depth), where.astype(np.int64), room)


def _places(p: int, depth: int, n_actions: int, most_leaves: int | None) -> tuple[npt.NDArray[Any], int]:
    """Return the places of a layout, as Python's integers of any size, and how many numbers there are."""
    where = np.zeros((2 * depth + 4, depth + 2), object)
    where[0] = np.cumsum([0, *(comb(p, k) for k in range(depth + 1))])
    where[1, : depth + 1] = [1 if most_leaves is None else min(2**h, most_leaves) for h in range(depth + 1)]
    place = (2**depth + n_actions + max(2**depth, n_actions)) * (p + 1)
    for h in range(1, depth + 1):
        sizes, leaves = range(depth - h + 1), where[1, h]
        for k in sizes:
            where[2 + h, k] = place
            place += leaves * comb(p, k) << k
        for k in sizes:
            where[3 + depth + h, k] = place
            place += leaves * comb(p, k) * n_actions
    return where, place


def fits(p: int, depth: int, n_actions: int, n_planes: int, most_leaves: int | None) -> bool:
    """Return whether memory holds the totals of all sets, ``n_planes`` of each, and the answers of all states."""
    room = _places(p, depth, n_actions, most_leaves)[1]
    return n_planes * sum(comb(p, k) for k in range(depth + 1)) + room <= MOST_NUMBERS


def _starts(p: int, depth: int) -> Ints:
    last, starts, n_before = np.array([-1]), [np.zeros(0, np.int64)], 1
    for _ in range(depth):
        n_above = p - 1 - last
        place = np.cumsum(n_above) - n_above
        starts.append(n_before + place - (last + 1))
        n_before += n_above.sum()
        last = np.arange(n_above.sum()) - np.repeat(place - (last + 1), n_above)
    return np.concatenate(starts)


def sets_of(p: int, depth: int) -> Iterator[Ints]:
    """Yield the sets of up to ``depth`` of ``p`` literals in the order of their numbers: arrays (n, k) of one size."""
    sets = np.zeros((1, 0), np.int64)
    yield sets
    for k in range(1, min(p, depth) + 1):
        made = []
        for part in np.array_split(sets, 1 + len(sets) * p // CHUNK):
            begin = part[:, -1] + 1 if k > 1 else np.zeros(len(part), np.int64)
            n_above = p - begin
            place = np.arange(n_above.sum()) - np.repeat(np.cumsum(n_above) - n_above, n_above)
            made.append(np.column_stack([np.repeat(part, n_above, axis=0), place + np.repeat(begin, n_above)]))
            yield made[-1]
            made = made if k < depth else []  # the largest are many
        sets = np.concatenate(made) if made else sets


def number(members: Ints, start: Ints) -> Ints:
    """Return the numbers (n,) of the sets of literals in each row of ``members`` (n, k), where some may come twice."""
    members = np.sort(members, axis=1)
    found, before = np.zeros(len(members), np.int64), np.full(len(members), -1)
    for column in members.T:
        new = column != before
        found[new] = start[found[new]] + column[new]
        before = column
    return found
