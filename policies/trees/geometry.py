"""The paths of a tree through the literals: the costs of the contexts that follow each, and a tree from its choices.

Which contexts pass which tests is in the literals (policies/literals.py).
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod

import numpy as np

from milpcb.types import Bools, Floats
from policies.literals import Literals
from policies.trees.rule import Leaf, Node, Split


def cheapest_leaf(costs: Floats, here: Bools) -> Leaf:
    """Return the leaf for the contexts ``here`` (g,); the lowest-numbered action wins a tie."""
    return Leaf(int(costs[here].sum(axis=0).argmin()))


def grow(
    choose: Callable[[tuple[int, ...], Bools], Leaf | int],
    literals: Literals,
    here: Bools,
    path: tuple[int, ...] = (),
) -> Node:
    """Return the tree below ``path``, where ``choose(path, here)`` gives the leaf or the number of the test.

    ``here`` (g,) marks the contexts that follow the path. Tests that divide none of them, or whose two sides turn out
    equal, are left out.
    """
    chosen = choose(path, here)
    if isinstance(chosen, Leaf):
        return chosen
    holds = literals.holds(chosen)
    sides = {1: here & holds, 0: here & ~holds}
    for side in (1, 0):
        if not sides[side].any():
            return grow(choose, literals, here, (*path, chosen, 1 - side))
    yes, no = (grow(choose, literals, sides[side], (*path, chosen, side)) for side in (1, 0))
    if yes == no:
        return yes
    feature, threshold, binary = literals.test(chosen)
    return Split(feature, threshold, yes, no, binary)


def path_totals(truth: Floats, costs: Floats, depth: int) -> Floats:
    """Return H, shape (p, 2) * depth + costs.shape[1:]: total costs of the contexts on each path.

    ``truth`` is (g, p) of 0 and 1, ``costs`` (g, ...). Whole costs stay exact.
    """
    if depth == 0:
        return np.asarray(costs.sum(axis=0))
    rest = costs.ndim - 1
    literals = [*range(depth + 1 + rest, 2 * depth + rest), depth]
    axes = [axis for pair in zip(literals, range(depth), strict=True) for axis in pair]
    return _sides(truth, costs, depth).transpose(*axes, *range(depth + 1, depth + 1 + rest))


def _sides(truth: Floats, costs: Floats, depth: int) -> Floats:
    """Return H with the axes s_1..s_D, f_D, those of ``costs`` but the first, f_1..f_{D-1}.

    In this order sums over sides and minima over actions run over long rows. One side of each test is a matrix
    product, the other follows by subtraction.
    """
    if depth == 2:
        return _four_sides(truth, costs)
    g, p = truth.shape
    if depth == 1:
        every = costs.sum(axis=0)
        held = (truth.T @ costs.reshape(g, every.size)).reshape(p, *every.shape)
    else:
        wide = costs[..., None] * truth.reshape(g, *[1] * (costs.ndim - 1), p)
        held = _sides(truth, wide, depth - 1)
        every = np.expand_dims(_sides(truth, costs, depth - 1), depth + costs.ndim - 1)
    totals = np.empty((2, *held.shape))
    totals[1] = held
    np.subtract(every, held, out=totals[0])
    return totals


def _four_sides(truth: Floats, costs: Floats) -> Floats:
    """Return what ``_sides`` returns at depth 2: one product for where both tests hold, three subtractions."""
    (g, p), rest = truth.shape, costs.shape[1:]
    flat = costs.reshape(g, prod(rest))  # there may be no contexts
    totals = np.empty((2, 2, p, flat.shape[1], p))  # s_1, s_2, f_2, those of the costs, f_1
    (neither, second), (first, both) = totals
    held = truth.T @ flat
    np.matmul(truth.T, (flat[:, :, None] * truth[:, None, :]).reshape(g, prod(rest) * p), out=both.reshape(p, -1))
    np.subtract(held.T, both, out=first)
    np.subtract(held[:, :, None], both, out=second)
    np.subtract((flat.sum(axis=0) - held)[:, :, None], first, out=neither)
    return totals.reshape(2, 2, p, *rest, p)
