"""Branch and bound on the weights of linear rules, for two actions and any number of features.

Weights are fixed one column at a time, first those whose values go most with the gains g_j = costs[j, 1] - costs[j, 0].
At a node, all contexts that have the same values in the columns still free, a pattern r, will get the same shift of
their scores, at most R_r up or down. With f_r(c) the sum of g_j over the contexts of r with a score so far >= c,
    min over cuts t of sum_r min_{|delta| <= R_r} f_r(t - delta)
is a lower bound, and it is the least total cost when no column is free: no tolerance decides.

The first incumbent is the last optimum. So values do not depend on what was asked before, but which of several best
rules is returned may.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from milpcb.errors import SearchTooLargeError
from milpcb.protocols import Search
from milpcb.types import Floats, Ints
from policies.linear.geometry import Scored, ScoringRule

# Numbers held by a query: 160 MB.
MOST_HELD = 2 * 10**7
# Levels until a solver is asked, where columns are of many values: most of what ends early ends at the first.
BRIEF = 1.0
# Whole gains add up exactly; others to this share of their absolute sum.
_ROUNDING = 1e-13


class BranchingSearch(Search):
    """The search on fixed contexts.

    A query of more than ``most`` times the steps of the first level, entries of tables, ends in SearchTooLargeError.
    """

    def __init__(self, scored: Scored, most: float = np.inf) -> None:
        self._scored, self._most = scored, most
        self._X = np.rint(scored.table()).astype(np.int64)
        self._bounds = scored.max_weight * scored.copies
        self._last = np.zeros(len(self._bounds), dtype=np.int64)

    def value(self, costs: Floats) -> float:
        """Return the least total cost."""
        return self.minimise(costs)[0]

    def minimise(self, costs: Floats) -> tuple[float, ScoringRule]:
        """Return the least total cost and a rule that attains it."""
        weights, labels = self._solve(costs[:, 1] - costs[:, 0])
        return float(costs[np.arange(len(costs)), labels].sum()), self._scored.rule(weights, labels)

    def profile(self, costs: Floats, row: int) -> Floats:
        """Return V[a]: the least cost, and once more with the other action at ``row`` for sure."""
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
        """Return the total weights of the columns and the labels (g,) that cost least."""
        matter = np.flatnonzero(gains)
        if len(matter) and len(self._bounds):
            self._last = self._search(self._X[matter], gains[matter])
        scores = self._X @ self._last
        return self._last, (scores >= _best_cut(scores, gains)).astype(np.int64)

    def _search(self, X: Ints, gains: Floats) -> Ints:
        """Return total weights that cost least, some cut given; only contexts whose gains are not 0 are handed over."""
        from policies.linear.kernels import branch  # with it numba, which takes a second to import

        bounds, largest, limit = self._bounds, self._scored.max_weight, self._scored.limit
        order = np.argsort(-np.abs(gains @ (X - X.mean(axis=0))), kind="stable")
        scores, found = X @ self._last, self._last[order]
        known = min(0.0, float(gains[scores >= _best_cut(scores, gains)].sum()))
        whole = bool((gains == np.rint(gains)).all())
        slack = 0.5 if whole else _ROUNDING * float(np.abs(gains).sum())
        levels = _levels(X[:, order], bounds[order], self._scored.copies[order], largest, limit)
        limits = bounds[order], largest, limit
        most = self._most * (2 * int(limits[0][0]) + 1) * int(levels.first[2] - levels.first[1]) * int(levels.width[1])
        if branch(gains[levels.context], known, slack, most, found, *limits, levels) == -np.inf:
            raise SearchTooLargeError(f"branch and bound takes more than {most:.0e} steps: use kind 'milp'")
        weights = np.empty_like(found)
        weights[order] = found
        return weights


def too_wide(scored: Scored) -> str:
    """Return why scores span too much for the search and what would fix it, or nothing when they do not."""
    table = np.rint(scored.table()).astype(np.int64)
    span = int(scored.max_weight * scored.copies @ np.ptp(table, axis=0))
    if span * len(table) <= MOST_HELD:
        return ""
    return (
        f"scores span {span} points on {len(table)} contexts, more than {MOST_HELD:.0e} numbers to hold: "
        f"give large values in larger units or in classes, or use oracle kind 'milp'"
    )


class _Levels(NamedTuple):
    """Input of the kernel: the columns in the order of the search; see kernels.py."""

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
    """Return the patterns of each level, from the last, which has one, to level 0."""
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
