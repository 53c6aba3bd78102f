"""Compiled passes over the contexts: the total costs of those on which a set of literals all hold, each set once.

Let S be a set of k < D of the p literals. Its *totals* are, for each action a = 1..K-1 and each literal g,

    totals[S, a, g] = sum_j (costs[j, a] - costs[j, 0]) over the contexts j where all of S and g hold

and, with the constant literal p that always holds, totals[S, a, p], that without g. So a set of k + 1 literals has one
total, which is needed at k + 1 places, one for each literal that comes last; it is added up once and copied. Where g is
in S, it is that of S.

Sets of one size are numbered by (s_1 choose 1) + (s_2 choose 2) + ..., s_1 < s_2 < ..., which is their *rank*; those
of smaller sizes come first.

Contexts are gone through depth first: below a set of D - 2 literals, all pairs of higher ones are added up together
(``add_up``). On the way there the contexts on which the set holds are gathered, but at the last level, where their
costs are multiplied by the literal. Literals are *turned* so that they hold at no more than half of the contexts.

The arrays are those of policies/trees/state_arrays.py.
"""

from __future__ import annotations

import numpy as np

from milpcb.core.kernels import compiled
from policies.semirings import Array
from policies.trees.block import LANES
from policies.trees.set_ranks import children, number
from policies.trees.state_arrays import Given, Sets

# Totals may add up in any order: in range, integers are exact in any. No kernel makes NaN.
_ANY_ORDER = {"reassoc", "contract", "nnan", "nsz"}


@compiled()
def fill_totals(depth: int, n: int, given: Given, sets: Sets) -> None:
    """Fill the totals of all sets of less than ``depth`` >= 3 literals, from the differences of ``n`` contexts."""
    p, inner, chosen = len(sets.binomial) - 1, depth - 2, sets.chosen
    literals, costs, weighted, pairs, totals = given.literals, given.costs, given.weighted, given.pairs, given.totals
    held = np.empty(inner, np.int64)
    level, held[0], chosen[0] = 0, n, 0
    _sum_up(costs[0, 0], n, pairs)
    _keep(0, p, p, pairs, sets, chosen, totals)
    while level >= 0:
        f = chosen[level]
        if f == p:
            level -= 1
            chosen[max(level, 0)] += 1
        elif level == inner - 1:
            restrict(literals[level], f, held[level], costs[level])
            add_up(literals[level], costs[level, 1], held[level], weighted, pairs, f + 1, p + 1, p)
            _keep_pairs(inner, pairs, sets, chosen, totals)
            chosen[level] += 1
        else:
            held[level + 1] = _gather(f, level, held[level], literals, costs, given.rows)
            level += 1
            _sum_up(costs[level, 0], held[level], pairs)
            _keep(level, p, p, pairs, sets, chosen, totals)
            chosen[level] = f + 1


