"""Compiled: the sums over contexts that the prices of support tables are made of."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from milpcb.core.kernels import compiled

Array = npt.NDArray[Any]


@compiled()
def add_nested(has: Array, onward: Array, most: int, values: Array, sums: Array) -> None:
    """Add the sums of ``values`` (k, g) to ``sums`` (k, nodes, 1 + items); see nested_sums.py.

    ``has`` (g, items) is 1 where a context has an item and 0 where not. A context is added to the nodes of its own
    items alone, which are few: it has at most one item of each column.
    """
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
