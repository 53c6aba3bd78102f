"""Branch and bound on the weights of linear rules, for two actions and any number of features.

Weights are fixed one column at a time, first those whose values go most with the gains g_j = costs[j, 1] - costs[j, 0].
At a node, all contexts that have the same values in the columns still free, a pattern r, will get the same shift of
their scores, at most R_r up or down. With f_r(c) the sum of g_j over the contexts of r with a score so far >= c,
    min over cuts t of sum_r min_{|delta| <= R_r} f_r(t - delta)
is a lower bound, and it is the least total cost when no column is free: no tolerance decides. The first incumbent is
the better constant.

In the compiled part, *level* k has k of the weights fixed. Its *patterns* are the combinations of values that contexts
have in the columns still free: those from ``first[k]`` to ``first[k + 1]`` in arrays over patterns. ``tables`` holds f
for the level at hand and those above it: ``room[k]`` is where the rows of level k begin, each ``width[k]`` long.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from milpcb.core.kernels import compiled, copy
from milpcb.protocols import Search
from milpcb.types import Floats, Ints
from policies.linear.geometry import Scored, ScoringRule

Array = npt.NDArray[Any]
# Whole gains add up exactly; others to this share of their absolute sum.
_ROUNDING = 1e-13


class BranchingSearch(Search):
    """The search on fixed contexts."""

    def __init__(self, scored: Scored) -> None:
        self._scored = scored
        self._X = np.rint(scored.table()).astype(np.int64)
        self._bounds = scored.max_weight * scored.copies

    def value(self, costs: Floats) -> float:
        return self.minimise(costs)[0]

    def minimise(self, costs: Floats) -> tuple[float, ScoringRule]:
        weights, labels = self._solve(costs[:, 1] - costs[:, 0])
        return float(costs[np.arange(len(costs)), labels].sum()), self._scored.rule(weights, labels)

    def profile(self, costs: Floats, row: int) -> Floats:
        each, gains = np.arange(len(costs)), costs[:, 1] - costs[:, 0]
        _, labels = self._solve(gains)
        best = int(labels[row])
        total = float(np.abs(gains).sum())
        gains[row] = (1.0 if best else -1.0) * (total + (total or 1.0))  # in the unit of the costs
        _, others = self._solve(gains)
        profile = np.empty(2)
        profile[best], profile[1 - best] = costs[each, labels].sum(), costs[each, others].sum()
        return profile

    def _solve(self, gains: Floats) -> tuple[Ints, Ints]:
        matter, weights = np.flatnonzero(gains), np.zeros(len(self._bounds), dtype=np.int64)
        if len(matter) and len(weights):
            weights = self._search(self._X[matter], gains[matter])
        scores = self._X @ weights
        return weights, (scores >= _best_cut(scores, gains)).astype(np.int64)

    def _search(self, X: Ints, gains: Floats) -> Ints:
        bounds, largest, limit = self._bounds, self._scored.max_weight, self._scored.limit
        order = np.argsort(-np.abs(gains @ (X - X.mean(axis=0))), kind="stable")
        known, found = min(0.0, float(gains.sum())), np.zeros(len(bounds), dtype=np.int64)
        whole = bool((gains == np.rint(gains)).all())
        slack = 0.5 if whole else _ROUNDING * float(np.abs(gains).sum())
        levels = _levels(X[:, order], bounds[order], self._scored.copies[order], largest, limit)
        branch(gains[levels.context], known, slack, found, bounds[order], largest, limit, levels)
        weights = np.empty_like(found)
        weights[order] = found
        return weights


class _Levels(NamedTuple):
    context: Ints  # of each pattern of level 0
    lowest: Ints
    highest: Ints
    first: Ints
    value: Ints
    above: Ints
    reach: Ints
    room: Ints
    width: Ints
    tables: Floats


def _levels(X: Ints, bounds: Ints, copies: Ints, largest: int, limit: int) -> _Levels:
    n, lowest = X.shape[1], X.min(axis=0)
    sizes = np.ptp(X, axis=0) + 1
    ids, context = np.zeros(len(X), dtype=np.int64), np.zeros(1, dtype=np.int64)
    values, above = [], []
    reach = [np.zeros((limit + 1, 1), dtype=np.int64)]
    for k in reversed(range(n)):
        keys, context, ids = np.unique(ids * sizes[k] + X[:, k] - lowest[k], return_index=True, return_inverse=True)
        values.append(keys % sizes[k] + lowest[k])
        above.append(keys // sizes[k])
        reach.append(_reach(np.repeat(np.abs(X[context, k:]), copies[k:], axis=1), largest, limit))
    counts = np.array([len(level) for level in values[::-1]] + [1])
    width = 2 + np.concatenate([[0], np.cumsum(bounds * (sizes - 1))])
    room = np.concatenate([[0], np.cumsum(counts * width)])
    return _Levels(
        context=context,
        lowest=lowest,
        highest=X.max(axis=0),
        first=np.concatenate([[0], np.cumsum(counts)]),
        value=np.concatenate(values[::-1]),
        above=np.concatenate(above[::-1]),
        reach=np.ascontiguousarray(np.hstack(reach[::-1])),
        room=room,
        width=width,
        tables=np.empty(room[-1]),
    )


def _reach(sizes: Ints, largest: int, limit: int) -> Ints:
    """Return (limit + 1, patterns): how far 0, 1, ... of the features (patterns, features) can move a score."""
    most_first = np.sort(sizes, axis=1)[:, ::-1]
    sums = np.hstack([np.zeros((len(sizes), 1), dtype=np.int64), np.cumsum(most_first, axis=1)])
    return largest * sums[:, np.minimum(np.arange(limit + 1), sizes.shape[1])].T


def _best_cut(scores: Ints, gains: Floats) -> float:
    """Return the cut from which on the gains add up to least; of equals the highest, above all scores if need be."""
    cuts, place = np.unique(scores, return_inverse=True)
    from_here = np.cumsum(np.bincount(place, weights=gains)[::-1])
    best = int(from_here.argmin())
    return float(cuts[::-1][best]) if from_here[best] < 0 else np.inf


@compiled()
def branch(
    gains: Array,
    best: float,
    slack: float,
    weights: Array,
    bounds: Array,
    largest: int,
    limit: int,
    levels: _Levels,
) -> None:
    """Fill ``weights`` (n,) by a rule of least total, if that is below ``best`` by more than ``slack``.

    The ``gains`` are those of the patterns of level 0. A pattern p of a level has ``value[p]`` in the next column,
    between its ``lowest`` and ``highest``, and is ``above[p]`` among the patterns of the next level. The columns still
    free move its scores by at most ``reach[left, p]`` when the features with a weight may still be ``left``.
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
    level, new = 0, True
    while level >= 0:
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


@compiled()
def _features(weight: int, largest: int) -> int:
    """Return how many equal features it takes to give their column this weight."""
    return (abs(weight) + largest - 1) // largest


@compiled()
def _extend(
    f: Array, span: int, w: int, origin: int, value: Array, above: Array, child: Array, child_span: int
) -> None:
    """Fill the rows of ``child``, to its span, with f moved by w times the next column from ``origin`` on."""
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
