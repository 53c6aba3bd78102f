"""The compiled passes over derivations that keep side constraints; policies/pairings.py states what they add up.

A derivation is a head and a tail of one state. In go, as two Sides, their costs and the actions that they play at a
context, and ``by_tails`` (states,): in which states the tails decide that action; elsewhere the heads do. Out come
``answers`` (K,) by action. Where ``soft`` is None, they are least total costs, and ``chosen`` (K,) the heads or tails,
whichever decide, of derivations that attain them. Where it is a float (its value is not used), costs are -log weights,
answers -log of their sums, and nothing is chosen.

A sum in the making is a pair (least, weight), see policies/semirings.py.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from milpcb.core.kernels import compiled
from policies.semirings import NEGLIGIBLE, Array, Soft, add_sums, cost_of


@compiled()
def add_up(parts: Array, chosen: Array, totals: Array) -> None:
    """Fill totals (n,) with the sums of the ``parts`` that each column of ``chosen`` (k, n) numbers."""
    totals[:] = 0.0
    for numbers in chosen:
        for i in range(len(totals)):
            totals[i] += parts[numbers[i]]


class Side(NamedTuple):
    """The heads, or the tails, in order of state; ``start`` (states + 1,) is where those of a state begin.

    In the other side, those that may go with i are ``low[i] <= number < high[i]``: its window. ``weights`` (n, R) are
    those in further rows. Where this side decides the action, that of i is ``actions[i]`` at ``costs[i]``, or, where
    costs have columns (n, A), ``actions[i] + a`` at the cost in column a. Of the other side the first column counts.
    """

    start: Array
    low: Array
    high: Array
    weights: Array
    costs: Array
    actions: Array


@compiled()
def windows(
    start: Array, other_start: Array, weights: Array, others: Array, lower: float, upper: float, low: Array, high: Array
) -> None:
    """Fill low and high (n,): each window has those of ``others`` (n',) whose weight with its own is within bounds.

    Within a state the ``weights`` (n,) fall and the weights ``others`` rise.
    """
    for s in range(len(start) - 1):
        first = last = other_start[s]
        for i in range(start[s], start[s + 1]):
            while first < other_start[s + 1] and weights[i] + others[first] < lower:
                first += 1
            last = max(first, last)
            while last < other_start[s + 1] and weights[i] + others[last] <= upper:
                last += 1
            low[i], high[i] = first, last


@compiled()
def pair(
    soft: Soft,
    by_tails: Array,
    heads: Side,
    tails: Side,
    bounds: Array,
    front: Array,
    answers: Array,
    chosen: Array,
) -> None:
    """Answer for the derivations in the windows whose further weights add up to between ``bounds`` (2, R).

    Working space front: (the longer side, 2).
    """
    weights = np.zeros(len(answers))
    answers[:] = np.inf
    for s in range(len(by_tails)):
        side, other = (tails, heads) if by_tails[s] else (heads, tails)
        if bounds.shape[1]:
            _compare(soft, s, side, other, bounds, answers, weights, chosen)
        else:
            _slide(soft, s, side, other.costs, front, answers, weights, chosen)
    _finish(soft, answers, weights)


@compiled()
def _slide(
    soft: Soft, s: int, side: Side, costs: Array, front: Array, answers: Array, weights: Array, chosen: Array
) -> None:
    """Add the derivations of one state to ``answers`` and ``weights`` (K,); ``costs`` are those of the other side.

    Both ends of the window only move up. It is a queue made of two stacks: front[j] sums up j to the middle, rear the
    middle to the end. So a cost is added at most twice, and none is ever taken out of a sum, where digits would be
    lost.
    """
    own_costs, own_actions, low, high = side.costs, side.actions, side.low, side.high
    middle = end = low[side.start[s]]
    rear, rear_weight = np.inf, 0.0
    for i in range(side.start[s], side.start[s + 1]):
        first, stop = low[i], high[i]
        for j in range(end, stop):
            rear, rear_weight = add_sums(soft, rear, rear_weight, _cost(costs, j), 1.0)
        end = stop
        if first > middle:
            least, weight = np.inf, 0.0
            for j in range(end - 1, first - 1, -1):
                least, weight = add_sums(soft, least, weight, _cost(costs, j), 1.0)
                front[j, 0], front[j, 1] = least, weight
            middle, rear, rear_weight = end, np.inf, 0.0
        least, weight = rear, rear_weight
        if first < middle:
            least, weight = add_sums(soft, least, weight, front[first, 0], front[first, 1])
        for column in range(_n_columns(own_costs)):
            a, cost = own_actions[i] + column, _cost(own_costs, i, column) + least
            if soft is not None:
                answers[a], weights[a] = add_sums(soft, answers[a], weights[a], cost, weight)
            elif cost < answers[a]:
                answers[a], chosen[a] = cost, i


@compiled()
def _compare(
    soft: Soft, s: int, side: Side, other: Side, bounds: Array, answers: Array, weights: Array, chosen: Array
) -> None:
    """Add the derivations of one state, pair by pair, but for those that are too dear to matter."""
    room = 0.0 if soft is None else NEGLIGIBLE
    own_costs, other_costs = side.costs, other.costs
    cheapest = np.inf
    for j in range(other.start[s], other.start[s + 1]):
        cheapest = min(cheapest, _cost(other_costs, j))
    for i in range(side.start[s], side.start[s + 1]):
        for column in range(_n_columns(own_costs)):
            a, own_cost = side.actions[i] + column, _cost(own_costs, i, column)
            if own_cost + cheapest >= answers[a] + room:
                continue
            for j in range(side.low[i], side.high[i]):
                cost = own_cost + _cost(other_costs, j)
                if cost < answers[a] + room and _fits(side.weights[i], other.weights[j], bounds):
                    if cost < answers[a]:
                        chosen[a] = i
                    answers[a], weights[a] = add_sums(soft, answers[a], weights[a], cost, 1.0)


@compiled()
def _cost(costs: Array, i: int, column: int = 0) -> float:
    """Return a cost of ``costs`` (n,), or (n, A); which of the two is compiled in."""
    return float(costs[i]) if costs.ndim == 1 else float(costs[i, column])


@compiled()
def _n_columns(costs: Array) -> int:
    return 1 if costs.ndim == 1 else costs.shape[1]


@compiled()
def _fits(one: Array, other: Array, bounds: Array) -> bool:
    """Return whether weights (R,) and (R,) add up to between ``bounds`` (2, R)."""
    for r in range(len(one)):
        weight = one[r] + other[r]
        if weight < bounds[0, r] or weight > bounds[1, r]:
            return False
    return True


@compiled()
def _finish(soft: Soft, answers: Array, weights: Array) -> None:
    """Turn answers (K,), the least of each sum, into what the sums stand for."""
    if soft is not None:
        for a in range(len(answers)):
            if weights[a] > 0.0:
                answers[a] = cost_of(soft, answers[a], weights[a])
