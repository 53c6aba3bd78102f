"""Sums over the contexts that have given values in given columns, for all small sets of columns at once."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import prod

import numpy as np

from milpcb.types import Floats, Ints


class NestedSums:
    """Sums over the contexts that have given values in given columns.

    An *item* is a column and one of its values, the lowest left out. A *node* is a set of at most ``most`` items of
    different columns. There is a sum for each node and one further item of a later column, or none. A context is added
    to the sums of its own items (table_kernels.py), so a query takes far less than a pass over the contexts for each
    node.
    """

    def __init__(self, codes: Ints, sizes: Sequence[int], most: int) -> None:
        """Take the values (columns, g) of contexts, as numbers from 0 up, and how many there are of each column."""
        self._most = max(most, 0)
        self._owner = np.repeat(np.arange(len(sizes)), np.array(sizes, dtype=np.int64) - 1)
        self._begin = np.searchsorted(self._owner, np.arange(len(sizes)))
        value = 1 + np.arange(len(self._owner)) - self._begin[self._owner]
        self._has = np.ascontiguousarray((codes[self._owner] == value[:, None]).T.astype(float))
        self._next = _nodes(self._owner, self._most)

    def sums(self, values: Floats) -> Floats:
        """Return the sums of the columns of ``values`` (g, k), as (k, all of them)."""
        from policies.linear.table_kernels import add_nested  # with it numba, which takes a second to import

        sums = np.zeros((values.shape[1], len(self._next), 1 + len(self._owner)))
        add_nested(self._has, self._next, self._most, np.ascontiguousarray(values.T), sums)
        return sums.reshape(len(sums), -1)

    def places(self, supports: Ints, sizes: tuple[int, ...]) -> Ints:
        """Return where the sum of each pattern of each support (n, s) is, (P, n); the lowest value means any value."""
        order = np.argsort(supports, axis=1)
        first = self._begin[np.take_along_axis(supports, order, axis=1)]
        places = np.empty((prod(sizes), len(supports)), dtype=np.int64)
        for p, codes in enumerate(product(*map(range, sizes))):
            node, last = (np.zeros(len(supports), dtype=np.int64) for _ in range(2))
            for code, start in zip(np.array(codes, dtype=np.int64)[order].T, first.T, strict=True):
                taken = code > 0
                node = np.where(taken & (last > 0), self._next[node, last - 1], node)
                last = np.where(taken, start + code, last)
            places[p] = node * (1 + len(self._owner)) + last
        return places


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
