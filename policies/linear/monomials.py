"""Sums over the contexts that have given values in given columns, for all small sets of columns at once."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import prod

import numpy as np

from milpcb.types import Floats, Ints


def n_nodes(sizes: Sequence[int], most: int) -> int:
    """Return the number of nodes of Monomials."""
    by_size = [1] + [0] * max(most, 0)
    for size in sizes:
        by_size = [n + (size - 1) * (by_size[k - 1] if k else 0) for k, n in enumerate(by_size)]
    return sum(by_size)


class Monomials:
    """Sums over the contexts that have given values in given columns.

    An *item* is a column and one of its values, the lowest left out. A *node* is a set of at most ``most`` items of
    different columns. There is a sum for each node and one further item, or none: a matrix product.
    """

    def __init__(self, codes: Ints, sizes: Sequence[int], n_contexts: int, most: int) -> None:
        self._owner = np.repeat(np.arange(len(sizes)), np.array(sizes, dtype=np.int64) - 1)
        self._first = np.searchsorted(self._owner, np.arange(len(sizes)))
        value = 1 + np.arange(len(self._owner)) - self._first[self._owner]
        self._one_more = np.vstack([np.ones(n_contexts), codes[self._owner] == value[:, None]])  # (1 + items, g)
        self._has = np.ones((1, n_contexts))  # (nodes, g)
        self._next = np.zeros((1, len(value)), dtype=np.int64)  # (nodes, items): the node with that item added
        newest, last = np.zeros(1, dtype=np.int64), np.array([-1])  # the nodes of the largest size, their last column
        for _ in range(most):
            newest, last = self._grow(newest, last)

    def sums(self, rises: Floats) -> Floats:
        """Return all sums of the columns of ``rises`` (g, K-1), as (K-1, sums)."""
        weighted = rises.T[:, None] * self._one_more
        return np.asarray((self._has @ np.swapaxes(weighted, 1, 2)).reshape(rises.shape[1], -1))

    def places(self, supports: Ints, sizes: tuple[int, ...]) -> Ints:
        """Return where the sum of each pattern of each support (n, s) is, (n, P); the lowest value means any value."""
        order = np.argsort(supports, axis=1)
        first = self._first[np.take_along_axis(supports, order, axis=1)]
        places = np.empty((len(supports), prod(sizes)), dtype=np.int64)
        for p, codes in enumerate(product(*map(range, sizes))):
            node, last = (np.zeros(len(supports), dtype=np.int64) for _ in range(2))
            for code, start in zip(np.array(codes, dtype=np.int64)[order].T, first.T, strict=True):
                taken = code > 0
                node = np.where(taken & (last > 0), self._next[node, last - 1], node)
                last = np.where(taken, start + code, last)
            places[:, p] = node * len(self._one_more) + last
        return places

    def _grow(self, newest: Ints, last: Ints) -> tuple[Ints, Ints]:
        """Add each item of a later column to the newest nodes; return the nodes that come of it."""
        parent, item = np.nonzero(last[:, None] < self._owner)
        added = len(self._has) + np.arange(len(parent))
        self._next[newest[parent], item] = added
        self._has = np.vstack([self._has, self._has[newest[parent]] * self._one_more[1 + item]])
        self._next = np.vstack([self._next, np.zeros((len(added), len(self._owner)), dtype=np.int64)])
        return added, self._owner[item]
