"""Compiled kernels of the recursion over trees under side constraints; policies/trees/under.py states it.

A tree is a test f at the root and an *option* for each outcome of f: a subtree with its leaves. ``options[2 f + s]``
(L, n) are the leaves of the options where f comes out s, numbered within the leaves below (f, s).

Out come ``answers`` (K,) by the action that the tree plays at a context x. Where ``soft`` is None they are the least
totals; where it is a float (its value is not used), -log of the summed exp(-total). ``chosen`` (K, 4) is then, or else
left alone: the root of a least tree, its option on x's side, and the range of options on the other side of which the
cheapest belongs to it.

A sum in the making is a pair (low, weight), which stands for low - log(weight).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from policies.kernels import compiled

Array = npt.NDArray[Any]
Soft = float | None

# exp(-60), a million times over, is far below the rounding of 1.
NEGLIGIBLE = 60.0


@compiled()
def one_row(
    soft: Soft,
    totals: Array,
    place: Array,
    options: Array,
    begin: Array,
    end: Array,
    room: Array,
    played: Array,
    answers: Array,
    chosen: Array,
) -> None:
    """Answer for the trees that keep one side constraint; options are in order of weight, the lightest first.

    In: ``totals`` of the leaves, and the ``place`` (p^depth, K) of x, as in policies/trees/terms.py. Option i of a side
    goes with the options begin[., i] to end[., i] - 1 of the other one. Working space: ``room`` (4, n), and ``played``
    (n + leaves below a side,).
    """
    n, weights = options.shape[2], np.zeros(len(answers))
    size = len(played) - n
    _played(place, played[n:])
    answers[:] = np.inf
    for f in range(len(options) // 2):
        near = place[f * (2 * len(place) // len(options)), 0] // size  # 2 f + s of x's side
        far = near ^ 1
        _costs(totals[near * size : (near + 1) * size], options[near], room[0])
        _costs(totals[far * size : (far + 1) * size], options[far], room[1])
        _actions(played[n:], options[near], played[:n])
        _one_root(soft, f, begin[near], end[near], room, played, answers, weights, chosen)
    _finish(soft, answers, weights)


@compiled()
def _one_root(
    soft: Soft,
    root: int,
    begin: Array,
    end: Array,
    room: Array,
    played: Array,
    answers: Array,
    weights: Array,
    chosen: Array,
) -> None:
    """Add the trees with one root to ``answers`` and ``weights`` (K,).

    In: room[0] and room[1], what the options on x's side and on the other side cost, and played[:n], what the former
    play at x. The heavier the option, the lighter what it goes with: from the heaviest on, both ends of the window move
    up. Its sum is kept as that of two stacks: front[j] sums up j to middle - 1, back the rest up to last - 1. No cost
    is ever taken out of a sum, where digits would be lost.
    """
    mine, others, front, front_weight = room
    middle = last = 0
    back, back_weight = np.inf, 0.0
    for i in range(len(mine) - 1, -1, -1):
        first, stop = begin[i], end[i]
        if first == stop:
            continue
        for j in range(last, stop):
            back, back_weight = _add(soft, back, back_weight, others[j], 1.0)
        last = stop
        if first >= middle:
            low, weight = np.inf, 0.0
            for j in range(last - 1, first - 1, -1):
                low, weight = _add(soft, low, weight, others[j], 1.0)
                front[j], front_weight[j] = low, weight
            middle, back, back_weight = last, np.inf, 0.0
        low, weight = _add(soft, back, back_weight, front[first], front_weight[first])
        a, cost = played[i], mine[i] + low
        if soft is None:
            if cost < answers[a]:
                answers[a] = cost
                chosen[a, 0], chosen[a, 1], chosen[a, 2], chosen[a, 3] = root, i, first, stop
        else:
            answers[a], weights[a] = _add(soft, answers[a], weights[a], cost, weight)


@compiled()
def several_rows(
    soft: Soft,
    costs: Array,
    weights: Array,
    played: Array,
    others: Array,
    heavy: Array,
    order: Array,
    lower: Array,
    upper: Array,
    answers: Array,
    chosen: Array,
) -> None:
    """Answer for the trees that keep all of several rows, between lower and upper (rows,).

    In: ``costs`` (p, n) and ``weights`` (p, n, rows) of the options on x's side of each root, and the action at x of
    each, ``played`` (n,); of those on the other side ``others`` (p, n) and ``heavy`` (p, n, rows), the cheapest first,
    and their numbers ``order`` (p, n). For each of the former the latter are gone through until one fits, or until none
    that follows can change the answer.
    """
    sums, slack = np.zeros(len(answers)), 0.0 if soft is None else NEGLIGIBLE
    answers[:] = np.inf
    for f in range(len(costs)):
        for i in range(costs.shape[1]):
            cost, a = costs[f, i], played[i]
            low, weight = np.inf, 0.0
            for j in range(costs.shape[1]):
                if cost + others[f, j] >= answers[a] + slack or others[f, j] > low + slack:
                    break
                if not _fits(weights[f, i], heavy[f, j], lower, upper):
                    continue
                low, weight = _add(soft, low, weight, others[f, j], 1.0)
                if soft is None:
                    chosen[a, 0], chosen[a, 1], chosen[a, 2], chosen[a, 3] = f, i, order[f, j], order[f, j] + 1
                    break
            if low < np.inf:
                answers[a], sums[a] = _add(soft, answers[a], sums[a], cost + low, weight)
    _finish(soft, answers, sums)


@compiled()
def _add(soft: Soft, low: float, weight: float, other: float, other_weight: float) -> tuple[float, float]:
    """Return the sum of two sums, the second of which is finite."""
    if soft is None:
        return min(low, other), 0.0
    if other < low:
        low, weight, other, other_weight = other, other_weight, low, weight
    gap = other - low
    return low, weight + other_weight * np.exp(-gap) if gap < NEGLIGIBLE else weight


@compiled()
def _finish(soft: Soft, answers: Array, weights: Array) -> None:
    """Turn answers (K,), the low ends of sums, into what the sums stand for."""
    if soft is not None:
        for a in range(len(answers)):
            if weights[a] > 0.0:
                answers[a] -= np.log(weights[a])


@compiled()
def _played(place: Array, played: Array) -> None:
    """Fill played (leaves below a side,): the action of a leaf that x reaches if it comes to this side, else -1."""
    played[:] = -1
    for i in range(len(place)):
        for a in range(place.shape[1]):
            played[place[i, a] % len(played)] = a


@compiled()
def _costs(totals: Array, options: Array, costs: Array) -> None:
    """Fill costs (n,) with the sums of ``totals`` over the leaves of each of ``options`` (L, n)."""
    for i in range(len(costs)):
        costs[i] = totals[options[0, i]]
    for leaf in range(1, len(options)):
        for i in range(len(costs)):
            costs[i] += totals[options[leaf, i]]


@compiled()
def _actions(played: Array, options: Array, actions: Array) -> None:
    """Fill actions (n,) with what each of ``options`` (L, n) plays at x: one of its leaves is reached."""
    for i in range(len(actions)):
        actions[i] = played[options[0, i]]
    for leaf in range(1, len(options)):
        for i in range(len(actions)):
            actions[i] = max(actions[i], played[options[leaf, i]])


@compiled()
def _fits(mine: Array, other: Array, lower: Array, upper: Array) -> bool:
    """Return whether two weights (rows,) add up to between the bounds."""
    for r in range(len(lower)):
        weight = mine[r] + other[r]
        if not lower[r] <= weight <= upper[r]:
            return False
    return True
