"""The compiled recursion over the leaves of all trees of one depth; the leaves are those of policies/trees/terms.py."""

from __future__ import annotations

import numpy as np

from milpcb.core.kernels import compiled
from policies.semirings import NO_NAN, Array, Soft, add_all


@compiled(NO_NAN)
def fold(soft: Soft, depth: int, totals: Array, place: Array, best: Array, own: Array, ways: Array) -> None:
    """Fill own[0] (K,): the answers of all trees by the action they play at a context, from the ``totals`` of leaves.

    ``place`` (p^depth, K) numbers the leaves that the context may reach. An answer is the least total where ``soft`` is
    None; where it is a float (its value is not used), -log of the summed exp(-total). Working space: best (1 + 2 p +
    ... + (2 p)^depth,), the answers of the subtrees below each path, the shortest first; own (p^depth, K), those below
    each path of the context; ways (max(p, 1),).

    Paths of a length are numbered as numbers of base 2 p with the digits 2 f + s, those of the context as numbers of
    base p; so what is below path i of all is at 2 p i + 1 and after.
    """
    n_own, n_actions = place.shape
    p, n_paths = len(ways), len(totals) // n_actions
    first = len(best) - n_paths
    below = best[first:]  # of the paths of the level
    for path in range(n_paths):
        below[path] = add_all(soft, totals[path * n_actions : (path + 1) * n_actions])
    for i in range(n_own):
        for a in range(n_actions):
            own[i, a] = totals[place[i, a]]
    leaves, n_below = n_actions, 1  # terms below a path of the level, and paths of the context below one of its own
    for _ in range(depth):
        n_own //= p
        n_paths //= 2 * p
        for i in range(n_own):
            for a in range(n_actions):
                for f in range(p):
                    child = i * p + f
                    other = place[child * n_below, 0] // leaves ^ 1  # the same path, but for the side at its end
                    ways[f] = own[child, a] + below[other]
                own[i, a] = add_all(soft, ways)
        first -= n_paths
        level = best[first:]
        for path in range(n_paths):
            for f in range(p):
                holds = 2 * (path * p + f) + 1
                ways[f] = below[holds] + below[holds - 1]
            level[path] = add_all(soft, ways)
        below = level
        leaves *= 2 * p
        n_below *= p


@compiled(NO_NAN)
def trace(n_actions: int, totals: Array, best: Array, ways: Array, leaves: Array) -> None:
    """Fill ``leaves`` (2^depth,) with those of a tree of least total, where a test fails before where it holds.

    In: what ``fold`` has left in ``best``. At each node the lowest number wins a tie.
    """
    leaves[0], n = 0, 1
    while n < len(leaves):
        for k in range(n - 1, -1, -1):
            below = 2 * leaves[k] * len(ways) + 1
            for f in range(len(ways)):
                ways[f] = best[below + 2 * f + 1] + best[below + 2 * f]
            fails = below + 2 * np.argmin(ways)
            leaves[2 * k], leaves[2 * k + 1] = fails, fails + 1
        n *= 2
    first = len(best) - len(totals) // n_actions
    for k in range(len(leaves)):
        leaf = (leaves[k] - first) * n_actions
        leaves[k] = leaf + np.argmin(totals[leaf : leaf + n_actions])


@compiled()
def reach(depth: int, sides: Array, place: Array) -> None:
    """Fill place (p^depth, K): the leaves that a context may reach, whose tests come out as ``sides`` (p,), 2 f + s."""
    for i in range(len(place)):
        path = _path(depth, sides, i)
        for a in range(place.shape[1]):
            place[i, a] = path * place.shape[1] + a


@compiled()
def add_cells(depth: int, sides: Array, actions: Array, amounts: Array, totals: Array) -> None:
    """Add ``amounts`` (n,), one after the other, to ``totals`` (paths, K) of the leaves that their contexts may reach.

    In: the ``sides`` (n, p) of the contexts, as in ``reach``, and the ``actions`` (n,).
    """
    n_own = sides.shape[1] ** depth
    for j in range(len(actions)):
        for i in range(n_own):
            totals[_path(depth, sides[j], i), actions[j]] += amounts[j]


@compiled()
def _path(depth: int, sides: Array, i: int) -> int:
    """Return the number of the path that tests, in the order of the digits of ``i`` in base p, come out on."""
    p = len(sides)
    path, below = 0, p**depth
    for _ in range(depth):
        below //= p
        path = path * 2 * p + sides[i // below % p]
    return path
