"""The rows that a search by root cuts is asked about, sorted by each feature; compiled: those on one side of a cut.

A query at depth d is asked of all contexts, its parts at depth d - 1 of those on one side of a root cut. These are
never sorted anew: their order by a feature is the order of all, without those on the other side.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from milpcb.core.kernels import compiled
from milpcb.types import Floats
from policies.literals import Literals
from policies.semirings import NO_NAN, Array


class RootTable(NamedTuple):
    """n contexts with their costs, counted from the cheapest action of each, and with their C counts.

    ``numbers`` (n,) are those of the contexts among all; ``orders`` (d, n) sort them by each feature. ``codes`` (d, n)
    are how many of the feature's values here are smaller, and ``last`` (d,) is the largest of them: so a cut k of a
    feature holds where the code is at most k, k = 0 .. last - 1. ``gaps`` (d, n) mark, in order, where a cut may
    follow. ``first`` (n,) is what action 0 costs, ``differences`` (n, A) what the actions 1 to A cost more, ``spread``
    (n,) the dearest action; ``costs`` (d, A, n) are the differences in order. ``counts`` (n, C) and, in order,
    ``sizes`` (d, C, n) count rows. ``spreads`` (d, n + 1) and ``rows`` (d, C, n + 1) are sums of spread and counts
    over the codes below each.
    """

    numbers: Array
    orders: Array
    codes: Array
    last: Array
    gaps: Array
    first: Array
    differences: Array
    spread: Array
    costs: Array
    counts: Array
    sizes: Array
    spreads: Array
    rows: Array


def all_rows(literals: Literals, orders: Array, costs: Floats, counts: Floats) -> RootTable:
    """Return the table of all contexts, which ``orders`` (d, g) sort, with ``costs`` (g, K) and ``counts`` (g, C)."""
    least = costs.min(axis=1)
    first = costs[:, 0] - least
    differences = np.ascontiguousarray(costs[:, 1:] - costs[:, :1])
    everyone = np.ones(len(costs), np.bool_)
    numbers = np.arange(len(costs), dtype=np.int32)
    rows = numbers, orders, literals.codes.astype(np.int32), first, differences, costs.max(axis=1) - least, counts
    return RootTable(*_kept(*rows, everyone))


def side_rows(table: RootTable, feature: int, cut: int, *, holds: bool) -> RootTable:
    """Return the rows where a cut of a feature holds, or those where it fails."""
    here = (table.codes[feature] <= cut) == holds
    return kept_rows(table, here)


def kept_rows(table: RootTable, here: Array) -> RootTable:
    """Return the rows that ``here`` (n,) marks."""
    rows = table.numbers, table.orders, table.codes, table.first, table.differences, table.spread, table.counts
    return RootTable(*_kept(*rows, here))


@compiled(NO_NAN)
def _kept(
    numbers: Array,
    orders: Array,
    codes: Array,
    first: Array,
    differences: Array,
    spread: Array,
    counts: Array,
    here: Array,
) -> tuple[Array, ...]:
    """Return the parts of a table of the rows that ``here`` (n,) marks, of those of the table of all."""
    d, n, n_differences, n_counts = len(orders), here.sum(), differences.shape[1], counts.shape[1]
    place = np.cumsum(here) - 1
    new_orders, new_codes = np.empty((d, n), np.int32), np.empty((d, n), np.int32)
    last, gaps = np.empty(d, np.int32), np.zeros((d, n), np.bool_)
    costs, sizes = np.empty((d, n_differences, n)), np.empty((d, n_counts, n))
    spreads, rows = np.zeros((d, n + 1)), np.zeros((d, n_counts, n + 1))
    for f in range(d):
        t, code, before = 0, -1, -1
        for j in orders[f]:
            if not here[j]:
                continue
            if codes[f, j] != before:
                before, code = codes[f, j], code + 1
                spreads[f, code + 1] = spreads[f, code]
                for c in range(n_counts):
                    rows[f, c, code + 1] = rows[f, c, code]
                if t > 0:
                    gaps[f, t - 1] = True
            new_orders[f, t], new_codes[f, place[j]] = place[j], code
            for a in range(n_differences):
                costs[f, a, t] = differences[j, a]
            for c in range(n_counts):
                sizes[f, c, t] = counts[j, c]
                rows[f, c, code + 1] += counts[j, c]
            spreads[f, code + 1] += spread[j]
            t += 1
        last[f] = code
    return (
        numbers[here],
        new_orders,
        new_codes,
        last,
        gaps,
        first[here],
        differences[here],
        spread[here],
        costs,
        counts[here],
        sizes,
        spreads,
        rows,
    )
