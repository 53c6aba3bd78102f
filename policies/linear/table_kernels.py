"""Compiled parts of the search by support tables: sums over contexts, and walks through diagrams of labelings.

A walk goes down from the root of a diagram, a label for each pattern, and turns round where what is left cannot be less
than what has been found. The sum over all labelings looks at each state once, from the last level up.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from milpcb.kernels import compiled

Array = npt.NDArray[Any]

# The product of weights above e^-600 is far from the least number.
LEAST_EXPONENT = 600.0


class Sides(NamedTuple):
    """Side constraints: R sums that a labeling has on each support, and their bounds.

    ``weights`` (R, K-1, P, n) are those of the labels above 0, ``lower`` and ``upper`` (R, n).
    """

    weights: Array
    lower: Array
    upper: Array


@compiled()
def add_nested(has: Array, onward: Array, later: Array, most: int, values: Array, sums: Array) -> None:
    """Add the sums of ``values`` (k, g) to ``sums`` (k, nodes, 1 + items); see nested_sums.py.

    ``has`` (g, items) is 1 where a context has an item and 0 where not.
    """
    n_items = has.shape[1]
    rows, count = np.empty((most + 1, len(has)), np.int64), np.zeros(most + 1, np.int64)
    node, item = np.zeros(most + 1, np.int64), np.zeros(most + 1, np.int64)
    rows[0], count[0] = np.arange(len(has)), len(has)
    for k in range(len(values)):
        sums[k, 0, 0] += values[k].sum()
    level, new = 0, True
    while level >= 0:
        if new:
            start, new = later[node[level]], False
            item[level] = start
            for k in range(len(values)):
                into = sums[k, node[level]]
                for j in rows[level, : count[level]]:
                    for i in range(start, n_items):
                        into[1 + i] += values[k, j] * has[j, i]
        if level == most or item[level] == n_items:
            level -= 1
            continue
        i, n = item[level], 0
        item[level] += 1
        for j in rows[level, : count[level]]:
            rows[level + 1, n] = j
            n += int(has[j, i])
        if n:  # below a node without contexts all sums are 0
            node[level + 1], count[level + 1] = onward[node[level], i], n
            level, new = level + 1, True


@compiled()
def search_supports(
    child: Array,
    before: Array,
    prices: Array,
    base: Array,
    least: Array,
    order: Array,
    patterns: Array,
    action: int,
    sides: Sides,
    best: float,
) -> tuple[float, int, int]:
    """Return ``best``, or the least total of all rows where it is less, with the support and the number of the row.

    Supports are looked at in ``order`` (some,), which is that of their lower bounds ``least`` (n,). The total of a row
    is its price (K-1, P, n) more than ``base`` (n,). Only rows count that play ``action``, if it is not negative, at
    the pattern (n,) of a support.
    """
    K, P = child.shape[1], prices.shape[1]
    cost, suffix, work = np.zeros((K, P)), np.zeros(P + 1), _side_room(sides, K, P)
    path = _Path(np.zeros(P, np.int64), np.zeros(P, np.int64), np.zeros(P, np.int64), np.zeros(P + 1))
    where, number = -1, -1
    for i in order:
        if least[i] >= best:
            break
        _enter(prices, i, patterns[i], action, cost, suffix, path.start)
        _enter_sides(sides, i, work)
        found, row, _ = _walk(child, before, cost, suffix, work, path, best - base[i], 0.0, 0.0, False)
        if row >= 0:
            best, where, number = found + base[i], i, row
    return best, where, number


@compiled()
def weigh_kept(
    child: Array, before: Array, prices: Array, patterns: Array, sides: Sides, rate: float, out: Array
) -> None:
    """Fill ``out`` (n, K): -log of the summed exp(-rate * price) of the rows that keep ``sides``, by their action."""
    K, P = child.shape[1], prices.shape[1]
    cost, suffix, work = np.zeros((K, P)), np.zeros(P + 1), _side_room(sides, K, P)
    path = _Path(np.zeros(P, np.int64), np.zeros(P, np.int64), np.zeros(P, np.int64), np.zeros(P + 1))
    for i in range(len(out)):
        _enter_sides(sides, i, work)
        for action in range(K):
            _enter(prices, i, patterns[i], action, cost, suffix, path.start)
            least, row, _ = _walk(child, before, cost, suffix, work, path, np.inf, 0.0, 0.0, False)
            out[i, action] = np.inf
            if row >= 0:
                _, _, weight = _walk(child, before, cost, suffix, work, path, np.inf, least, rate, True)
                out[i, action] = rate * least - np.log(weight)


@compiled()
def weigh_supports(child: Array, first: Array, prices: Array, patterns: Array, rate: float, out: Array) -> None:
    """Fill ``out`` (n, K) as ``weigh_kept`` does where all rows count, a state at a time.

    Each state has the summed weights of the labelings below it. Weights are counted from the cheapest label of each
    pattern where that leaves none too small for a number, else from the least price below each state, ``low``.
    """
    K, P = child.shape[1], prices.shape[1]
    cost = np.zeros((P, K))
    low, weight = np.zeros(first[P] + 2), np.ones(first[P] + 2)
    low[first[P] + 1], weight[first[P] + 1] = np.inf, 0.0  # the state that no labeling comes to
    for i in range(len(out)):
        far, plain = _scaled(prices, i, rate, cost)
        here = patterns[i]
        for p in range(P - 1, here, -1):
            _add_up(plain, first[p], first[p + 1], child, cost[p], -1, low, weight)
        for action in range(K):
            for p in range(here, -1, -1):
                _add_up(plain, first[p], first[p + 1], child, cost[p], action if p == here else -1, low, weight)
            out[i, action] = (far if plain else low[0]) - np.log(weight[0]) if weight[0] else np.inf


@compiled()
def _scaled(prices: Array, i: int, rate: float, cost: Array) -> tuple[float, bool]:
    """Fill what the labels cost (P, K) times the rate, or where these are small the factors that they stand for.

    Returns what the cheapest label of each pattern comes to, and whether the other was filled.
    """
    P, K = cost.shape
    far, span = 0.0, 0.0
    for p in range(P):
        least = most = cost[p, 0] = 0.0
        for a in range(1, K):
            cost[p, a] = rate * prices[a - 1, p, i]
            least, most = min(least, cost[p, a]), max(most, cost[p, a])
        far += least
        span += most - least
    if span < LEAST_EXPONENT:
        for p in range(P):
            least = 0.0
            for a in range(1, K):
                least = min(least, cost[p, a])
            for a in range(K):
                cost[p, a] = np.exp(least - cost[p, a]) if cost[p, a] != least else 1.0
    return far, span < LEAST_EXPONENT


@compiled()
def _add_up(
    plain: bool, start: int, stop: int, child: Array, cost: Array, action: int, low: Array, weight: Array
) -> None:
    """Set what the states of a level come to from their children; only one action there, if it is not negative.

    Where ``plain``, ``cost`` (K,) is the factor of each label.
    """
    K = len(cost)
    from_label, to_label = (0, K) if action < 0 else (action, action + 1)
    for s in range(start, stop):
        total = 0.0
        if plain:
            for a in range(from_label, to_label):
                total += cost[a] * weight[child[s, a]]
        else:
            least = np.inf
            for a in range(from_label, to_label):
                least = min(least, cost[a] + low[child[s, a]])
            low[s] = least
            if least < np.inf:
                for a in range(from_label, to_label):
                    total += weight[child[s, a]] * np.exp(least - cost[a] - low[child[s, a]])
        weight[s] = total


@compiled()
def _enter(prices: Array, i: int, pattern: int, action: int, cost: Array, suffix: Array, start: Array) -> None:
    """Fill what the labels cost on each pattern of a support, the cheapest, and what patterns from each on can cost."""
    for p in range(len(suffix) - 2, -1, -1):
        low, start[p] = 0.0, 0
        for a in range(1, len(cost)):
            cost[a, p] = prices[a - 1, p, i]
            if cost[a, p] < low:
                low, start[p] = cost[a, p], a
        cost[0, p] = 0.0
        if action >= 0 and p == pattern:
            low, start[p] = cost[action, p], action
            for a in range(len(cost)):
                if a != action:
                    cost[a, p] = np.inf
        suffix[p] = suffix[p + 1] + low


class _Path(NamedTuple):
    """A walk: the label to try first at each pattern, the state there, the labels tried, what those before it cost."""

    start: Array
    state: Array
    tried: Array
    total: Array


class _SideRoom(NamedTuple):
    """The side constraints on one support: what labels weigh, and what patterns from each on weigh at the least."""

    weights: Array  # (R, K, P)
    lowest: Array  # (R, P + 1)
    highest: Array
    bounds: Array  # (R, 2)
    sums: Array  # (R, P + 1): of a walk, before each pattern


@compiled()
def _side_room(sides: Sides, n_labels: int, n_patterns: int) -> _SideRoom:
    R = len(sides.weights)
    ends = np.zeros((3, R, n_patterns + 1))
    return _SideRoom(np.zeros((R, n_labels, n_patterns)), ends[0], ends[1], np.zeros((R, 2)), ends[2])


@compiled()
def _enter_sides(sides: Sides, i: int, room: _SideRoom) -> None:
    for r in range(len(sides.weights)):
        room.bounds[r, 0], room.bounds[r, 1] = sides.lower[r, i], sides.upper[r, i]
        for p in range(room.weights.shape[2] - 1, -1, -1):
            low = high = 0.0
            for a in range(1, room.weights.shape[1]):
                weight = sides.weights[r, a - 1, p, i]
                room.weights[r, a, p] = weight
                low, high = min(low, weight), max(high, weight)
            room.lowest[r, p], room.highest[r, p] = room.lowest[r, p + 1] + low, room.highest[r, p + 1] + high


@compiled()
def _goes(room: _SideRoom, p: int, a: int) -> bool:
    """Return whether labelings that go on with a label at a pattern may keep the constraints; the sums move on."""
    for r in range(len(room.weights)):
        total = room.sums[r, p] + room.weights[r, a, p]
        room.sums[r, p + 1] = total
        if total + room.lowest[r, p + 1] > room.bounds[r, 1] or total + room.highest[r, p + 1] < room.bounds[r, 0]:
            return False
    return True


@compiled()
def _walk(
    child: Array,
    before: Array,
    cost: Array,
    suffix: Array,
    room: _SideRoom,
    path: _Path,
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
    start, state, tried, total = path
    nowhere, number, p = len(child) + 1, -1, 0
    weight = 0.0
    state[0], tried[0] = 0, 0
    while p >= 0:
        if tried[p] == K:
            p -= 1
            continue
        a = (start[p] + tried[p]) % K
        tried[p] += 1
        onward = child[state[p], a]
        if onward == nowhere:
            continue
        total[p + 1] = total[p] + cost[a, p]
        if total[p + 1] + suffix[p + 1] >= best or not _goes(room, p, a):
            continue
        if p + 1 < P:
            p += 1
            state[p], tried[p] = onward, 0
        elif summed:
            weight += float(np.exp(rate * (least - total[P])))
        else:
            best, number = float(total[P]), 0
            for q in range(P):
                number += before[state[q], (start[q] + tried[q] - 1) % K]
    return best, number, weight
