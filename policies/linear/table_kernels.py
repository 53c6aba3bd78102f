"""Compiled parts of support tables: sums over contexts, and the sum over all labelings of a diagram.

The second looks at each state of a diagram once, from the last level up; walks.py has what turns round on the way down.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from milpcb.core.kernels import compiled
from policies.semirings import add_sums, cost_of

Array = npt.NDArray[Any]

# The product of weights above e^-600 is far from the least number.
LEAST_EXPONENT = 600.0


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
            out[i, action] = cost_of(1.0, far if plain else low[0], weight[0]) if weight[0] else np.inf


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
            low[s] = np.inf
            for a in range(from_label, to_label):
                low[s], total = add_sums(1.0, low[s], total, cost[a] + low[child[s, a]], weight[child[s, a]])
        weight[s] = total
