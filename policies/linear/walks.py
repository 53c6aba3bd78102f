"""Compiled walks through diagrams of labelings: the least total of all, and the summed weights of some.

A walk goes down from the root of a diagram, a label for each pattern, and turns round where what is left cannot be less
than what has been found. Along a column labels only rise, or only fall, wherever the others stand: a line of patterns
that differ in one column costs at least what its cheapest such labels do. This bounds a support once for each of its
columns, and, with the best of these as the last one, whose lines follow each other, what is left of a walk.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from milpcb.core.kernels import compiled, copy
from policies.path_kernels import SideRoom, list_paths, may_keep, weigh_ahead
from policies.semirings import cost_of

Array = npt.NDArray[Any]

_ANY, _RISE, _FALL = 0, 1, 2  # how labels go along the last column


class Sides(NamedTuple):
    """Side constraints: R sums that a labeling has on each support, and their bounds.

    ``weights`` (R, K-1, P, n) are those of the labels above 0, ``lower`` and ``upper`` (R, n).
    """

    weights: Array
    lower: Array
    upper: Array


class Axes(NamedTuple):
    """The columns of a table: how many values each has, and how far apart patterns are that differ by one in it.

    ``turns`` (s + 1, P) is where each pattern goes when a column changes places with the last one, and in its last row
    when none does; ``alike`` (s,) whether the two may.
    """

    sizes: Array
    strides: Array
    turns: Array
    alike: Array


@compiled()
def search_supports(
    child: Array,
    before: Array,
    axes: Axes,
    prices: Array,
    base: Array,
    least: Array,
    patterns: Array,
    action: int,
    sides: Sides,
    best: float,
) -> tuple[float, int, int, int]:
    """Return ``best``, or the least total of all rows where it is less, the support, the number of the row, the turn.

    Supports are in the order of their lower bounds ``least`` (n,). The total of a row is its price (n, K-1, P) more
    than ``base`` (n,). Only rows count that play ``action``, if it is not negative, at the pattern (n,) of a support.
    """
    K, P = child.shape[1], prices.shape[2]
    cost, turned, line, room = np.zeros((K, P)), np.zeros((K, P)), np.zeros(K), _side_room(sides, K, P)
    path = _path(P)
    where, number, turn = -1, -1, -1
    for i in range(len(prices)):
        if least[i] >= best:
            break
        _enter(prices[i], patterns[i], action, cost)
        axis, bound = _best_axis(cost, axes, best - base[i], line)
        if bound >= best - base[i]:
            continue
        for p in range(P):
            copy(cost[:, axes.turns[axis, p]], turned[:, p])
        _look_ahead(turned, axes, line, path)
        _enter_sides(sides, i, axes.turns[axis], room)
        weigh_ahead(room)
        found, row, _ = _walk(child, before, turned, path, room, best - base[i], 0.0, 0.0, False)
        if row >= 0:
            best, where, number, turn = found + base[i], i, row, axis
    return best, where, number, turn


@compiled()
def list_supports(
    child: Array,
    first: Array,
    axes: Axes,
    prices: Array,
    sides: Sides,
    bound: float,
    low: Array,
    spare: int,
    totals: Array,
    labels: Array,
    where: Array,
) -> tuple[int, int]:
    """List the rows of price at most ``bound``; return of how many supports, and how many rows these are.

    The rows of a support, ``spare`` at most, are only begun where there is room for them. See list_paths for ``low``,
    ``totals`` and ``labels``; ``where`` is the support of each row.
    """
    n, K, P = len(prices), child.shape[1], prices.shape[2]
    cost, line, room = np.zeros((K, P)), np.zeros(K), _side_room(sides, K, P)
    found = 0
    for i in range(n):
        if found + spare > len(totals):
            return i, found
        _enter(prices[i], 0, -1, cost)
        if _best_axis(cost, axes, np.inf, line)[1] > bound:
            continue
        _enter_sides(sides, i, axes.turns[-1], room)
        before = found
        found = list_paths(child, first, cost, room, bound, low, totals, labels, found)
        where[before:found] = i
    return n, found


@compiled()
def weigh_kept(
    child: Array, before: Array, axes: Axes, prices: Array, patterns: Array, sides: Sides, rate: float, out: Array
) -> None:
    """Fill ``out`` (n, K): -log of the summed exp(-rate * price) of the rows that keep ``sides``, by their action."""
    K, P = child.shape[1], prices.shape[2]
    cost, line, room, path = np.zeros((K, P)), np.zeros(K), _side_room(sides, K, P), _path(P)
    for i in range(len(out)):
        _enter_sides(sides, i, axes.turns[-1], room)
        weigh_ahead(room)
        for action in range(K):
            _enter(prices[i], patterns[i], action, cost)
            _look_ahead(cost, axes, line, path)
            least, row, _ = _walk(child, before, cost, path, room, np.inf, 0.0, 0.0, False)
            out[i, action] = np.inf
            if row >= 0:
                _, _, weight = _walk(child, before, cost, path, room, np.inf, least, rate, True)
                out[i, action] = cost_of(1.0, rate * least, weight)


@compiled()
def _enter(prices: Array, pattern: int, action: int, cost: Array) -> None:
    """Fill what the labels cost on each pattern (K, P), given what they cost more than label 0 (K-1, P)."""
    cost[0] = 0.0
    for a in range(len(prices)):
        copy(prices[a], cost[a + 1])
    if action >= 0:
        for a in range(len(cost)):
            if a != action:
                cost[a, pattern] = np.inf


@compiled()
def _best_axis(cost: Array, axes: Axes, best: float, line: Array) -> tuple[int, float]:
    """Return a column that bounds the costs above ``best``, with that bound; else the best of those to walk along."""
    chosen, highest = len(axes.sizes), -np.inf
    for axis in range(len(axes.sizes)):
        size, stride = axes.sizes[axis], axes.strides[axis]
        rise = fall = 0.0
        for start in range(0, cost.shape[1], size * stride):
            for p in range(start, start + stride):
                up, down = _line(cost, p, size, stride, line)
                rise, fall = rise + up, fall + down
        bound = min(rise, fall)
        if bound >= best:
            return axis, bound
        if axes.alike[axis] and bound > highest:
            chosen, highest = axis, bound
    return chosen, highest


@compiled()
def _line(cost: Array, p: int, size: int, stride: int, low: Array) -> tuple[float, float]:
    """Return the least cost of labels that rise along a line of patterns from p, and of labels that fall."""
    K = len(cost)
    if K == 2 and size == 2:
        q = p + stride
        stay = min(cost[0, p] + cost[0, q], cost[1, p] + cost[1, q])
        return min(stay, cost[0, p] + cost[1, q]), min(stay, cost[1, p] + cost[0, q])
    up = down = np.inf
    for rising in (True, False):
        copy(cost[:, p], low)
        for v in range(1, size):
            least = np.inf
            for j in range(K):
                a = j if rising else K - 1 - j
                least = min(least, low[a])
                low[a] = least + cost[a, p + v * stride]
        if rising:
            up = low.min()
        else:
            down = low.min()
    return up, down


class _Path(NamedTuple):
    """A walk: the label to try first at each pattern, and what is known before it.

    That is the state, how many labels have been tried, what the labels before it cost, how they go along the last
    column, and for each way they may go what all from there on cost at least.
    """

    start: Array
    state: Array
    tried: Array
    total: Array
    way: Array
    ahead: Array  # (3, P + 1)
    size: Array  # (1,), of the last column


@compiled()
def _path(n_patterns: int) -> _Path:
    numbers = np.zeros((4, n_patterns + 1), np.int64)
    total, ahead = np.zeros(n_patterns + 1), np.zeros((3, n_patterns + 1))
    return _Path(numbers[0], numbers[1], numbers[2], total, numbers[3], ahead, np.ones(1, np.int64))


@compiled()
def _look_ahead(cost: Array, axes: Axes, line: Array, path: _Path) -> None:
    """Fill the cheapest label of each pattern, and what patterns from each on cost at least."""
    K, P = cost.shape
    size = axes.sizes[-1] if len(axes.sizes) else 1
    path.size[0], ahead = size, path.ahead
    for p in range(P - 1, -1, -1):
        path.start[p] = 0
        for a in range(1, K):
            if cost[a, p] < cost[path.start[p], p]:
                path.start[p] = a
        if p % size:
            for way in range(3):
                ahead[way, p] = cost[path.start[p], p] + ahead[way, p + 1]
        else:
            up, down = _line(cost, p, size, 1, line)
            ahead[_RISE, p], ahead[_FALL, p] = up + ahead[_RISE, p + size], down + ahead[_FALL, p + size]
            ahead[_ANY, p] = min(ahead[_RISE, p], ahead[_FALL, p])


@compiled()
def _side_room(sides: Sides, n_labels: int, n_patterns: int) -> SideRoom:
    R = len(sides.weights)
    ends = np.zeros((3, R, n_patterns + 1))
    return SideRoom(np.zeros((R, n_labels, n_patterns)), np.zeros((R, 2)), ends[0], ends[1], ends[2])


@compiled()
def _enter_sides(sides: Sides, i: int, turn: Array, room: SideRoom) -> None:
    """Fill the side constraints on a support, with its patterns in the order ``turn`` (P,)."""
    for r in range(len(sides.weights)):
        room.bounds[r, 0], room.bounds[r, 1] = sides.lower[r, i], sides.upper[r, i]
        for a in range(1, room.weights.shape[1]):
            for p in range(len(turn)):
                room.weights[r, a, p] = sides.weights[r, a - 1, turn[p], i]


@compiled()
def _walk(
    child: Array,
    before: Array,
    cost: Array,
    path: _Path,
    room: SideRoom,
    best: float,
    least: float,
    rate: float,
    summed: bool,
) -> tuple[float, int, float]:
    """Return the least cost of all labelings below ``best`` and the number of the first of them, -1 for none.

    Where ``summed``, all labelings below ``best`` are gone through, and their weights exp(-rate * (cost - least)) added
    up.
    """
    K, P = cost.shape
    start, state, tried, total, way, ahead, size = path
    nowhere, number, p = len(child) + 1, -1, 0
    weight = 0.0
    state[0], tried[0], way[0] = 0, 0, _ANY
    while p >= 0:
        if tried[p] == K:
            p -= 1
            continue
        a = (start[p] + tried[p]) % K
        tried[p] += 1
        onward = child[state[p], a]
        if onward == nowhere:
            continue
        goes = way[p]
        if goes == _ANY and p % size[0]:
            last = (start[p - 1] + tried[p - 1] - 1) % K
            if a != last:
                goes = _RISE if a > last else _FALL
        total[p + 1] = total[p] + cost[a, p]
        if total[p + 1] + ahead[goes, p + 1] >= best or not may_keep(room, p, a):
            continue
        if p + 1 < P:
            p += 1
            state[p], tried[p], way[p] = onward, 0, goes
        elif summed:
            weight += float(np.exp(rate * (least - total[P])))
        else:
            best, number = float(total[P]), 0
            for q in range(P):
                number += before[state[q], (start[q] + tried[q] - 1) % K]
    return best, number, weight
