"""Compiled parts of the branch and bound over integer weights; search_branching.py describes what they do.

Weights are fixed column by column; *level* k has k of them fixed. Its *patterns* are the combinations of values that
the contexts have in the columns still free. Arrays over patterns hold those of all levels one after the other: level k
has those from ``first[k]`` to ``first[k + 1]``. ``tables`` holds f for the level that is being searched and those above
it: ``room[k]`` is where the rows of level k begin, each ``width[k]`` long.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from milpcb.core.kernels import compiled, copy

Array = npt.NDArray[Any]


@compiled()
def branch(
    gains: Array,
    best: float,
    slack: float,
    most: float,
    weights: Array,
    bounds: Array,
    largest: int,
    limit: int,
    levels: Any,
) -> float:
    """Return ``best``, or the least total of the gains over all rules where that is less by more than ``slack``.

    Return -infinity where it takes more than ``most`` entries of tables to find out.
    ``weights`` (n,) then becomes weights that attain it; ``gains`` are those of the patterns of level 0. ``levels`` are
    those of search_branching.py: a pattern p of a level has ``value[p]`` in the next column, between its ``lowest`` and
    ``highest``, and is ``above[p]`` among the patterns of the next level. The columns still free move its scores by at
    most ``reach[left, p]`` when the features with a weight may still be ``left``.
    """
    _, lowest, highest, first, value, above, reach, room, width, tables = levels
    n = len(bounds)
    choices, floors = np.zeros((n, 2 * bounds.max() + 1), np.int64), np.zeros((n, 2 * bounds.max() + 1))
    taken, n_choices, now = np.zeros(n, np.int64), np.zeros(n, np.int64), np.zeros(n, np.int64)
    low, high, left = np.zeros(n + 1, np.int64), np.zeros(n + 1, np.int64), np.zeros(n + 1, np.int64)
    spare = np.empty(len(tables) - room[1])
    changes, queue = np.empty(width[n] + 2 * reach.max()), np.empty(width[n], np.int64)
    copy(gains, tables[0 : 2 * len(gains) : 2])
    tables[1 : 2 * len(gains) : 2] = 0.0
    left[0] = limit
    level, new, work = 0, True, 0.0
    while level >= 0 and work <= most:
        here, there = slice(first[level], first[level + 1]), slice(first[level + 1], first[level + 2])
        f = tables[room[level] : room[level + 1]].reshape((-1, width[level]))
        if new:
            child = spare[: room[level + 2] - room[level + 1]].reshape((-1, width[level + 1]))
            k = 0
            for w in range(-bounds[level], bounds[level] + 1):
                free = left[level] - _features(w, largest)
                if free < 0:
                    continue
                down, up = min(w * lowest[level], w * highest[level]), max(w * lowest[level], w * highest[level])
                span = high[level] + up - low[level] - down + 2
                _extend(f, high[level] - low[level] + 2, w, -down, value[here], above[here], child, span)
                floor = _floor(child, span, reach[free, there], changes, queue)
                work += len(child) * span
                if floor < best - slack:
                    choices[level, k], floors[level, k] = w, floor
                    k += 1
            ranks = np.argsort(floors[level, :k])
            copy(choices[level, :k][ranks], choices[level])
            copy(floors[level, :k][ranks], floors[level])
            taken[level], n_choices[level], new = 0, k, False
        if taken[level] == n_choices[level] or floors[level, taken[level]] >= best - slack:
            level -= 1
            continue
        w, floor = choices[level, taken[level]], floors[level, taken[level]]
        taken[level] += 1
        now[level] = w
        if level + 1 == n:
            best = floor
            copy(now, weights)
            continue
        down, up = min(w * lowest[level], w * highest[level]), max(w * lowest[level], w * highest[level])
        child = tables[room[level + 1] : room[level + 2]].reshape((-1, width[level + 1]))
        low[level + 1], high[level + 1] = low[level] + down, high[level] + up
        span = high[level + 1] - low[level + 1] + 2
        _extend(f, high[level] - low[level] + 2, w, -down, value[here], above[here], child, span)
        left[level + 1] = left[level] - _features(w, largest)
        level, new = level + 1, True
    return best if work <= most else -np.inf


@compiled()
def _features(weight: int, largest: int) -> int:
    """Return how many equal features it takes to give their column this weight."""
    return (abs(weight) + largest - 1) // largest


@compiled()
def _extend(
    f: Array, span: int, w: int, origin: int, value: Array, above: Array, child: Array, child_span: int
) -> None:
    """Fill the rows of ``child``, to its span, with those of f after the next column has the weight w.

    ``f[p, c]`` is the sum of the gains of the contexts of pattern p with scores of at least c, counted from the lowest
    score; f[p, span - 1] is 0. That score is ``origin`` in ``child``.
    """
    child[:, :child_span] = 0.0
    for p in range(len(above)):
        row, shift = child[above[p]], origin + w * value[p]
        for c in range(shift):
            row[c] += f[p, 0]
        for c in range(span):
            row[shift + c] += f[p, c]


@compiled()
def _floor(f: Array, span: int, reach: Array, changes: Array, queue: Array) -> float:
    """Return the least, over the cut, of the sum over patterns of the least f[p] within ``reach[p]`` of the cut.

    Left of its ``span`` entries a row goes on as its first, right as its last. ``changes[i]`` is by how much the sum
    changes at the cut i - reach.max(). The least of a window that moves right is the first of a ``queue`` of entries
    that increase: a new one drives out those that are not below it.
    """
    furthest = reach.max()
    changes[: span + 2 * furthest] = 0.0
    for p in range(len(f)):
        row, h, least = f[p], reach[p], f[p, 0]
        changes[0] += least
        queue[0], head, tail = 0, 0, 1
        for c in range(1, span + 2 * h):
            if c < span:
                while tail > head and row[queue[tail - 1]] >= row[c]:
                    tail -= 1
                queue[tail] = c
                tail += 1
            if queue[head] < c - 2 * h:
                head += 1
            changes[furthest - h + c] += row[queue[head]] - least
            least = row[queue[head]]
    best = now = float(changes[0])
    for i in range(1, span + 2 * furthest):
        now += changes[i]
        best = min(best, now)
    return best


@compiled()
def add_nested(has: Array, onward: Array, most: int, values: Array, sums: Array) -> None:
    """Add ``values`` (k, n) to ``sums`` (k, nodes, 1 + items), each context to the nodes of its own items."""
    own, node, taken = np.empty(has.shape[1], np.int64), np.zeros(most + 1, np.int64), np.zeros(most + 1, np.int64)
    for j in range(len(has)):
        n = 0
        for i in range(has.shape[1]):
            if has[j, i]:
                own[n] = i
                n += 1
        for k in range(len(values)):
            sums[k, 0, 0] += values[k, j]
            for q in range(n):
                sums[k, 0, 1 + own[q]] += values[k, j]
        level, taken[0] = 0, 0
        while level >= 0:
            q = taken[level]
            if level == most or q + 1 >= n:  # an item without later ones leads to a node without sums
                level -= 1
                continue
            taken[level] += 1
            below = onward[node[level], own[q]]
            for k in range(len(values)):
                into, value = sums[k, below], values[k, j]
                for later in range(q + 1, n):
                    into[1 + own[later]] += value
            level += 1
            node[level], taken[level] = below, q + 1
