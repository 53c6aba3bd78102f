"""Sums over the contexts that have given values in given columns, for all small sets of columns at once.

An *item* is a column and one of its values, the lowest left out. A *node* is a set of at most ``most`` items of
different columns. There is a sum for each node and one further item of a later column, or none. A context is added to
the sums of its own items alone, which are few, so a query takes far less than a pass over the contexts for each node.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import prod

import numpy as np

from milpcb.core.kernels import compiled
from milpcb.types import Floats, Ints


@compiled()
def add_nested(has: Floats, onward: Ints, most: int, values: Floats, sums: Floats) -> None:
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


class NestedSums:
    """The sums for columns that take so many values each, ``sizes``."""

    def __init__(self, sizes: Sequence[int], most: int) -> None:
        self._most = max(most, 0)
        self._owner = np.repeat(np.arange(len(sizes)), np.array(sizes, dtype=np.int64) - 1)
        self._begin = np.searchsorted(self._owner, np.arange(len(sizes)))
        self._value = 1 + np.arange(len(self._owner)) - self._begin[self._owner]
        self._next = _nodes(self._owner, self._most)

    def sums(self, codes: Ints, values: Floats) -> Floats:
        """Return the sums of the columns of ``values`` (n, k), as (k, all of them).

        ``codes`` (columns, n) are the numbers of the values that contexts have in each column, from 0 up.
        """
        has = np.ascontiguousarray((codes[self._owner] == self._value[:, None]).T.astype(float))
        sums = np.zeros((values.shape[1], len(self._next), 1 + len(self._owner)))
        add_nested(has, self._next, self._most, np.ascontiguousarray(values.T), sums)
        return sums.reshape(len(sums), -1)

    def places(self, sets: Ints, sizes: Sequence[int]) -> Ints:
        """Return where the sum of each pattern of each set of columns (n, s) is, (P, n).

        Patterns, the combinations of values, count the last column fastest; the lowest value means any value.
        """
        order = np.argsort(sets, axis=1)
        first = self._begin[np.take_along_axis(sets, order, axis=1)]
        places = np.empty((prod(sizes), len(sets)), dtype=np.int64)
        for p, codes in enumerate(product(*map(range, sizes))):
            node, last = (np.zeros(len(sets), dtype=np.int64) for _ in range(2))
            for code, start in zip(np.array(codes, dtype=np.int64)[order].T, first.T, strict=True):
                taken = code > 0
                node = np.where(taken & (last > 0), self._next[node, last - 1], node)
                last = np.where(taken, start + code, last)
            places[p] = node * (1 + len(self._owner)) + last
        return places


def by_pattern(sums: Floats, places: Ints, sizes: Sequence[int]) -> Floats:
    """Return the sums (k, P, n) of each pattern: the lowest value has what all have, less the others'."""
    found = sums.take(places, axis=1)
    by_value = found.reshape(len(sums), *sizes, places.shape[1])
    for axis in range(1, 1 + len(sizes)):
        lowest, *others = np.moveaxis(by_value, axis, 0)
        for other in others:
            lowest -= other
    return found


def _nodes(owner: Ints, most: int) -> Ints:
    """Return of each node the node (nodes, items) with each item more; 0 for items that are not of a later column."""
    after = np.searchsorted(owner, owner, side="right")  # of each item the first one of a later column
    newest = later = np.zeros(1, dtype=np.int64)
    grown: list[tuple[Ints, Ints, Ints]] = []
    n_nodes = 1
    for _ in range(most):
        parent, item = np.nonzero(later[:, None] <= np.arange(len(owner)))
        added = n_nodes + np.arange(len(parent))
        grown.append((newest[parent], item, added))
        newest, later, n_nodes = added, after[item], n_nodes + len(added)
    onward = np.zeros((n_nodes, len(owner)), dtype=np.int64)
    for parents, items, added in grown:
        onward[parents, items] = added
    return onward