@compiled(_ANY_ORDER)
def add_up(
    literals: Array, costs: Array, n: int, weighted: Array, pairs: Array, first: int, last: int, column: int
) -> None:
    """Fill pairs[a, f, g] = sum_j literals[f, j] literals[g, j] costs[a, j] for first <= f < last, min(f, column) <= g.

    Two f and four g at a time: one pass over six rows makes eight sums, kept in registers.
    """
    n_actions, stop, block, zero = pairs.shape[0], pairs.shape[1] - 1, costs.shape[2], pairs.dtype.type(0.0)
    pairs[:, first:] = zero
    for b in range((n + block - 1) // block):
        held, cost, width = literals[b], costs[b], _padded(min(block, n - b * block))
        for f in range(first, last, 2):
            for a in range(n_actions):
                for j in range(width):
                    weighted[0, a, j] = cost[a, j] * held[f, j]
                    weighted[1, a, j] = cost[a, j] * held[f + 1, j]
            for g in range(min(f, column), stop, 4):
                for a in range(n_actions):
                    s0 = s1 = s2 = s3 = t0 = t1 = t2 = t3 = zero
                    for j in range(width):
                        s, t = weighted[0, a, j], weighted[1, a, j]
                        s0, t0 = s0 + s * held[g, j], t0 + t * held[g, j]
                        s1, t1 = s1 + s * held[g + 1, j], t1 + t * held[g + 1, j]
                        s2, t2 = s2 + s * held[g + 2, j], t2 + t * held[g + 2, j]
                        s3, t3 = s3 + s * held[g + 3, j], t3 + t * held[g + 3, j]
                    for i, (s, t) in enumerate(((s0, t0), (s1, t1), (s2, t2), (s3, t3))):
                        pairs[a, f, g + i] += s
                        pairs[a, f + 1, g + i] += t


@compiled()
def _padded(n: int) -> int:
    return (n + LANES - 1) // LANES * LANES


@compiled(_ANY_ORDER)
def _sum_up(costs: Array, n: int, pairs: Array) -> None:
    """Fill pairs[., p, p] with the sums of ``costs`` (blocks, A, B) over ``n`` contexts."""
    block, last = costs.shape[2], pairs.shape[1] - 2
    for a in range(len(pairs)):
        total = pairs.dtype.type(0.0)
        for b in range((n + block - 1) // block):
            for j in range(_padded(min(block, n - b * block))):
                total += costs[b, a, j]
        pairs[a, last, last] = total


@compiled()
def restrict(literals: Array, f: int, n: int, costs: Array) -> None:
    """Fill costs[1] with the differences of ``n`` contexts where the literal f holds."""
    block = costs.shape[3]
    for b in range((n + block - 1) // block):
        for a in range(costs.shape[2]):
            for j in range(_padded(min(block, n - b * block))):
                costs[1, b, a, j] = costs[0, b, a, j] * literals[b, f, j]


@compiled()
def _gather(f: int, level: int, n: int, literals: Array, costs: Array, rows: Array) -> int:
    """Fill the next level with the contexts of this one where the literal f holds, and return their number.

    Only literals above f are asked for below it. Behind the last context costs are 0.
    """
    block, n_rows, n_actions = literals.shape[3], literals.shape[2], costs.shape[3]
    count = 0
    for j in range(n):
        b, i = j // block, j % block
        rows[0, count], rows[1, count] = b * n_rows * block + i, b * n_actions * block + i
        count += 1 if literals[level, b, f, i] else 0
    source, target = literals[level].ravel(), literals[level + 1]
    source_costs, target_costs = costs[level, 0].ravel(), costs[level + 1, 0]
    for b in range((count + block - 1) // block):
        start, width = b * block, min(block, count - b * block)
        for a in range(n_actions):
            for i in range(width):
                target_costs[b, a, i] = source_costs[rows[1, start + i] + a * block]
            for i in range(width, _padded(width)):
                target_costs[b, a, i] = 0.0
        for g in range(f + 1, n_rows - 3):
            for i in range(width):
                target[b, g, i] = source[rows[0, start + i] + g * block]
    return count


@compiled()
def _keep(size: int, f: int, g: int, pairs: Array, sets: Sets, chosen: Array, totals: Array) -> None:
    """Copy the total pairs[., f, g] of a set of ``size`` literals, less than D, to all its places."""
    p, own = len(sets.binomial) - 1, number(chosen, size, size, sets)
    for a in range(len(pairs)):
        totals[own, a, p] = pairs[a, f, g]
    for i in range(size):
        without, u = number(chosen, size, i, sets), chosen[i]
        for a in range(len(pairs)):
            totals[without, a, u] = totals[own, a, u] = pairs[a, f, g]


@compiled()
def _keep_pairs(inner: int, pairs: Array, sets: Sets, chosen: Array, totals: Array) -> None:
    """Copy the totals of the set of ``inner`` literals, alone and with one and two higher ones, to all their places.

    The total with u and a higher v is in the row of the set with v where u is no higher than the set: the rows of sets
    come in such an order that it is in the row of the set with u already, from where it is fetched. So what is written
    for one set stays in the cache, which places of totals that are all over the table would not.
    """
    p, n_actions = len(sets.binomial) - 1, len(pairs)
    higher, begin = chosen[inner - 1] + 1, sets.first[inner + 1]
    _keep(inner, p, p, pairs, sets, chosen, totals)
    for f in range(higher, p):
        chosen[inner] = f
        _keep(inner + 1, f, p, pairs, sets, chosen, totals)
    children(chosen, inner, sets)
    for u in range(p):
        if sets.child[u] < 0:
            continue
        row = begin + sets.child[u]
        for a in range(n_actions):
            for v in range(max(u + 1, higher), p):
                if u >= higher:
                    totals[row, a, v] = pairs[a, u, v]
                totals[begin + sets.child[v], a, u] = totals[row, a, v]
