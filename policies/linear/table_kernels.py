"""Compiled parts of support tables: sums over contexts, and the sum over all labelings of a diagram.

The second looks at each state of a diagram once, from the last level up; walks.py has what turns round on the way down.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from milpcb.core.kernels import compiled

Array = npt.NDArray[Any]

# The product of weights above e^-600 is far from the least number.
LEAST_EXPONENT = 600.0


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
def weigh_supports(child: Array, first: Array, prices: Array, patterns: Array, rate: float, out: Array) -> None:
    """Fill ``out`` (n, K): -log of the summed exp(-rate * price) of all rows, by their label at a pattern (n,).

    ``prices`` are (n, K-1, P).

    Each state has the summed weights of the labelings below it. Weights are counted from the cheapest label of each
    pattern where that leaves none too small for a number, else from the least price below each state, ``low``.
    """
    K, P = child.shape[1], prices.shape[2]
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
            cost[p, a] = rate * prices[i, a - 1, p]
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
