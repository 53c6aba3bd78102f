"""Compiled: sets of literals by rank, those of one size in the order in which the lowest literal moves first."""

from __future__ import annotations

from milpcb.core.kernels import compiled
from policies.semirings import Array
from policies.trees.state_arrays import Sets


@compiled()
def next_set(chosen: Array, size: int) -> int:
    """Move to the set of ``size`` literals of the next rank; return at which place it is first as before."""
    i = 0
    while i + 1 < size and chosen[i] + 1 == chosen[i + 1]:
        chosen[i] = i
        i += 1
    if size:
        chosen[i] += 1
    return i + 1


@compiled()
def number(chosen: Array, size: int, without: int, sets: Sets) -> int:
    """Return the number of the set of the first ``size`` literals of ``chosen``, but for that at place ``without``."""
    rank = place = 0
    for i in range(size):
        if i != without:
            place += 1
            rank += sets.binomial[chosen[i], place]
    return int(sets.first[place] + rank)


@compiled()
def children(chosen: Array, size: int, sets: Sets) -> None:
    """Fill child (p,), the rank of the set with each literal g, -1 where g is in it; place (p,), that of g there."""
    below, over, i = 0, 0, 0
    for j in range(size):
        over += sets.binomial[chosen[j], j + 2]
    for g in range(len(sets.child)):
        sets.place[g] = i
        if i < size and chosen[i] == g:
            sets.child[g] = -1
            below += sets.binomial[g, i + 1]
            over -= sets.binomial[g, i + 2]
            i += 1
        else:
            sets.child[g] = below + sets.binomial[g, i + 1] + over
